"""The report of a model: one self-contained page, or Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from protorynet.explain import SHORT, calibration_error
from protorynet.report import summary
from protorynet.report.auditing import audit_fragment
from protorynet.report.automaton import automaton_svg
from protorynet.report.automaton_words import pattern_sentence
from protorynet.report.charts import calibration_chart, pruning_chart, usage_chart
from protorynet.report.compiling import FullReport
from protorynet.report.heat_maps import MOST_CLASSES, confusion_chart, transitions_chart
from protorynet.report.pages import render, write_page
from protorynet.report.scale import scale_of_prototypes
from protorynet.report.wording import measure_title, measure_value, percent, printable, score

if TYPE_CHECKING:
    from protorynet.automaton import Pattern
    from protorynet.explain import Explanation, Misled, Mistake, SentenceExplanation

__all__ = ["LARGEST", "report_markdown", "report_page", "write_report"]

LARGEST = 2_000_000
"""Most bytes of a page; with less shown it is kept below."""

_WIDE, _NARROW = 960, 330
_LONGEST = 400  # characters of a sentence shown
_MOST_STEPS = 40  # of a longer document the sentences are listed that mattered most
_MOST_FOR_BOTH, _MOST_FOR_PICTURE = 60, 150  # sentences of a document that is drawn twice, or once
_MOST_PROTOTYPES = 120
_MOST_FIRST = 4  # sentences of the text that the first screen reads
_MOST_MISLED = 8  # beginnings, and as many answers that no beginning decides
_FEW_STATES = 5  # charts of so many states stand two in a row
_SPECIAL = re.compile(r"([\\`*_\[\]|~$#])")


def write_report(report: FullReport, path: Path, *, as_markdown: bool = False) -> None:
    """Write a report as a page that needs nothing else, or as Markdown."""
    write_page(path, report_markdown(report) if as_markdown else report_page(report))


def report_page(report: FullReport) -> str:
    """Return the report as a self-contained page; no more is shown than fits into `LARGEST`."""
    page = ""
    for most in (8, 3, 1, 0):
        page = render("report_page.html", **_content(_with_most(report, most)))
        if len(page.encode()) <= LARGEST:
            break
    return page


def report_markdown(report: FullReport) -> str:
    """Return the report as Markdown, its figures as tables."""
    content = _content(_with_most(report, 8))
    return _markdown_environment().get_template("report.md").render(**content)


def _with_most(report: FullReport, most: int) -> FullReport:
    overview = report.overview
    nearest = max(most, 1)
    fewer = replace(
        overview,
        mistakes=overview.mistakes[:most],
        examples=overview.examples[:most],
        prototypes=tuple(
            replace(each, nearest=each.nearest[:nearest]) for each in overview.prototypes
        ),
    )
    return replace(report, overview=fewer)


def _content(report: FullReport) -> dict[str, Any]:
    overview = report.overview
    scale = scale_of_prototypes(report.model.prototypes)
    return {
        "report": report,
        "overview": overview,
        "opening": summary.opening(report),
        "facts": summary.facts(report),
        "points": summary.points(report),
        "n_first": _MOST_FIRST,
        "misled": _misled(report),
        "scale": scale,
        "shown_prototypes": overview.prototypes[:_MOST_PROTOTYPES],
        "short_words": SHORT,
        "calibration_error": calibration_error(overview.reliability),
        "calibration_axes": _calibration_axes(report),
        "confusions": _confusions(report),
        "cut": _cut,
        "rows": _rows,
        "steps": _steps,
        "picture_sizes": _picture_sizes,
        "pattern_of": lambda mistake: _pattern_of(report, mistake),
        "pattern_sentence": lambda pattern: pattern_sentence(pattern, report.model.prototypes),
        "for_page": _for_page,
        "has_small_automata": all(len(each.states) <= _FEW_STATES for each in report.automata),
        "charts": _charts(report),
        "audit_html": None if report.audit is None else Markup(audit_fragment(report.audit)),  # noqa: S704
        "settings": report.model.settings.to_toml(),
        "edits": report.model.edits.entries,
    }


def _charts(report: FullReport) -> dict[str, Any]:
    """Return the charts as markup: every text in them was escaped when they were drawn."""
    overview = report.overview
    scale = scale_of_prototypes(report.model.prototypes)
    items = [each.prototype for each in overview.prototypes]
    said, observed = _calibration_axes(report)
    drawn: dict[str, Any] = {
        "calibration": calibration_chart(overview.reliability, said=said, observed=observed),
        "usage_wide": usage_chart(overview.prototypes, scale, width=_WIDE),
        "usage_narrow": usage_chart(overview.prototypes, scale, width=_NARROW),
        "transitions_wide": transitions_chart(items, overview.transitions, width=_WIDE),
        "transitions_narrow": transitions_chart(items, overview.transitions, width=_NARROW),
        "confusion": None,
        "pruning": None,
    }
    if overview.confusion is not None and len(overview.classes) <= MOST_CLASSES:
        drawn["confusion"] = confusion_chart(overview.classes, overview.confusion)
    if overview.curve:
        drawn["pruning"] = pruning_chart(overview.curve, len(items))
    marked = {name: chart and Markup(chart) for name, chart in drawn.items()}  # noqa: S704
    drawings = (
        automaton_svg(each, report.model.prototypes, listed=False) for each in report.automata
    )
    marked["automata"] = [Markup(each) for each in drawings]  # noqa: S704
    return marked


def _calibration_axes(report: FullReport) -> tuple[str, str]:
    overview = report.overview
    if overview.task == "multilabel":
        return "probability of a label", "share that have it"
    if len(overview.classes) == 2:
        name = printable(overview.classes[1])
        return f"probability of {name}", f"share labelled {name}"
    return "probability of the answer", "share that is right"


def _confusions(report: FullReport) -> list[tuple[str, str, int]]:
    """Return the most frequent confusions: true class, predicted class, how often."""
    overview = report.overview
    if overview.confusion is None:
        return []
    names = overview.classes
    found = [
        (names[row], names[column], int(overview.confusion[row, column]))
        for row in range(len(names))
        for column in range(len(names))
        if row != column and overview.confusion[row, column]
    ]
    return sorted(found, key=lambda each: -each[2])[:8]


def _misled(report: FullReport) -> list[Misled]:
    """Return the reasons for wrong answers that are shown; of many, the most frequent."""
    beginnings = [each for each in report.misled if each.pattern is not None]
    others = [each for each in report.misled if each.pattern is None]
    return beginnings[:_MOST_MISLED] + others[:_MOST_MISLED]


def _cut(text: str, limit: int = _LONGEST) -> str:
    """Return the text, or its beginning where it is very long."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _rows(rows: Sequence[int], most: int = 4) -> str:
    named = ", ".join(str(row) for row in rows[:most])
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"row{'s' if len(rows) > 1 else ''} {named}{more}"


