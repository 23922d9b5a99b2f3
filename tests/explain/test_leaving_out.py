"""Reading without each sentence: the same as reading what is left from the start."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from protorynet.explain import leave_one_out
from protorynet.explain.leave_one_out import read_without_each
from protorynet.labels import Task
from protorynet.network import Reader, read_matches
from protorynet.reading import Reading

_K = 5


def make_reader(layers: int) -> Reader:
    torch.manual_seed(layers)
    return Reader(_K, 3, hidden=7, layers=layers, dropout=0.5)


def make_trajectory(lengths: list[int], *, is_dense: bool = False) -> Reading:
    draw = np.random.default_rng(0)
    n = sum(lengths)
    columns = draw.integers(0, _K, n)
    similarities = draw.random(n, np.float32)
    dense = draw.random((n, _K), np.float32) if is_dense else None
    return Reading(columns, similarities, columns, similarities, np.array(lengths), dense=dense)


def without(reader: Reader, trajectory: Reading, task: Task, document: int, gone: set[int]):
    """Read one document from the start with some places left out."""
    inside = range(trajectory.offsets[document], trajectory.offsets[document + 1])
    kept = np.array([place for place in inside if place not in gone])
    part = trajectory.take(kept, np.array([len(kept)]))
    return read_matches(reader, part, task).probabilities[0]


@pytest.mark.parametrize("rows", [1, 16, 4_096])
@pytest.mark.parametrize("most_runs", [3, 256])
@pytest.mark.parametrize("is_dense", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_every_variant_is_read_as_if_it_were_a_document(
    layers: int, is_dense: bool, most_runs: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leave_one_out, "_VARIANTS_PER_DOCUMENT", most_runs)
    monkeypatch.setattr(leave_one_out, "_VARIANTS_PER_BATCH", rows)
    reader, trajectory = make_reader(layers), make_trajectory([4, 1, 9, 2, 4], is_dense=is_dense)
    task: Task = "multilabel" if is_dense else "multiclass"
    left_out = []
    for found in read_without_each(reader, trajectory, task):
        for document, start, size, row in zip(*found, strict=True):
            gone = set(range(start, start + size))
            expected = without(reader, trajectory, task, document, gone)
            np.testing.assert_allclose(row, expected, atol=1e-6)
            left_out += gone
    alone = {4}
    assert sorted(left_out) == sorted(set(range(20)) - alone)


def test_documents_of_one_sentence_are_not_read() -> None:
    assert not list(read_without_each(make_reader(1), make_trajectory([1, 1]), "multiclass"))


def test_no_documents_are_no_readings() -> None:
    assert not list(read_without_each(make_reader(1), make_trajectory([]), "multiclass"))


def test_the_same_is_read_every_time_and_the_reader_stays_in_its_mode() -> None:
    reader, trajectory = make_reader(2).train(), make_trajectory([6, 3, 8])
    one, other = (list(read_without_each(reader, trajectory, "multiclass")) for _ in range(2))
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left.probabilities, right.probabilities)
    assert reader.training
