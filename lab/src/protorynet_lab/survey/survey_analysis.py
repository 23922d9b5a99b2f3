"""What the answers say: means by group and model, tests between them, agreement among people."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from statistics import fmean, median_high, multimode, stdev
from typing import Any, Literal

from protorynet_lab.survey.participants import Response

TASK_OF_MEASURE = {
    "agreement": "match",
    "ease": "match",
    "diagnosis": "diagnosis",
    "trajectory": "trajectory",
}
"""What is measured, and in which questions: ease is rated, the others are shares of agreement."""

LEAST_SECONDS = 15.0
"""Who took less per question did not read it; the paper's limit, 60 seconds for four."""

_GROUPS = ("technical", "non-technical")
EVERYONE = "everyone"
AUTOMATIC = "automatic"  # these are no people
_People = dict[int, list[Response]]
_OwnMeans = dict[tuple[str, str, str], list[float]]


@dataclass(frozen=True)
class Mean:
    """The mean of participants' own means, and its standard error."""

    measure: str
    model: str
    group: str
    n: int
    mean: float
    error: float | None  # None for fewer than two
    chance: float | None  # what blind guessing would give; None for ratings


@dataclass(frozen=True)
class Comparison:
    """Welch's t-test of two models within a group, or of two groups within a model."""

    measure: str
    within: str
    left: str
    right: str
    difference: float  # the mean of the left minus that of the right
    t: float | None  # with df and p: None for fewer than two participants, or if nothing varies
    df: float | None
    p: float | None


@dataclass(frozen=True)
class QuestionFigures:
    """How many answered a question, the share that agrees with the model, and its error."""

    question: str
    model: str
    task: str
    n: int
    agreement: float
    error: float | None
    consensus: str | None  # the answer given most often, unless two were
    is_consensus_expected: bool
    seconds: float | None  # median of the time taken


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha of the answers about one model."""

    measure: str
    model: str
    level: str
    n_questions: int
    alpha: float | None


@dataclass(frozen=True)
class Analysis:
    """The whole analysis.

    Parameters
    ----------
    n_people, n_analysed, n_automatic
        People who answered anything, those whose answers are analysed, and automatic participants
        that are shown beside them.
    left_out, least_seconds
        People left out, by reason; the least time per question for which answers are trusted.
    means, comparisons, questions, alphas
        The figures. Automatic participants only ever have means of their own.
    """

    n_people: int
    n_analysed: int
    n_automatic: int
    left_out: dict[str, int]
    least_seconds: float
    models: tuple[str, ...]
    means: tuple[Mean, ...]
    comparisons: tuple[Comparison, ...]
    questions: tuple[QuestionFigures, ...]
    alphas: tuple[Alpha, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet survey analyse --json` prints them."""
        return asdict(self)

    def mean(self, measure: str, model: str, group: str) -> Mean | None:
        """Return one of the means."""
        wanted = (measure, model, group)
        return next(
            (each for each in self.means if (each.measure, each.model, each.group) == wanted), None
        )


def analyse(
    responses: Sequence[Response],
    *,
    models: Sequence[str] = (),
    least_seconds: float = LEAST_SECONDS,
    with_unfinished: bool = False,
    with_automatic: bool = False,
) -> Analysis:
    """Analyse the answers to a survey.

    Parameters
    ----------
    models
        The models in the order to show; by default in the order of their names.
    least_seconds
        Leave out people who took less than this per question, in the mean.
    with_unfinished
        Analyse also those who did not answer everything.
    with_automatic
        Show automatic participants as a group of their own. They never count as people.
    """
    people: _People = defaultdict(list)
    machines: _People = defaultdict(list)
    for response in responses:
        is_machine = response.judge is not None or response.kind == AUTOMATIC
        (machines if is_machine else people)[response.participant].append(response)
    kept: _People = {}
    left_out = {"unfinished": 0, "too quick": 0}
    for number, given in people.items():
        # Without a time the page was never asked for: its answer was sent by a program, at once.
        pace = fmean(response.seconds or 0.0 for response in given)
        if not given[0].is_finished and not with_unfinished:
            left_out["unfinished"] += 1
        elif pace < least_seconds:
            left_out["too quick"] += 1
        else:
            kept[number] = given
    shown = machines if with_automatic else {}
    order = tuple(models) or tuple(sorted({response.model for response in responses}))
    questions = _group_by_question(order, kept)
    own_means = _find_own_means([*kept.values(), *shown.values()])
    return Analysis(
        n_people=len(people),
        n_analysed=len(kept),
        n_automatic=len(shown),
        left_out=left_out,
        least_seconds=least_seconds,
        models=order,
        means=tuple(_find_means(order, own_means, kept, shown)),
        comparisons=tuple(_compare(order, own_means)),
        questions=tuple(_count_choices(given) for given in questions),
        alphas=tuple(_find_alphas(order, questions)),
    )


def krippendorff_alpha(
    units: Iterable[Sequence[Hashable]], level: Literal["nominal", "interval"] = "nominal"
) -> float | None:
    """Return how far people agree: 1 where all do, 0 where it is as by chance, below 0 where worse.

    K. Krippendorff (2011), *Computing Krippendorff's Alpha-Reliability*.

    Parameters
    ----------
    units
        For each thing judged, the values that were given to it.
    level
        ``"nominal"``: values are the same or not; ``"interval"``: they are numbers, and the
        square of their difference counts.

    Returns
    -------
    The agreement; None where there is nothing to compare, or all values ever given are the same.
    """
    compared = [Counter(values) for values in units if len(values) >= 2]
    totals: Counter[Hashable] = sum(compared, Counter())
    observed = sum(_disagreement(counts, level) / (counts.total() - 1) for counts in compared)
    expected = _disagreement(totals, level)
    return None if expected == 0 else 1 - (totals.total() - 1) * observed / expected