def _for_page(explanation: Explanation) -> Explanation:
    """Return an explanation without the length of very long sentences."""
    steps = tuple(
        replace(
            step,
            text=_cut(step.text),
            prototype_sentence=_cut(step.prototype_sentence),
            runner_up_sentence=None,
        )
        for step in explanation.sentences
    )
    return replace(explanation, document=_cut(explanation.document), sentences=steps)


def _steps(explanation: Explanation) -> list[tuple[int, SentenceExplanation]]:
    """Return the sentences with their numbers; of many, those that mattered most."""
    numbered = list(enumerate(explanation.sentences, start=1))
    if len(numbered) <= _MOST_STEPS:
        return numbered
    most = sorted(numbered, key=lambda each: (-abs(each[1].effect), each[0]))[:_MOST_STEPS]
    return sorted(most)


def _picture_sizes(explanation: Explanation) -> list[tuple[str, int, int]]:
    """Return name, width and height of the pictures of a trajectory; none of a very long one."""
    n = len(explanation.sentences)
    if n > _MOST_FOR_PICTURE:
        return []
    if n > _MOST_FOR_BOTH:
        return [("pn-only", 960, 250)]
    return [("pn-wide", 960, 250), ("pn-narrow", 360, 210)]


def _pattern_of(report: FullReport, mistake: Mistake) -> Pattern | None:
    """Return the pattern by which the automaton, too, gives the wrong answer."""
    for automaton in report.automata:
        if automaton.label == mistake.wrong_class and mistake.given:
            columns = [
                automaton.prototypes.index(step.prototype) for step in mistake.explanation.sentences
            ]
            return automaton.deciding_pattern(columns)
    return None


@cache
def _markdown_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("protorynet.report"),
        autoescape=False,  # noqa: S701 - every value is escaped for Markdown instead
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_markdown_text,
    )
    environment.filters.update(
        measure_title=measure_title, measure_value=measure_value, percent=percent, score=score
    )
    return environment


def _markdown_text(value: object) -> str:
    """Return a value as one line that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", escape(printable(str(value)), quote=False))
