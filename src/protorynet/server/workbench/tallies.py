"""What a batch is about: how many documents hold each prototype, by group or over time."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protorynet.model import Model
from protorynet.reading import Reading
from protorynet.server.workbench.paging import beginning
from protorynet.server.workbench.times import bucketed, buckets_between, choose_bucket, moments

__all__ = ["Keys", "Tally", "all_keys", "group_keys", "time_keys"]

_MOST_GROUPS, _SHOWN = 20, 5
_OTHER, _NONE = "(other)", "(none)"
_LONGEST_KEY = 200


@dataclass(frozen=True)
class Keys:
    """What documents are counted by.

    Parameters
    ----------
    names
        The keys, in the order they are shown.
    of
        Place, among these, of each document's key.
    column
        The column that the keys come from.
    bucket
        What moments are gathered into.
    """

    names: tuple[str, ...]
    of: NDArray[np.int64]
    column: str | None = None
    bucket: str | None = None


def all_keys(n_documents: int) -> Keys:
    """Return one key for all documents."""
    return Keys(("all",), np.zeros(n_documents, np.int64))


def group_keys(values: Sequence[Any], column: str) -> Keys:
    """Return the largest groups, then one for the others.

    Examples
    --------
    >>> group_keys(["Berlin", None, "Rome", "Rome"], "city").names
    ('Rome', 'Berlin', '(none)')
    """
    texts = [_group(value) for value in values]
    counts = Counter(text for text in texts if text != _NONE)
    largest = sorted(counts, key=lambda text: (-counts[text], text))[:_MOST_GROUPS]
    names = [*largest, _OTHER] if len(counts) > len(largest) else largest
    names = [*names, _NONE] if _NONE in texts else names
    place = {name: number for number, name in enumerate(names)}
    of = [place.get(text, place.get(_OTHER, 0)) for text in texts]
    return Keys(tuple(names), np.array(of, np.int64), column)


def time_keys(values: Sequence[Any], column: str) -> Keys:
    """Return the days, weeks, months or years that moments lie in, those between them included.

    Examples
    --------
    >>> keys = time_keys(["2026-01-01", "2026-01-03", ""], "date")
    >>> keys.names, keys.bucket, keys.of.tolist()
    (('2026-01-01', '2026-01-02', '2026-01-03', '(none)'), 'day', [0, 2, 3])
    """
    days = moments(values, column)
    bucket = choose_bucket(days)
    starts = bucketed(days, bucket)
    names = [str(day) for day in buckets_between(starts, bucket)]
    place = {name: number for number, name in enumerate(names)}
    if np.isnat(starts).any():
        place["NaT"] = len(names)
        names.append(_NONE)
    of = np.array([place[str(start)] for start in starts], np.int64)
    return Keys(tuple(names), of, column, bucket)


@dataclass
class Tally:
    """Counts that grow while a batch is read.

    Parameters
    ----------
    model
        The model.
    keys
        By name (``"all"``, ``"group"``, ``"time"``), what is counted by.
    """

    model: Model
    keys: dict[str, Keys]
    n_sentences: int = 0
    _documents: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    _holding: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    _labels: dict[str, dict[str, NDArray[np.int64]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        k = len(self.model.prototypes)
        self._sentences = np.zeros(k, np.int64)
        self._top: list[list[tuple[float, int, str, str, str]]] = [[] for _ in range(k)]
        for name, keys in self.keys.items():
            self._documents[name] = np.zeros(len(keys.names), np.int64)
            self._holding[name] = np.zeros((k, len(keys.names)), np.int64)
            self._labels[name] = {}

    def add(
        self,
        places: NDArray[np.int64],
        rows: NDArray[np.int64],
        texts: Sequence[str],
        sentences: Sequence[str],
        labels: Sequence[str],
        trajectory: Reading,
    ) -> None:
        """Count documents.

        Parameters
        ----------
        places
            Where they stand among all documents of the batch.
        rows, texts, labels
            Their rows in the table, their texts, and their predictions.
        sentences, trajectory
            Their sentences, and the prototypes of these.
        """
        owners = np.repeat(np.arange(len(places)), trajectory.lengths)
        pairs = np.unique(np.stack([owners, trajectory.columns]), axis=1)
        for name, keys in self.keys.items():
            of = keys.of[places]
            np.add.at(self._documents[name], of, 1)
            np.add.at(self._holding[name], (pairs[1], of[pairs[0]]), 1)
            for label, key in zip(labels, of.tolist(), strict=True):
                counts = self._labels[name].setdefault(label, np.zeros(len(keys.names), np.int64))
                counts[key] += 1
        self.n_sentences += len(sentences)
        self._sentences += np.bincount(trajectory.columns, minlength=len(self._sentences))
        steps = zip(
            owners.tolist(),
            trajectory.columns.tolist(),
            trajectory.similarities.tolist(),
            strict=True,
        )
        for place, (owner, column, similarity) in enumerate(steps):
            top = self._top[column]
            if len(top) == _SHOWN and similarity <= top[0][0]:
                continue
            if any(sentences[place] == other[2] for other in top):
                continue
            found = (similarity, -int(rows[owner]), sentences[place], labels[owner], texts[owner])
            (heapq.heappush if len(top) < _SHOWN else heapq.heappushpop)(top, found)

    def view(self, name: str) -> dict[str, Any]:
        """Return the overview by one kind of key."""
        keys, holding = self.keys[name], self._holding[name]
        order = np.argsort(-holding.sum(axis=1), kind="stable").tolist()
        labels = self._labels[name].items()
        counted = [
            {"label": label, "n": int(counts.sum()), "counts": counts.tolist()}
            for label, counts in sorted(labels, key=lambda each: (-each[1].sum(), each[0]))
        ]
        return {
            "by": name,
            "column": keys.column,
            "bucket": keys.bucket,
            "keys": list(keys.names),
            "n_documents": int(self._documents[name].sum()),
            "n_sentences": self.n_sentences,
            "documents": self._documents[name].tolist(),
            "labels": counted,
            "prototypes": [self._prototype(column, holding[column]) for column in order],
        }

    def _prototype(self, column: int, counts: NDArray[np.int64]) -> dict[str, Any]:
        item = self.model.prototypes[column]
        top = sorted(self._top[column], key=lambda each: (-each[0], -each[1]))
        return {
            "id": item.id,
            "sentence": item.sentence,
            "name": item.name,
            "scores": dict(item.scores),
            "n_documents": int(counts.sum()),
            "n_sentences": int(self._sentences[column]),
            "counts": counts.tolist(),
            "top": [
                {
                    "row": -row,
                    "sentence": sentence,
                    "similarity": similarity,
                    "label": label,
                    "text": beginning(text),
                }
                for similarity, row, sentence, label, text in top
            ],
        }


def _group(value: Any) -> str:
    text = "" if value is None else " ".join(str(value).split())
    return text[:_LONGEST_KEY] or _NONE
