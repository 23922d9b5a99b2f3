"""What a batch is about: how many documents hold each prototype, by group or over time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.errors import InputError
from protorynet.explain import ModelFacts, Neighbour, nearest_sentences
from protorynet.reading import Reading
from protorynet.server.workbench.labelled_table import shorten

_MOST_GROUPS, _LONGEST_GROUP = 20, 200
_OTHER, _NONE = "(other)", "(none)"
_SENTENCES_SHOWN = 5
_LEAST_READABLE = 0.5
_FIRST, _LAST = np.datetime64("1000-01-01"), np.datetime64("3000-01-01")
_MOST_DAYS = {"day": 31, "week": 7 * 30, "month": 366 * 5}


@dataclass(frozen=True)
class Keys:
    """What documents are counted by: keys of a column, or buckets of the moments in it."""

    names: tuple[str, ...]  # in the order they are shown
    of: NDArray[np.int64]  # which of these each document has
    column: str | None = None
    bucket: str | None = None


def group_keys(values: Sequence[Any], column: str) -> Keys:
    """Return the largest groups, then one for the others.

    Examples
    --------
    >>> group_keys(["Berlin", None, "Rome", "Rome"], "city").names
    ('Rome', 'Berlin', '(none)')
    """
    texts = [
        " ".join(str(value).split())[:_LONGEST_GROUP] if value is not None else ""
        for value in values
    ]
    texts = [text or _NONE for text in texts]
    counts = Counter(text for text in texts if text != _NONE)
    largest = sorted(counts, key=lambda text: (-counts[text], text))[:_MOST_GROUPS]
    names = [*largest, _OTHER] if len(counts) > len(largest) else largest
    names = [*names, _NONE] if _NONE in texts else names
    number = {name: place for place, name in enumerate(names)}
    of = [number.get(text, number.get(_OTHER, 0)) for text in texts]
    return Keys(tuple(names), np.array(of, np.int64), column)


def time_keys(values: Sequence[Any], column: str) -> Keys:
    """Return the days, weeks, months or years that moments lie in, those between them included.

    Moments are written in any usual way; numbers are years, or seconds or milliseconds since
    1970. Weeks begin on Monday.

    Examples
    --------
    >>> keys = time_keys(["2026-01-01", "2026-01-03", ""], "date")
    >>> keys.names, keys.bucket, keys.of.tolist()
    (('2026-01-01', '2026-01-02', '2026-01-03', '(none)'), 'day', [0, 2, 3])
    >>> time_keys(["red", "green"], "colour")
    Traceback (most recent call last):
    ...
    protorynet.errors.InputError: column 'colour' holds no dates...
    """
    import pandas as pd

    texts = [_write_moment(value) for value in values]
    read = pd.to_datetime(pd.Series(texts, dtype=object), errors="coerce", utc=True, format="mixed")
    days = read.dt.tz_localize(None).astype("datetime64[s]")
    days = days.where((days >= _FIRST) & (days < _LAST))
    known = days.dropna()
    if len(known) < max(1, _LEAST_READABLE * sum(text is not None for text in texts)):
        raise InputError(
            f"column {column!r} holds no dates that can be read; write them as 2026-03-01, or "
            "choose another column."
        )
    span = (known.max().normalize() - known.min().normalize()).days
    bucket = next((name for name, most in _MOST_DAYS.items() if span <= most), "year")
    periods = days.dt.to_period(bucket[0].upper())
    between = pd.period_range(periods.min(), periods.max())
    names = [str(period.asfreq("D", how="start")) for period in between]
    of = between.get_indexer(pd.PeriodIndex(periods))
    if (of < 0).any():
        of = np.where(of < 0, len(names), of)
        names.append(_NONE)
    return Keys(tuple(names), np.asarray(of, np.int64), column, bucket)


def _write_moment(value: Any) -> str | None:
    if value is None or isinstance(value, bool) or str(value).strip() == "":
        return None
    text = str(value).strip()[:60]
    number = re.fullmatch(r"(\d{4,13})(\.\d+)?", text)
    if number is None:
        return text
    whole = int(number[1])
    if 1_000 <= whole < 3_000:
        return f"{whole:04}-01-01"
    if len(number[1]) == 8 and number[2] is None:  # 20260301
        return f"{number[1][:4]}-{number[1][4:6]}-{number[1][6:]}"
    seconds = whole // 1000 if whole >= 10**11 else whole
    return str(np.datetime64(seconds, "s"))


class Tally:
    """What is counted of documents, of which rows in the file and texts are known."""

    def __init__(
        self,
        model: ModelFacts,
        keys: dict[str, Keys],
        rows: NDArray[np.int64],
        texts: Sequence[str],
    ) -> None:
        self.keys = keys
        self._model, self._rows, self._texts = model, rows, texts
        self._documents: list[NDArray[np.int64]] = []
        self._labels: dict[int, str] = {}
        self._owners: list[NDArray[np.int64]] = []
        self._columns: list[NDArray[np.int64]] = []
        self._top: list[list[Neighbour]] = [[] for _ in model.prototypes]

    def add(self, documents: NDArray[np.int64], reading: Reading, sentences: Sequence[str]) -> None:
        """Count what was read in documents, given by their positions in the batch."""
        self._documents.append(documents)
        self._owners.append(np.repeat(documents, reading.lengths))
        self._columns.append(reading.columns)
        for document, row in zip(documents.tolist(), reading.probabilities, strict=True):
            self._labels[document] = self._model.labels.name_of(row)
        k = len(self._top)
        found = nearest_sentences(reading, sentences, documents, k, most=_SENTENCES_SHOWN)
        for column, new in enumerate(found):
            worst_first = sorted(
                (*self._top[column], *new), key=lambda near: (near.similarity, -near.rows[0])
            )
            best = {near.text: near for near in worst_first}.values()
            best_first = sorted(best, key=lambda near: (-near.similarity, near.rows[0]))
            self._top[column] = best_first[:_SENTENCES_SHOWN]

    def view(self, by: str) -> dict[str, Any]:
        """Return the overview by one kind of key."""
        keys, k = self.keys[by], len(self._top)
        n_keys = len(keys.names)
        documents, owners, columns = map(
            np.concatenate, (self._documents, self._owners, self._columns)
        )
        pairs = np.unique(np.stack([owners, columns]), axis=1)
        holding = np.zeros((k, n_keys), np.int64)
        np.add.at(holding, (pairs[1], keys.of[pairs[0]]), 1)
        names, which = np.unique([self._labels[n] for n in documents.tolist()], return_inverse=True)
        labels = np.zeros((len(names), n_keys), np.int64)
        np.add.at(labels, (which, keys.of[documents]), 1)
        n_sentences = np.bincount(columns, minlength=k).tolist()
        order = np.argsort(-holding.sum(axis=1), kind="stable").tolist()
        return {
            "by": by,
            "column": keys.column,
            "bucket": keys.bucket,
            "keys": list(keys.names),
            "n_documents": len(documents),
            "n_sentences": len(columns),
            "documents": np.bincount(keys.of[documents], minlength=n_keys).tolist(),
            "labels": [
                {"label": str(names[n]), "n": int(labels[n].sum()), "counts": labels[n].tolist()}
                for n in np.argsort(-labels.sum(axis=1), kind="stable").tolist()
            ],
            "prototypes": [
                {
                    **self._view_prototype(column, holding[column]),
                    "n_sentences": n_sentences[column],
                }
                for column in order
            ],
        }

    def _view_prototype(self, column: int, counts: NDArray[np.int64]) -> dict[str, Any]:
        item = self._model.prototypes[column]
        return {
            "id": item.id,
            "sentence": item.sentence,
            "name": item.name,
            "scores": dict(item.scores),
            "n_documents": int(counts.sum()),
            "counts": counts.tolist(),
            "top": [
                {
                    "row": int(self._rows[near.rows[0]]),
                    "sentence": near.text,
                    "similarity": near.similarity,
                    "label": self._labels[near.rows[0]],
                    "text": shorten(self._texts[near.rows[0]]),
                }
                for near in self._top[column]
            ],
        }
