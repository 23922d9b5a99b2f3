"""The commands that measure again what a table shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from shlex import quote

from protorynet_lab.bench.results import Group

__all__ = ["Run", "runs_of"]


@dataclass
class Run:
    """Groups that one command measures: all its models with all its encoders, sets and seeds.

    The variants of a model are the experiment's own; a command measures all of them.

    Parameters
    ----------
    groups
        What is measured.
    sets, seeds, is_quick
        What they have in common.
    vectors
        Word vectors by name, or empty where words are learnt; None where no model reads words.
    """

    groups: list[Group]
    sets: tuple[str, ...]
    seeds: tuple[int, ...]
    is_quick: bool
    vectors: str | None = None

    @property
    def options(self) -> dict[str, Iterable[str]]:
        """The options of the command; those without values are left out of it."""
        return {
            "sets": self.sets,
            "models": dict.fromkeys(group.kind.name for group in self.groups),
            "encoders": sorted({group.encoder for group in self.groups} - {""}),
            "seeds": map(str, self.seeds),
            "vectors": [self.vectors] if self.vectors else [],
        }

    def command(self, start: str, options: Mapping[str, Iterable[str]], out: str) -> str:
        """Return the command, quoted for a shell."""
        given = {name: ",".join(map(quote, words)) for name, words in options.items()}
        words = [f"--{name} {values}" for name, values in given.items() if values]
        return " ".join([start, *words, *(["--quick"] if self.is_quick else []), f"--out {out}"])

    def takes(self, other: Run) -> bool:
        """Whether models without an encoder can go along."""
        same = (self.sets, self.seeds, self.is_quick) == (other.sets, other.seeds, other.is_quick)
        return same and (None in (self.vectors, other.vectors) or self.vectors == other.vectors)


def runs_of(groups: Collection[Group]) -> list[Run]:
    """Return the commands that measure some groups, the one that measures most first."""
    alone = sorted(_runs_of_models(groups), key=lambda run: -len(run.groups))
    runs: dict[tuple[object, ...], Run] = {}
    for run in (run for run in alone if run.groups[0].encoder):
        # Encoders with the same models can be named together, if the same one judges them.
        models = frozenset(group.kind.name for group in run.groups)
        judges = frozenset(record.judge for group in run.groups for record in group.records)
        key = (run.sets, run.seeds, run.is_quick, models, judges)
        runs.setdefault(key, Run([], run.sets, run.seeds, run.is_quick)).groups.extend(run.groups)
    found = list(runs.values())
    for run in (run for run in alone if not run.groups[0].encoder):
        host = next((each for each in found if each.takes(run)), None)
        if host is None:
            found.append(run)
        else:
            host.groups += run.groups
            host.vectors = run.vectors if host.vectors is None else host.vectors
    return found


def _runs_of_models(groups: Collection[Group]) -> list[Run]:
    """Return a run for each encoder, and for models without one; several where sets differ."""
    places = {name: place for place, name in enumerate(dict.fromkeys(g.set for g in groups))}
    seeds: dict[tuple[str, str, str], set[int]] = {}
    for group in groups:
        known = seeds.setdefault((group.set, group.encoder, group.kind.name), set())
        known.update(record.seed for record in group.records)
    of_model: dict[tuple[str, str, tuple[int, ...], bool, str | None], list[Group]] = {}
    for group in groups:
        name = group.kind.name
        own = tuple(sorted(seeds[group.set, group.encoder, name]))
        key = (group.encoder, name, own, group.is_quick, _vectors(group))
        of_model.setdefault(key, []).append(group)
    runs: dict[tuple[object, ...], Run] = {}
    for (encoder, _, own, is_quick, vectors), members in of_model.items():
        sets = tuple(sorted({group.set for group in members}, key=places.__getitem__))
        run = Run([], sets, own, is_quick, vectors)
        runs.setdefault((encoder, sets, own, is_quick, vectors), run).groups.extend(members)
    return list(runs.values())


def _vectors(group: Group) -> str | None:
    if not group.kind.uses_vectors:
        return None
    return ",".join(sorted({record.vectors for record in group.records}))
