"""How many threads compute."""

import gc
import itertools
import os
import threading

import numpy as np
import pytest
import torch

from protorynet.encoders import load_encoder
from protorynet.threads import (
    count_threads,
    map_ahead,
    map_in_processes,
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


@pytest.mark.parametrize("threads", [2, 4])
def test_other_processes_work_on_items_in_order_where_there_are_cores(threads):
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    found = list(map_in_processes(lambda item: (item * 2, os.getpid()), range(20)))
    assert [item for item, _ in found] == list(range(0, 40, 2))
    assert (os.getpid() in {process for _, process in found}) == (threads == 2)
    assert torch.rand(1) == expected


class Leftover:
    """What must not be disposed of in another process, as things of a GPU must not."""

    def __init__(self, path):
        self.path, self.owner, self.itself = path, os.getpid(), self

    def __del__(self):
        if os.getpid() != self.owner:
            self.path.touch()


def test_other_processes_do_not_dispose_of_what_is_left_here(tmp_path):
    torch.set_num_threads(4)
    gc.disable()
    try:
        Leftover(tmp_path / "disposed")
        list(map_in_processes(lambda item: gc.collect(), range(4)))
    finally:
        gc.enable()
    assert not (tmp_path / "disposed").exists()
    assert gc.get_freeze_count() == 0


def test_what_fails_in_another_process_fails_here():
    torch.set_num_threads(4)
    with pytest.raises(ZeroDivisionError):
        list(map_in_processes(lambda item: 1 / item, [1, 0, 1]))


def test_without_other_processes_the_work_is_done_here(monkeypatch):
    def refuse():
        raise BlockingIOError("no processes more")

    torch.set_num_threads(4)
    monkeypatch.setattr(os, "fork", refuse)
    assert list(map_in_processes(abs, [-1, 2])) == [1, 2]


def test_work_ahead_is_in_order_and_little_of_it_waits():
    drawn = itertools.count()
    release = threading.Event()

    def work(item):
        return item if item else release.wait(10) and item

    results = map_ahead(work, (next(drawn) for _ in range(50)))
    threading.Timer(0.1, release.set).start()
    assert next(results) == 0
    assert next(drawn) <= 4
    assert list(results)[:2] == [1, 2]
