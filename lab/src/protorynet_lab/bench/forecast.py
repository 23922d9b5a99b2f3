"""How long the jobs that are left will take, by those that are done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean

from protorynet_lab.bench.jobs import Job
from protorynet_lab.bench.records import Record

__all__ = ["Forecast"]

_Key = tuple[str, ...]


class Forecast:
    """Seconds of jobs that are done.

    Parameters
    ----------
    records
        Records of earlier runs.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._seconds: dict[_Key, list[float]] = {}
        self._total = self._weight = 0.0
        for record in records:
            if record.error is None and record.seconds:
                keys = _keys(record.set, record.encoder, record.model, record.variant)
                self._note(keys, sum(record.seconds.values()))

    def add(self, job: Job, seconds: float) -> None:
        """Remember how long a job took."""
        self._note(_keys(job.set, job.encoder, job.model, job.variant.name), seconds)
        if job.kind.cost:  # what costs nothing says nothing about the others
            self._total += seconds
            self._weight += _weight(job)

    def words(self, jobs: Sequence[Job]) -> str:
        """Return roughly how long some jobs will take; empty where nothing is known yet.

        Examples
        --------
        >>> from protorynet_lab.bench.jobs import PLAIN, job_group
        >>> jobs = job_group("imdb", "minilm", "none", PLAIN, (0, 1, 2))
        >>> forecast = Forecast()
        >>> forecast.add(jobs[0], 90.0)
        >>> forecast.words(jobs[1:])
        ' about 3 minutes left'
        """
        expected = [self._expected(job) for job in jobs]
        if None in expected:
            return ""
        seconds = sum(each for each in expected if each is not None)
        if seconds < 90:
            return f" about {max(round(seconds, -1), 10):.0f} seconds left"
        if seconds < 5_400:
            return f" about {seconds / 60:.0f} minutes left"
        return f" about {seconds / 3_600:.1f} hours left"

    def _note(self, keys: Iterable[_Key], seconds: float) -> None:
        for key in keys:
            self._seconds.setdefault(key, []).append(seconds)

    def _expected(self, job: Job) -> float | None:
        """Return the mean of the jobs most like this one, or a guess by the cost of its model."""
        for key in _keys(job.set, job.encoder, job.model, job.variant.name):
            if key in self._seconds:
                return mean(self._seconds[key])
        return self._total / self._weight * _weight(job) if self._weight else None


def _keys(name: str, encoder: str, model: str, variant: str) -> list[_Key]:
    """Return what a job is known by, from the most particular on."""
    return [(name, encoder, model, variant), (name, encoder, model), (encoder, model)]


def _weight(job: Job) -> float:
    # From one place in the order of models to the next, time nearly doubles.
    return 1.7**job.kind.cost
