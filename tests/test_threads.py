"""How many threads compute."""

import numpy as np
import pytest
import torch

from protorynet.encoders import load_encoder
from protorynet.threads import (
    count_threads,
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


def test_vectors_do_not_depend_on_the_number_of_threads(tiny_bert_folder, reviews):
    encoder = load_encoder(tiny_bert_folder, device="cpu")
    many = encoder.encode(reviews.texts)
    torch.set_num_threads(1)
    np.testing.assert_array_equal(encoder.encode(reviews.texts), many)
