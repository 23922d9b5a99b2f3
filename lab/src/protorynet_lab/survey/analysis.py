"""What the answers say: means by group and model, tests between them, agreement among people."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from protorynet_lab.survey.alpha import krippendorff_alpha
from protorynet_lab.survey.figures import (
    AUTOMATIC,
    EVERYONE,
    MEASURES,
    Alpha,
    Analysis,
    Comparison,
    Mean,
    QuestionFigures,
)
from protorynet_lab.survey.responses import Response

__all__ = ["analyse", "mean_of"]

_TASK = {
    "agreement": "match",
    "ease": "match",
    "diagnosis": "diagnosis",
    "trajectory": "trajectory",
}
_GROUPS = ("technical", "non-technical")


def analyse(
    responses: Sequence[Response],
    *,
    models: Sequence[str] = (),
    least_seconds: float = 0.0,
    with_unfinished: bool = False,
    with_automatic: bool = False,
) -> Analysis:
    """Analyse the answers to a survey.

    Parameters
    ----------
    responses
        The answers.
    models
        The models in the order to show; by default in the order of their names.
    least_seconds
        Leave out people who took less than this per question, in the mean.
    with_unfinished
        Analyse also those who did not answer everything.
    with_automatic
        Show automatic participants as a group of their own. They never count as people.

    Examples
    --------
    >>> def answers(person, group, *choices):
    ...     return [Response(person, group, None, "m", "match", f"q{n}", choice, "1", 4)
    ...             for n, choice in enumerate(choices)]
    >>> found = analyse(answers(1, "technical", "1", "1") + answers(2, "technical", "1", "2"))
    >>> found.mean("agreement", "m", "technical").mean
    0.75
    """
    people: dict[int, list[Response]] = defaultdict(list)
    machines: dict[int, list[Response]] = defaultdict(list)
    for response in responses:
        is_machine = response.judge is not None or response.kind == AUTOMATIC
        (machines if is_machine else people)[response.participant].append(response)
    kept: dict[int, list[Response]] = {}
    left_out = {"unfinished": 0, "too quick": 0}
    for number, given in people.items():
        if not given[0].is_finished and not with_unfinished:
            left_out["unfinished"] += 1
        elif _pace(given) < least_seconds:
            left_out["too quick"] += 1
        else:
            kept[number] = given
    shown = machines if with_automatic else {}
    order = tuple(models) or tuple(sorted({response.model for response in responses}))
    told = [response for given in kept.values() for response in given]
    return Analysis(
        n_people=len(people),
        n_analysed=len(kept),
        n_automatic=len(shown),
        left_out=left_out,
        least_seconds=least_seconds,
        models=order,
        means=tuple(_means(order, kept, shown)),
        comparisons=tuple(_comparisons(order, kept)),
        questions=tuple(_questions(order, told)),
        alphas=tuple(_alphas(order, told)),
    )


def mean_of(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and its standard error; None for the error of a single value.

    Examples
    --------
    >>> mean_of([1.0, 2.0, 3.0])
    (2.0, 0.5773502691896257)
    """
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(variance / len(values))


def _pace(given: Sequence[Response]) -> float:
    # Without a time the page was never asked for: its answer was sent by a program, at once.
    return math.fsum(response.seconds or 0.0 for response in given) / len(given)


def _values(measure: str, model: str, group: str, people: dict[int, list[Response]]) -> list[float]:
    """Return each participant's own mean."""
    values = []
    for given in people.values():
        answered = [
            float(response.ease or 0) if measure == "ease" else float(response.agrees)
            for response in given
            if response.task == _TASK[measure]
            and response.model == model
            and group in (response.kind, EVERYONE)
            and (measure != "ease" or response.ease is not None)
        ]
        if answered:
            values.append(math.fsum(answered) / len(answered))
    return values


