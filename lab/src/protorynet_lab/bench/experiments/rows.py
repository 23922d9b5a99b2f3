"""Models in rows, data sets in columns: what most tables share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError
from protorynet_lab.bench.blocks import Cell, Grid
from protorynet_lab.bench.catalogue import ModelKind, data_set, model_kind
from protorynet_lab.bench.figures import MISSING, shown, shown_range
from protorynet_lab.bench.paper import PAPER
from protorynet_lab.bench.records import Record
from protorynet_lab.bench.results import Group, Results
from protorynet_lab.bench.significance import Comparison, compare, corrected, unpack_flags

__all__ = [
    "Row",
    "accuracy_cell",
    "compared",
    "flags_of",
    "grid_of",
    "model_rows",
    "set_title",
]

_PAPER_NAMES = {
    "transformer": "distilbert",
    "full": "fine_tuned",
    "none": "frozen",
    "paper-full": "fine_tuned",
    "paper": "frozen",
    "prosenet": "prosenet",
    "lstm": "lstm",
    "bag-of-words-paper": "bag_of_words",
}


@dataclass(frozen=True)
class Row:
    """A model on all data sets.

    Parameters
    ----------
    kind
        The model.
    title
        Its name, with what it was made of in small print.
    groups
        What was measured, by data set.
    failed
        Data sets on which it could not be measured.
    """

    kind: ModelKind
    title: Cell
    groups: dict[str, Group]
    failed: frozenset[str]


def model_rows(results: Results, models: Sequence[str], encoder: str) -> list[Row]:
    """Return a row for each model with an encoder or without one.

    A transformer stands for itself: every one that was measured has its row.
    """
    rows = []
    for model in models:
        kind = model_kind(model)
        encoders = _encoders_of(results, model) if model == "transformer" else [encoder]
        for each in encoders:
            own = each if kind.uses_encoder else ""
            groups = {
                name: group
                for name in results.sets
                if (group := results.group(name, own, model)) is not None
            }
            failures = [
                record
                for record in results.failures
                if (record.model, record.encoder, record.variant) == (model, own, "")
            ]
            if groups or failures:
                records = [record for group in groups.values() for record in group.records]
                title = Cell(kind.title, _made_of(kind, own, records or failures))
                rows.append(Row(kind, title, groups, frozenset(each.set for each in failures)))
    return rows


def grid_of(
    rows: Sequence[Row], sets: Sequence[str], cell: Callable[[Row, str], Cell], first: str = "model"
) -> Grid:
    """Return a table with a row per model and a column per data set."""
    header = (first, *(set_title(name) for name in sets))
    return Grid(header, tuple((row.title, *(cell(row, name) for name in sets)) for row in rows))


def accuracy_cell(row: Row, name: str) -> Cell:
    """Return the accuracy, the number of prototypes, and the paper's figure in small print."""
    paper = PAPER.get(name)
    figure = _PAPER_NAMES.get(row.kind.name)
    theirs = getattr(paper, figure) if paper is not None and figure is not None else None
    small = "" if theirs is None else f"paper {shown(theirs)}"
    group = row.groups.get(name)
    if group is None:
        return Cell("failed" if name in row.failed else MISSING, small)
    counts = shown_range(record.figure("n_prototypes") for record in group.records)
    words = shown(group.figure("accuracy"))
    return Cell(words if MISSING in (words, counts) else f"{words} ({counts})", small)


def set_title(name: str) -> str:
    """Return a data set's title; a star marks one that is not the paper's own data."""
    known = data_set(name)
    return f"{known.title} *" if known.is_slice else known.title


def compared(ours: Group | None, others: Sequence[Group | None]) -> list[Comparison | None]:
    """Compare a model with others on the same documents, corrected for how many they are.

    None stands for what cannot be compared.
    """
    first = None if ours is None else flags_of(ours)
    found: list[Comparison | None] = []
    for other in others:
        second = None if other is None or other == ours else flags_of(other)
        is_alike = first is not None and second is not None and first.shape[1] == second.shape[1]
        found.append(compare(first, second) if is_alike else None)
    known = iter(corrected([each for each in found if each is not None]))
    return [None if each is None else next(known) for each in found]


def flags_of(group: Group) -> NDArray[np.bool_] | None:
    """Return which test documents a model labels rightly, one row per seed; None if unknown.

    Seeds whose record does not tell are left out.
    """
    rows = []
    for record in group.records:
        n = record.figure("n_test")
        with suppress(InputError):
            if record.correct:
                rows.append(unpack_flags(record.correct, int(n or 0)))
    is_whole = bool(rows) and len(rows[0]) > 0 and len({len(row) for row in rows}) == 1
    return np.stack(rows) if is_whole else None


def _encoders_of(results: Results, model: str) -> list[str]:
    measured = {group.encoder for group in results.groups if group.kind.name == model}
    failed = {record.encoder for record in results.failures if record.model == model}
    return sorted(measured | failed)


def _made_of(kind: ModelKind, encoder: str, records: Sequence[Record]) -> str:
    """Say which weights a rival starts from, where that is not plain."""
    if kind.name == "transformer":
        return f"weights of {encoder}"
    if kind.name == "protoattend":
        return f"{encoder}, frozen" if encoder else "frozen"
    if kind.uses_vectors:
        vectors = sorted({record.vectors for record in records} - {""})
        return f"word vectors {', '.join(vectors)}" if vectors else "word vectors learnt"
    return ""
