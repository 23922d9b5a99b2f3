"""How many threads compute."""

import threading

import numpy as np
import pytest
import torch

from protorynet.encoders import load_encoder
from protorynet.threads import (
    all_threads,
    count_threads,
    map_in_threads,
    one_thread,
    threads_for_training,
)


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_what_the_user_told_torch_is_the_most():
    assert count_threads() == 3
    torch.set_num_threads(2)
    assert count_threads() == 2


@pytest.mark.parametrize(
    ("device", "full", "expected"), [("cpu", False, 1), ("cpu", True, 3), ("cuda", False, 3)]
)
def test_small_models_are_trained_with_one_thread(device, full, expected):
    with threads_for_training(device, full=full):
        assert torch.get_num_threads() == expected
        assert count_threads() == 3
    assert torch.get_num_threads() == 3


def test_a_large_product_within_small_work_may_use_all_threads():
    with one_thread(), all_threads():
        assert torch.get_num_threads() == 3


def test_batches_are_computed_in_order_with_one_thread_each():
    def work(number):
        return number, torch.get_num_threads(), threading.current_thread().name

    numbers, threads, _ = zip(*map_in_threads(work, range(20)), strict=True)
    assert numbers == tuple(range(20))
    assert set(threads) == {1}
    assert torch.get_num_threads() == 3


def test_an_error_in_a_thread_is_raised_and_leaves_the_number_as_it_was():
    with pytest.raises(ZeroDivisionError):
        map_in_threads(lambda number: 1 // number, range(3))
    assert torch.get_num_threads() == 3


def test_vectors_do_not_depend_on_the_number_of_threads(tiny_bert_folder, reviews):
    encoder = load_encoder(tiny_bert_folder, device="cpu")
    many = encoder.encode(reviews.texts)
    torch.set_num_threads(1)
    np.testing.assert_array_equal(encoder.encode(reviews.texts), many)