def _means(
    models: Sequence[str], people: dict[int, list[Response]], machines: dict[int, list[Response]]
) -> Iterator[Mean]:
    groups = [*((group, people) for group in (*_GROUPS, EVERYONE)), (AUTOMATIC, machines)]
    for measure in MEASURES:
        for group, whose in groups:
            for model in models:
                if values := _values(measure, model, group, whose):
                    mean, error = mean_of(values)
                    guessing = _chance(measure, model, whose)
                    yield Mean(measure, model, group, len(values), mean, error, guessing)


def _chance(measure: str, model: str, people: dict[int, list[Response]]) -> float | None:
    if measure == "ease":
        return None
    shares = {
        response.question: 1 / response.n_options
        for given in people.values()
        for response in given
        if response.task == _TASK[measure] and response.model == model
    }
    return math.fsum(shares.values()) / len(shares)


def _comparisons(models: Sequence[str], people: dict[int, list[Response]]) -> Iterator[Comparison]:
    for measure in MEASURES:
        for group in (*_GROUPS, EVERYONE):
            for left, right in combinations(models, 2):
                samples = [_values(measure, model, group, people) for model in (left, right)]
                yield from _compared(measure, group, left, right, *samples)
        for model in models:
            samples = [_values(measure, model, group, people) for group in _GROUPS]
            yield from _compared(measure, model, *_GROUPS, *samples)


def _compared(
    measure: str, within: str, left: str, right: str, first: list[float], second: list[float]
) -> Iterator[Comparison]:
    if not first or not second:
        return
    (mean, error), (other, other_error) = mean_of(first), mean_of(second)
    # The squared standard errors; the one value of a sample that does not vary is no trouble.
    a, b = (error or 0.0) ** 2, (other_error or 0.0) ** 2
    n, m = len(first), len(second)
    if min(n, m) < 2 or a + b == 0:
        yield Comparison(measure, within, left, right, mean - other, None, None, None)
        return
    from scipy.stats import ttest_ind_from_stats

    deviations = math.sqrt(a * n), math.sqrt(b * m)
    test = ttest_ind_from_stats(mean, deviations[0], n, other, deviations[1], m, equal_var=False)
    df = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1))
    figures = float(test.statistic), df, float(test.pvalue)
    yield Comparison(measure, within, left, right, mean - other, *figures)


def _questions(models: Sequence[str], told: Iterable[Response]) -> Iterator[QuestionFigures]:
    for model, answers in _by_question(models, told):
        first = answers[0]
        share, error = mean_of([float(response.agrees) for response in answers])
        ranked = Counter(response.choice for response in answers).most_common(2)
        is_tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
        consensus = None if is_tied else ranked[0][0]
        times = sorted(response.seconds for response in answers if response.seconds is not None)
        yield QuestionFigures(
            first.question,
            model,
            first.task,
            len(answers),
            share,
            error,
            consensus,
            consensus == first.expected,
            times[len(times) // 2] if times else None,
        )


def _alphas(models: Sequence[str], told: Sequence[Response]) -> Iterator[Alpha]:
    for measure in MEASURES:
        for model in models:
            asked = [
                answers
                for name, answers in _by_question([model], told)
                if answers[0].task == _TASK[measure]
            ]
            if not asked:
                continue
            if measure == "ease":
                rated = [[r.ease for r in answers if r.ease is not None] for answers in asked]
                alpha = krippendorff_alpha(rated, "interval")
                yield Alpha(measure, model, "interval", len(asked), alpha)
            else:
                chosen = [[response.choice for response in answers] for answers in asked]
                alpha = krippendorff_alpha(chosen)
                yield Alpha(measure, model, "nominal", len(asked), alpha)


def _by_question(
    models: Sequence[str], told: Iterable[Response]
) -> Iterator[tuple[str, list[Response]]]:
    asked: dict[tuple[str, str], list[Response]] = defaultdict(list)
    for response in told:
        asked[response.model, response.question].append(response)
    for model in models:
        names = sorted((name for owner, name in asked if owner == model), key=_in_order)
        for name in names:
            yield model, asked[model, name]


def _in_order(question: str) -> tuple[str, int, str]:
    """Sort question 10 after question 9."""
    head, _, number = question.rpartition("/")
    return head, int(number) if number.isdecimal() else 0, number
