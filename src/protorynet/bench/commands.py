"""The commands that measure again what a table shows, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from protorynet.bench.results import Group

__all__ = ["options_of", "runs_of"]


def runs_of(groups: Collection[Group]) -> list[list[Group]]:
    """Return the groups, those that one command can measure together.

    A command measures all its models with all its encoders, data sets and seeds, so that only
    groups that fill such a block belong together.
    """
    places = {name: place for place, name in enumerate(dict.fromkeys(g.set for g in groups))}
    of_model: dict[tuple[str, str, tuple[int, ...]], list[Group]] = {}
    for group in groups:
        seeds = tuple(record.seed for record in group.records)
        of_model.setdefault((group.encoder, group.kind.name, seeds), []).append(group)
    alike: dict[tuple[str, tuple[int, ...], tuple[str, ...]], list[Group]] = {}
    for (encoder, _, seeds), members in of_model.items():
        sets = tuple(sorted({group.set for group in members}, key=places.__getitem__))
        alike.setdefault((encoder, seeds, sets), []).extend(members)
    alike = dict(sorted(alike.items(), key=lambda item: -len(item[1])))  # the fullest first
    # Models without an encoder go along with others.
    for key in [key for key in alike if not key[0]]:
        host = next((other for other in alike if other[0] and other[1:] == key[1:]), None)
        if host is not None:
            alike[host] += alike.pop(key)
    runs: dict[tuple[object, ...], list[Group]] = {}
    for (_, seeds, sets), members in alike.items():
        models = frozenset(group.kind.name for group in members)
        runs.setdefault((seeds, sets, models), []).extend(members)
    return list(runs.values())


def options_of(run: Sequence[Group]) -> dict[str, list[str]]:
    """Return the options of the command for a run, by name."""
    seeds = sorted({record.seed for group in run for record in group.records})
    return {
        "sets": list(dict.fromkeys(group.set for group in run)),
        "models": list(dict.fromkeys(group.kind.name for group in run)),
        "encoders": sorted({group.encoder for group in run} - {""}),
        "seeds": [str(seed) for seed in seeds],
    }
