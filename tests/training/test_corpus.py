"""Batches of training documents."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings, strategies as st

from protorynet.training import Corpus

_LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=60)


def make_corpus(lengths: list[int]) -> Corpus:
    """Make documents whose rows and targets tell which document they belong to."""
    n = sum(lengths)
    document = np.repeat(np.arange(len(lengths)), lengths)
    return Corpus(
        rows=torch.arange(n) * 1000 + torch.from_numpy(document),
        lengths=torch.tensor(lengths),
        targets=torch.arange(len(lengths), dtype=torch.float32)[:, None],
    )


@settings(deadline=None)
@given(_LENGTHS, st.integers(1, 20), st.integers(0, 100))
def test_batches_hold_every_document_whole_and_exactly_once(
    lengths: list[int], size: int, seed: int
) -> None:
    corpus = make_corpus(lengths)
    starts = np.cumsum([0, *lengths])
    seen = []
    for documents in corpus.batches(size, np.random.default_rng(seed)):
        batch = corpus.batch(documents)
        assert len(batch.lengths) <= size
        at = 0
        for length, target in zip(
            batch.lengths.tolist(), batch.targets[:, 0].tolist(), strict=True
        ):
            document = int(target)
            seen.append(document)
            first = starts[document]
            expected = corpus.rows[first : first + lengths[document]]
            assert torch.equal(batch.rows[at : at + length], expected)
            at += length
        assert at == len(batch.rows)
    assert sorted(seen) == list(range(len(lengths)))


@settings(deadline=None)
@given(_LENGTHS, st.integers(1, 20))
def test_the_padded_size_of_a_batch_is_bounded(lengths: list[int], size: int) -> None:
    random = np.random.default_rng(0)
    for documents in make_corpus(lengths).batches(size, random, most_sentences=64):
        padded = len(documents) * max(lengths[document] for document in documents)
        assert padded <= 64 or len(documents) == 1


def test_the_same_generator_gives_the_same_batches_and_another_does_not() -> None:
    corpus = make_corpus([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8] * 3)

    def order(seed: int) -> list[int]:
        batches = corpus.batches(4, np.random.default_rng(seed))
        return np.concatenate(batches).tolist()

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_a_subset_holds_the_chosen_documents_in_order() -> None:
    corpus = make_corpus([2, 3, 1, 4])
    subset = corpus.subset(np.array([3, 0]))
    assert subset.lengths.tolist() == [4, 2]
    assert subset.targets[:, 0].tolist() == [3.0, 0.0]
    assert subset.rows.tolist() == corpus.rows[[6, 7, 8, 9, 0, 1]].tolist()
    assert len(subset) == 2
