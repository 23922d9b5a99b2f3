"""What was to be shown, and by how much it was met or missed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from protorynet.encoders import split_variant
from protorynet_lab.bench.catalogue import data_set
from protorynet_lab.bench.figures import MISSING, Figure, shown, shown_measure
from protorynet_lab.bench.markdown import escaped
from protorynet_lab.bench.results import Results

__all__ = ["Outcome", "accuracy_goals", "faithfulness_goals"]


@dataclass(frozen=True)
class Outcome:
    """A goal and what became of it.

    Parameters
    ----------
    goal, encoder, model
        What was to be shown, and of which model.
    measured
        The figure; over several data sets, the worst of them with its name.
    verdict
        Met, or missed by how much.
    """

    goal: str
    encoder: str
    model: str
    measured: str
    verdict: str


@dataclass(frozen=True)
class _Bound:
    """A figure that must not be passed.

    Parameters
    ----------
    name, measure
        What the goal is called, and the measure it is about.
    value, is_least
        The bound, and whether figures must be at least or at most that.
    """

    name: str
    measure: str
    value: float
    is_least: bool

    def __str__(self) -> str:
        if not self.value:
            return f"{self.name}: 0"
        return f"{self.name} {'≥' if self.is_least else '≤'} {_shown_bound(self)}"

    def missed_by(self, figure: Figure) -> float:
        """Return how far the mean lies beyond the bound; 0 or less where the goal is met."""
        return (self.value - figure.mean) if self.is_least else (figure.mean - self.value)


_ACCURACY = (
    ("imdb", "gte-small", "full", 0.945),
    ("imdb", "minilm", "full", 0.930),
    ("imdb", "gte-small", "adapter", 0.925),
    ("imdb", "minilm", "adapter", 0.878),
    ("hotel", None, "full", 0.970),
)
_FAITHFULNESS = (
    _Bound("number of prototypes", "n_prototypes", 20, False),
    _Bound("prototypes exact: largest error", "prototype_error", 1e-5, False),
    _Bound("ids-only accuracy below the full model's by", "ids_only_gap", 0.005, False),
    _Bound("substitution agreement", "substitution_agreement", 0.97, True),
    _Bound("match quality", "match_quality", 0.95, True),
    _Bound("score calibration", "score_calibration", 0.90, True),
    _Bound("share of the most used prototype", "top_usage", 0.25, False),
    _Bound("usage perplexity", "usage_perplexity", 10, True),
    _Bound("share of dead prototypes", "unused_prototypes", 0, False),
    _Bound("share of duplicate prototypes", "duplicate_prototypes", 0, False),
    _Bound("share of fragments among prototypes", "fragment_prototypes", 0, False),
)
_HAIR = 1e-9  # sums of decimal fractions are not exact
_CEILING = _Bound("below the same encoder without prototypes by", "ceiling_gap", 0.005, False)
_TIME = _Bound("IMDB: seconds of training", "training_seconds", 180, False)


def accuracy_goals(results: Results) -> Iterator[Outcome]:
    """Yield the goals about the accuracy of one data set, the ceiling, and time."""
    for name, encoder, model, least in _ACCURACY:
        bound = _Bound(f"{data_set(name).title}: accuracy", "accuracy", least, True)
        for each in _encoders(results, model) if encoder is None else (encoder,):
            yield _outcome(results, bound, each, model, (name,))
    others = tuple(name for name in results.sets if not data_set(name).exact)
    for encoder in _encoders(results, "full"):
        yield _outcome(results, _CEILING, encoder, "full", others)
    yield _outcome(results, _TIME, "minilm", "full", ("imdb",))


def faithfulness_goals(results: Results) -> Iterator[Outcome]:
    """Yield the goals that hold for every data set, by goal, then by model and encoder."""
    for bound in _FAITHFULNESS:
        for model in ("full", "adapter"):
            for encoder in _encoders(results, model):
                yield _outcome(results, bound, encoder, model, results.sets)


def _encoders(results: Results, model: str) -> tuple[str, ...]:
    """Return the encoders that a model can be made with: faster forms cannot be fine-tuned."""
    every = results.encoders or (MISSING,)
    return tuple(name for name in every if model != "full" or split_variant(name)[1] is None)


def _outcome(
    results: Results, bound: _Bound, encoder: str, model: str, sets: tuple[str, ...]
) -> Outcome:
    figures = {name: _figure(results, bound, name, encoder, model) for name in sets}
    known = {name: figure for name, figure in figures.items() if figure is not None}
    if not known:
        return Outcome(str(bound), encoder, model, MISSING, "not measured")
    worst = max(known, key=lambda name: bound.missed_by(known[name]))
    measured = shown_measure(bound.measure, known[worst])
    if len(sets) > 1:
        measured = f"{escaped(data_set(worst).title)} {measured}"
    return Outcome(str(bound), encoder, model, measured, _verdict(bound, known, worst))


def _figure(results: Results, bound: _Bound, name: str, encoder: str, model: str) -> Figure | None:
    if bound.measure == "ceiling_gap":
        return results.ceiling_gap(name, encoder, model)
    return results.figure(name, encoder, model, bound.measure)


def _verdict(bound: _Bound, known: dict[str, Figure], worst: str) -> str:
    missed = [name for name, figure in known.items() if bound.missed_by(figure) > _HAIR]
    if not missed:
        return "met" if len(known) == 1 else f"met on all {len(known)} sets"
    by = _shown_miss(bound, bound.missed_by(known[worst]))
    if len(known) == 1:
        return f"missed by {by}"
    return f"missed on {len(missed)} of {len(known)} sets by up to {by}"


def _shown_bound(bound: _Bound) -> str:
    whole = bound.value >= 1 and bound.value == round(bound.value)
    return str(round(bound.value)) if whole else shown_measure(bound.measure, bound.value)


def _shown_miss(bound: _Bound, miss: float) -> str:
    """Return by how much a goal was missed, with decimals enough to see it."""
    words, decimals = shown_measure(bound.measure, miss), 3
    while not any(digit in words for digit in "123456789"):
        decimals += 1
        words = shown(miss, decimals)
    return words
