"""Early stopping, the best epoch restored, and validation documents."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

from protorynet.labels import LabelCode
from protorynet.training import Score, Stage, train_epochs, validation_documents


class Counted(nn.Module):
    """A module whose single weight tells how many epochs it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))


def run(
    losses: list[float], *, epochs: int, patience: int, to_the_end: bool = False
) -> tuple[int, int, Score]:
    """Train against given losses (the first before training); return epochs run and kept."""
    module, ran = Counted(), 0

    def run_epoch(epoch: int) -> None:
        nonlocal ran
        ran += 1
        module.weight.data += 1

    score = train_epochs(
        module,
        torch.optim.Adam(module.parameters()),
        run_epoch,
        lambda: Score(losses[ran], accuracy=ran / 100),
        stage=Stage("train", epochs, patience, to_the_end),
    )
    return ran, int(module.weight.item()), score


def test_training_stops_after_too_many_epochs_without_improvement() -> None:
    ran, kept, score = run([9, 5, 4, 6, 7, 8, 1], epochs=6, patience=3)
    assert (ran, kept) == (5, 2)
    assert score == Score(4, 0.02)


def test_the_best_epoch_is_restored_after_the_last_one() -> None:
    assert run([9, 3, 5, 6], epochs=3, patience=10)[:2] == (3, 1)


def test_training_that_only_does_harm_is_undone() -> None:
    assert run([1, 2, 3], epochs=2, patience=10)[:2] == (2, 0)


def test_an_improvement_resets_the_patience() -> None:
    assert run([9, 8, 9, 7, 9, 6, 9, 9, 9], epochs=8, patience=2)[:2] == (7, 5)


def test_a_stage_to_the_end_keeps_its_last_epoch() -> None:
    assert run([9, 3, 5, 6], epochs=3, patience=1, to_the_end=True)[:2] == (3, 3)


def codes(classes: int, task: str = "multiclass") -> LabelCode:
    return LabelCode(tuple(range(classes)), task)


def one_hot(labels: list[int], classes: int) -> np.ndarray:
    return np.eye(classes, dtype=np.float32)[labels]


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=4, max_size=200),
    st.floats(0.01, 0.5),
    st.integers(0, 50),
)
def test_validation_takes_its_share_of_each_class_and_never_the_only_document(
    labels: list[int], fraction: float, seed: int
) -> None:
    held_out = validation_documents(one_hot(labels, 4), codes(4), fraction, seed).tolist()
    assert len(set(held_out)) == len(held_out)
    counts = [labels.count(label) for label in range(4)]
    if max(counts) == 1:  # nothing can be spared, but something must be held out
        assert held_out == [0]
        return
    for label, count in enumerate(counts):
        taken = sum(labels[place] == label for place in held_out)
        if count <= 1:
            assert taken == 0
        else:
            assert taken == min(max(1, round(fraction * count)), count - 1)


def test_validation_depends_on_the_seed_alone() -> None:
    targets = one_hot([0, 1] * 40, 2)
    first, again, other = (validation_documents(targets, codes(2), 0.2, s) for s in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()


def test_a_label_that_no_document_has_stands_in_no_documents_way() -> None:
    targets = (np.random.default_rng(0).random((50, 3)) > 0.5).astype(np.float32)
    targets[:, 1] = 0
    held_out = validation_documents(targets, codes(3, "multilabel"), 0.2, 0)
    assert len(set(held_out.tolist())) == 10


def test_validation_of_several_labels_takes_the_share_of_all_documents() -> None:
    targets = (np.random.default_rng(0).random((50, 3)) > 0.5).astype(np.float32)
    held_out = validation_documents(targets, codes(3, "multilabel"), 0.2, 0)
    assert len(set(held_out.tolist())) == 10


@pytest.mark.parametrize("task", ["multiclass", "multilabel"])
def test_some_documents_are_always_left_to_train_on(task: str) -> None:
    targets = one_hot([0, 0, 1, 1], 2)
    held_out = validation_documents(targets, codes(2, task), 0.5, 0)
    assert 1 <= len(held_out) <= 3