def _disagreement(counts: Counter[Hashable], level: str) -> float:
    """Return the sum of the differences over all ordered pairs of values."""
    if level == "nominal":
        n = counts.total()
        return float(n * n - sum(count * count for count in counts.values()))
    numbers = [(float(value), count) for value, count in counts.items()]  # type: ignore[arg-type]
    return 2 * sum(n * m * (a - b) ** 2 for (a, n), (b, m) in combinations(numbers, 2))


def _mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return fmean(values), error


def _find_own_means(participants: Iterable[list[Response]]) -> _OwnMeans:
    """Return the means of every single participant, by measure, model and group."""
    own_means: _OwnMeans = defaultdict(list)
    for given in participants:
        kind = given[0].kind
        groups = (kind,) if kind == AUTOMATIC else (kind, EVERYONE)
        for measure, task in TASK_OF_MEASURE.items():
            values: dict[str, list[float]] = defaultdict(list)
            for response in given:
                value = response.ease if measure == "ease" else response.agrees
                if response.task == task and value is not None:
                    values[response.model].append(float(value))
            for (model, own), group in product(values.items(), groups):
                own_means[measure, model, group].append(fmean(own))
    return own_means


def _find_means(
    models: Sequence[str], own_means: _OwnMeans, people: _People, machines: _People
) -> Iterator[Mean]:
    groups = (*_GROUPS, EVERYONE, AUTOMATIC)
    for measure, group, model in product(TASK_OF_MEASURE, groups, models):
        if values := own_means.get((measure, model, group)):
            whose = machines if group == AUTOMATIC else people
            chance = None if measure == "ease" else _find_chance(measure, model, whose)
            yield Mean(measure, model, group, len(values), *_mean_and_error(values), chance)


def _find_chance(measure: str, model: str, people: _People) -> float:
    shares = {
        response.question: 1 / response.n_options
        for given in people.values()
        for response in given
        if response.task == TASK_OF_MEASURE[measure] and response.model == model
    }
    return fmean(shares.values())


def _compare(models: Sequence[str], own_means: _OwnMeans) -> Iterator[Comparison]:
    for measure in TASK_OF_MEASURE:
        pairs = [
            (group, (left, group), (right, group), left, right)
            for group in (*_GROUPS, EVERYONE)
            for left, right in combinations(models, 2)
        ]
        left, right = _GROUPS
        pairs += [(model, (model, left), (model, right), left, right) for model in models]
        for within, *samples, left, right in pairs:
            first, second = (own_means.get((measure, *sample)) for sample in samples)
            if first and second:
                yield Comparison(measure, within, left, right, *_test_means(first, second))


def _test_means(
    first: list[float], second: list[float]
) -> tuple[float, float | None, float | None, float | None]:
    """Return the difference of the means, and Welch's t, degrees of freedom and p."""
    (mean, error), (other, other_error) = _mean_and_error(first), _mean_and_error(second)
    # The squared standard errors. One of the samples may well not vary.
    a, b = (error or 0.0) ** 2, (other_error or 0.0) ** 2
    if min(len(first), len(second)) < 2 or a + b == 0:
        return mean - other, None, None, None
    from scipy.stats import t as students

    t = (mean - other) / math.sqrt(a + b)
    df = (a + b) ** 2 / (a**2 / (len(first) - 1) + b**2 / (len(second) - 1))
    return mean - other, t, df, float(2 * students.sf(abs(t), df))


def _group_by_question(models: Sequence[str], people: _People) -> list[list[Response]]:
    """Return the answers to each question, in the order of the models and of their questions."""
    asked: dict[tuple[str, str], list[Response]] = defaultdict(list)
    for given in people.values():
        for response in given:
            asked[response.model, response.question].append(response)

    def order(key: tuple[str, str]) -> tuple[int, str, int, str]:
        model, question = key
        head, _, number = question.rpartition("/")
        # Question 10 comes after question 9.
        return models.index(model), head, int(number) if number.isdecimal() else 0, number

    return [asked[key] for key in sorted((key for key in asked if key[0] in models), key=order)]


def _count_choices(given: Sequence[Response]) -> QuestionFigures:
    first = given[0]
    share, error = _mean_and_error([float(response.agrees) for response in given])
    modes = multimode(response.choice for response in given)
    consensus = modes[0] if len(modes) == 1 else None
    times = [response.seconds for response in given if response.seconds is not None]
    return QuestionFigures(
        first.question,
        first.model,
        first.task,
        len(given),
        share,
        error,
        consensus,
        consensus == first.expected,
        median_high(times) if times else None,
    )


def _find_alphas(models: Sequence[str], questions: Sequence[list[Response]]) -> Iterator[Alpha]:
    for measure, task in TASK_OF_MEASURE.items():
        for model in models:
            asked = [
                given for given in questions if (given[0].model, given[0].task) == (model, task)
            ]
            level: Literal["nominal", "interval"] = "interval" if measure == "ease" else "nominal"
            name = "ease" if measure == "ease" else "choice"
            values = [[getattr(response, name) for response in given] for given in asked]
            known = [[value for value in of_one if value is not None] for of_one in values]
            if asked:
                yield Alpha(measure, model, level, len(asked), krippendorff_alpha(known, level))
