"""A report's first screen, in words for someone who was never told what a prototype is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from protorynet.audit import counted, share_of
from protorynet.explain import SURE
from protorynet.report.automaton_words import pattern_sentence
from protorynet.report.wording import printable, shorten

if TYPE_CHECKING:
    from protorynet.report.compiling import FullReport

__all__ = ["Fact", "facts", "listed", "opening", "points"]

_MOST_NAMED = 6
_FEWEST_MISLED = 3
_SAME_REASON, _MOST_OF_REASON = 0.01, 0.03  # accuracy lost without the similarities


def listed(names: Sequence[str], last: str = "or") -> str:
    """Return names in quotes as a sentence lists them; of many, the first few.

    Examples
    --------
    >>> listed(["good", "bad"]), listed(["a", "b", "c"])
    ('“good” or “bad”', '“a”, “b” or “c”')
    """
    quoted = [f"“{shorten(printable(name), 40)}”" for name in names]
    if len(quoted) > _MOST_NAMED:
        return f"{', '.join(quoted[:_MOST_NAMED])} and {len(quoted) - _MOST_NAMED} others"
    if len(quoted) == 1:
        return quoted[0]
    return f"{', '.join(quoted[:-1])} {last} {quoted[-1]}"


def opening(report: FullReport) -> str:
    """Return what the model is and does, in three sentences."""
    overview = report.overview
    names, n = listed(overview.classes), len(report.model.prototypes)
    asked = (
        f"says which of the labels {listed(overview.classes, 'and')} it has"
        if overview.task == "multilabel"
        else f"says whether it is {names}"
    )
    if not overview.has_texts:
        return (
            f"This model reads a sequence of vectors step by step and {asked}. Each step is "
            f"matched to the one of {n} steps of its training data, the prototypes, that it is "
            "most like. The model decides from this sequence of matches. It was given vectors in "
            "place of texts, so steps are named by their places: there are no words to show."
        )
    return (
        f"This model reads a text sentence by sentence and {asked}. For every sentence it looks "
        f"up which of {n} real sentences, kept from the texts it learnt from, is most like it. "
        f"These {n} sentences are its prototypes. It decides from the sequence of matches, so "
        "every decision can be followed sentence by sentence, and contested."
    )


@dataclass(frozen=True)
class Fact:
    """A headline figure.

    Parameters
    ----------
    value, name
        The figure as it is written, and what it is.
    section
        The part of the report that tells more.
    is_alarming
        Whether it should be read before all others.
    """

    value: str
    name: str
    section: str
    is_alarming: bool = False


def facts(report: FullReport) -> tuple[Fact, ...]:
    """Return the headline figures."""
    overview = report.overview
    tested = _documents(report, overview.n_documents)
    found = [Fact(f"{overview.accuracy:.1%}", f"of {tested} labelled rightly", "figures")]
    if overview.baseline is not None:
        name = "would be right by always giving the most frequent answer"
        found.append(Fact(f"{overview.baseline:.1%}", name, "figures"))
    found.append(Fact(f"{len(report.model.prototypes):,}", "prototypes to think in", "prototypes"))
    alone = _measure(report, "ids_only_accuracy")
    if alone is not None:
        name = "right from the matches alone, without how close they are"
        found.append(Fact(f"{alone:.1%}", name, "trust"))
    if report.audit is not None:
        serious = sum(each.severity == "serious" for each in report.audit.findings)
        name = f"serious finding{'s' * (serious != 1)} of the audit"
        found.append(Fact(str(serious), name, "audit", is_alarming=serious > 0))
    return tuple(found)


def points(report: FullReport) -> tuple[str, ...]:
    """Return what the report finds, a plain sentence or two each."""
    return tuple(_points(report))


def _points(report: FullReport) -> Iterator[str]:
    overview = report.overview
    n = overview.n_documents
    yield (
        f"Of {_documents(report, n)} to test it, it labels {overview.n_right:,} rightly: "
        f"{overview.accuracy:.1%}." + _beside_guessing(report)
    )
    if overview.n_sure:
        yield (
            f"Of its {overview.n_sure:,} answers that are at least {SURE:.0%} sure, "
            f"{overview.n_sure_right:,} are right "
            f"({share_of(overview.n_sure_right, overview.n_sure)})."
        )
    yield from _weakest(report)
    yield from _reasons(report)
    if report.automata:
        best = report.automata[0]
        yield (
            f"What it does can be drawn: a chart of {counted(len(best.states), 'state')} decides "
            f"“{shorten(printable(best.label), 40)}” or not as the model does for "
            f"{100 * best.fidelity:.1f}% of the texts it was measured on."
        )
    yield from _misleading(report)
    yield from _edited(report)
    yield _audited(report)


def _beside_guessing(report: FullReport) -> str:
    baseline = report.overview.baseline
    if baseline is None:
        return " A text counts as right if all its labels are."
    frequent = max(report.overview.class_figures, key=lambda each: each.n_true)
    name = shorten(printable(frequent.name), 40)
    return f" Always answering “{name}” would be right for {baseline:.1%}."


def _weakest(report: FullReport) -> Iterator[str]:
    asked = [each for each in report.overview.class_figures if each.n_true]
    never = [each.name for each in asked if not each.n_predicted]
    if never:
        yield f"It never answers {listed(never)}, though some of the texts are labelled so."
    found = [each for each in asked if each.n_predicted]
    if len(found) > 1:
        worst = min(found, key=lambda each: each.n_both / each.n_true)
        yield (
            f"It is weakest on “{shorten(printable(worst.name), 40)}”: of "
            f"{_documents(report, worst.n_true)} labelled so it finds {worst.n_both:,} "
            f"({share_of(worst.n_both, worst.n_true)})."
        )


def _reasons(report: FullReport) -> Iterator[str]:
    alone = _measure(report, "ids_only_accuracy")
    if alone is None:
        return
    lost = report.overview.accuracy - alone
    verdict = "the matches shown here are practically the whole reason"
    if lost > _MOST_OF_REASON:
        verdict = "the matches shown here are not the whole reason"
    elif lost > _SAME_REASON:
        verdict = "the matches shown here are most of the reason"
    yield (
        f"Told nothing but which prototype each sentence is matched to, it is right for "
        f"{alone:.1%}: {verdict} for its answers."
    )


def _misleading(report: FullReport) -> Iterator[str]:
    worst = next(iter(report.misled), None)
    if worst is not None and worst.pattern is not None and worst.n_wrong >= _FEWEST_MISLED:
        yield (
            f"The beginning that misleads it most: a text that "
            f"{pattern_sentence(worst.pattern, report.model.prototypes)}. So begin "
            f"{worst.n_wrong:,} of its {_wrong(report):,} mistakes."
        )


def _wrong(report: FullReport) -> int:
    return report.overview.n_documents - report.overview.n_right


def _edited(report: FullReport) -> Iterator[str]:
    edits = report.model.edits.standing
    if not edits:
        return
    retrained = [each.retraining for each in edits if each.retraining is not None]
    told = f"Its prototypes were edited by hand ({counted(len(edits), 'edit')})"
    if not retrained:
        yield f"{told}; its reader was not trained again."
        return
    yield (
        f"{told}: accuracy on training texts held out was {retrained[0].accuracy_before:.1%} "
        f"before and is {retrained[-1].accuracy_after:.1%} after."
    )


def _audited(report: FullReport) -> str:
    if report.audit is None:
        return (
            "It was not audited, because the texts that it was made from were not given: whether "
            "the test texts are new to it is not known."
        )
    kinds = [each.severity for each in report.audit.findings]
    serious, warnings = kinds.count("serious"), kinds.count("warning")
    if not serious and not warnings:
        return "The audit of the model and its data found nothing to warn of."
    found = [
        counted(count, name)
        for count, name in ((serious, "serious finding"), (warnings, "warning"))
        if count
    ]
    return (
        f"The audit of the model and its data has {' and '.join(found)}: read them before you "
        "trust the figures above."
    )


def _documents(report: FullReport, count: int) -> str:
    return counted(count, "text" if report.overview.has_texts else "sequence")


def _measure(report: FullReport, name: str) -> float | None:
    named = (each.value for each in report.evaluation.measures if each.name == name)
    return next(named, None)
