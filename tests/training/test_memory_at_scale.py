"""Training makes no copy of all embeddings that it can do without."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from protorynet.network import Adapter, Centring, ProtoryNetwork, Reader
from protorynet.prototypes import cluster_means, project
from protorynet.settings import Settings
from protorynet.training import (
    AdaptedSource,
    Corpus,
    FrozenSource,
    Run,
    SentenceSource,
    algorithm,
    fitting,
)


def a_run(source: SentenceSource) -> Run:
    rows = torch.arange(48)
    targets = torch.nn.functional.one_hot(torch.arange(12) % 2, 2).float()
    corpus = Corpus(rows, torch.full((12,), 4), targets)
    train, validation = corpus.subset(np.arange(9)), corpus.subset(np.arange(9, 12))
    candidates = torch.arange(0, 36, 2)
    return Run(train, validation, candidates, source, Settings(n_prototypes=5), "multiclass", 0)


def base_vectors() -> Tensor:
    vectors = torch.randn(48, 6, generator=torch.Generator().manual_seed(0))
    return torch.nn.functional.normalize(vectors, dim=1)


def bent(base: Tensor) -> AdaptedSource:
    torch.manual_seed(1)
    adapter = Adapter(6, 4, unit_length=True)
    torch.nn.init.normal_(adapter.up.weight)
    return AdaptedSource(base, adapter)


def test_projecting_in_blocks_equals_projecting_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run = a_run(bent(base_vectors()))
    reader = Reader(5, 2, hidden=3, layers=1, dropout=0.0)
    network = ProtoryNetwork(torch.randn(5, 6), reader, run.settings)
    embedded, base = run.source.all_rows(run.candidates), run.source.base[run.candidates]
    middles = cluster_means(base, embedded, network.prototypes.data)
    both = torch.cat([embedded, base], dim=1)
    expected = project(torch.cat([network.prototypes.data, middles], dim=1), both)
    monkeypatch.setattr(algorithm, "_CANDIDATES_PER_BLOCK", 7)
    rows = algorithm.project_prototypes(network, run)
    assert rows.tolist() == run.candidates[expected].tolist()


def test_all_rows_in_blocks_are_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    source, rows = bent(base_vectors()), torch.tensor([5, 0, 5, 47, 11])
    expected = source(rows)
    monkeypatch.setattr("protorynet.training.sources._SENTENCES_PER_BLOCK", 2)
    torch.testing.assert_close(source.all_rows(rows), expected)


def test_vectors_centred_in_blocks_are_those_centred_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = np.random.default_rng(0).normal(2, 1, size=(50, 4)).astype(np.float32)
    centring = Centring(torch.from_numpy(vectors.mean(axis=0)))
    monkeypatch.setattr(fitting, "_VECTORS_PER_BLOCK", 7)
    base = fitting.centre_vectors(vectors, centring, "cpu")
    torch.testing.assert_close(base, centring(torch.from_numpy(vectors)))
    assert not base.is_inference()


def test_fixing_embeddings_that_all_take_part_shares_the_base() -> None:
    run = a_run(bent(base_vectors()))
    fixed, original = algorithm._with_fixed_embeddings(run)
    assert fixed.source.base.data_ptr() == run.source.base.data_ptr()
    assert original.tolist() == list(range(48))


def test_frozen_embeddings_are_not_fixed_again() -> None:
    run = a_run(FrozenSource(base_vectors()))
    assert algorithm._with_fixed_embeddings(run)[0] is run


def test_the_first_prototypes_are_candidates() -> None:
    run = a_run(FrozenSource(base_vectors()))
    network = algorithm.initialise(run)
    candidates = run.source.base[run.candidates]
    for prototype in network.prototypes.data:
        assert (candidates == prototype).all(dim=1).any()


def test_class_rates_are_the_mean_labels_of_the_sentences_of_each_prototype() -> None:
    run = a_run(FrozenSource(base_vectors()))
    network = algorithm.initialise(run)
    columns = np.random.default_rng(0).integers(4, size=36)
    _, usage, rates = algorithm.score_prototypes(network, columns, run)
    for prototype in range(5):
        members = np.flatnonzero(columns == prototype)
        labels = run.train.targets.numpy()[members // 4]
        expected = labels.mean(axis=0) if len(members) else np.zeros(2)
        np.testing.assert_allclose(rates[prototype], expected)
        assert usage[prototype] == pytest.approx(len(members) / 36)
