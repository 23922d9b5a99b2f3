"""Batches, early stopping with the best epoch restored, and validation documents."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

from protorynet.labels import LabelCode
from protorynet.training import Corpus, Score, Stage, train_epochs, validation_documents

_LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=60)


def make_corpus(lengths: list[int]) -> Corpus:
    """Make documents whose index and targets tell which document they belong to."""
    document = np.repeat(np.arange(len(lengths)), lengths)
    return Corpus(
        index=torch.arange(sum(lengths)) * 1000 + torch.from_numpy(document),
        lengths=torch.tensor(lengths),
        targets=torch.arange(len(lengths), dtype=torch.float32)[:, None],
    )


@settings(deadline=None)
@given(_LENGTHS, st.integers(1, 20), st.integers(0, 100))
def test_batches_hold_every_document_whole_and_exactly_once(lengths, size, seed):
    corpus = make_corpus(lengths)
    starts = np.cumsum([0, *lengths])
    seen = []
    for documents in corpus.batches(size, np.random.default_rng(seed), most_sentences=64):
        batch = corpus.batch(documents)
        padded = len(documents) * max(lengths[document] for document in documents)
        assert padded <= 64 or len(documents) == 1
        assert len(batch.lengths) <= size
        found = [int(target) for target in batch.targets[:, 0]]
        expected = [corpus.index[starts[number] : starts[number + 1]] for number in found]
        assert torch.equal(batch.index, torch.cat(expected))
        assert batch.lengths.tolist() == [lengths[number] for number in found]
        seen += found
    assert sorted(seen) == list(range(len(lengths)))


class Counted(nn.Module):
    """A module whose single weight tells how many epochs it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))


@pytest.mark.parametrize(
    ("losses", "patience", "to_the_end", "ran", "kept"),
    [
        ([9, 5, 4, 6, 7, 8, 1], 3, False, 5, 2),  # no improvement for too long
        ([9, 3, 5, 6], 10, False, 3, 1),  # the best epoch is not the last
        ([1, 2, 3], 10, False, 2, 0),  # training only does harm
        ([9, 8, 9, 7, 9, 6, 9, 9, 9], 2, False, 7, 5),  # improvement resets the patience
        ([9, 3, 5, 6], 1, True, 3, 3),
    ],
)
def test_training_stops_in_time_and_keeps_the_right_epoch(losses, patience, to_the_end, ran, kept):
    module, count = Counted(), 0

    def run_epoch(epoch: int) -> None:
        nonlocal count
        count += 1
        module.weight.data += 1

    score = train_epochs(
        module,
        torch.optim.Adam(module.parameters()),
        run_epoch,
        lambda: Score(losses[count], accuracy=count / 100),
        stage=Stage("train", len(losses) - 1, patience, to_the_end),
    )
    assert (count, int(module.weight.item())) == (ran, kept)
    assert score == Score(losses[kept], kept / 100)


def codes(classes: int, task: str = "multiclass") -> LabelCode:
    return LabelCode(tuple(range(classes)), task)


def one_hot(labels: list[int], classes: int) -> np.ndarray:
    return np.eye(classes, dtype=np.float32)[labels]


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=4, max_size=200), st.floats(0.01, 0.5), st.integers(0, 50)
)
def test_validation_takes_its_share_of_each_class_but_not_its_last(labels, fraction, seed):
    held_out = validation_documents(one_hot(labels, 4), codes(4), fraction, seed).tolist()
    assert len(set(held_out)) == len(held_out)
    counts = [labels.count(label) for label in range(4)]
    if max(counts) == 1:  # nothing can be spared, but something must be held out
        assert held_out == [0]
        return
    for label, count in enumerate(counts):
        taken = sum(labels[number] == label for number in held_out)
        expected = min(max(1, round(fraction * count)), count - 1) if count > 1 else 0
        assert taken == expected


@pytest.mark.parametrize("has_an_unused_label", [False, True])
def test_validation_of_several_labels_takes_the_share_of_all_documents(has_an_unused_label):
    targets = (np.random.default_rng(0).random((50, 3)) > 0.5).astype(np.float32)
    if has_an_unused_label:
        targets[:, 1] = 0
    held_out = validation_documents(targets, codes(3, "multilabel"), 0.2, 0)
    assert len(set(held_out.tolist())) == 10


def test_a_label_that_one_document_has_is_never_held_out_of_several():
    targets = np.zeros((20, 2), np.float32)
    targets[:, 0] = 1
    targets[7, 1] = 1
    for seed in range(50):
        assert 7 not in validation_documents(targets, codes(2, "multilabel"), 0.1, seed)
