"""The report of a model: all that it tells, as one self-contained page or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from protorynet.audit import Audit, LabelledDocuments, audit_model, counted, share_of
from protorynet.automaton import Automaton
from protorynet.errors import name_rows
from protorynet.explain import (
    SURE,
    Evaluation,
    Overview,
    Slice,
    documents_at,
    find_slices,
    learn_automaton,
    overview_model,
)
from protorynet.model import Model
from protorynet.reading import Reading
from protorynet.report import report_charts as charts
from protorynet.report.automaton_drawing import automaton_svg
from protorynet.report.console_views import pattern_sentence
from protorynet.report.conventions import (
    has_families,
    pick_steps,
    printable,
    scale_of_prototypes,
    shorten,
)
from protorynet.report.figure_views import audit_fragment
from protorynet.report.html_pages import render
from protorynet.report.trajectory_drawing import write_view

if TYPE_CHECKING:
    from protorynet.explain import Explanation

LARGEST_PAGE = 2_000_000  # bytes; with less shown a page is kept below

_MOST_AUTOMATA = 4
_ONE_IN = 5  # documents kept for measuring automata where there are no training documents
_FEWEST_TO_SPLIT = 20
_WIDE, _NARROW = 960, 330
_MOST_STEPS = 40  # of a longer document the sentences are listed that mattered most
_MOST_FOR_BOTH, _MOST_FOR_PICTURE = 60, 150  # sentences of a document that is drawn twice, or once
_MOST_PROTOTYPES = 120
_MOST_FIRST = 4  # sentences of the text that the first screen reads
_MOST_MISTAKES, _MOST_EXAMPLES = 3, 2
_FEW_STATES = 5  # charts of so many states stand side by side
_MOST_NAMED = 6  # classes that a sentence lists


@dataclass(frozen=True)
class FullReport:
    """A model, to be understood and judged by someone who has never seen it.

    There is an automaton for each of the most frequent answers; no audit where the training
    documents were not given. The `provenance` is what is needed to make the report again.
    """

    title: str
    model: Model
    overview: Overview
    evaluation: Evaluation
    automata: tuple[Automaton, ...]
    slices: tuple[Slice, ...]
    audit: Audit | None
    provenance: tuple[tuple[str, str], ...]


def compile_report(
    model: Model,
    evaluation: Evaluation,
    test: LabelledDocuments,
    train: LabelledDocuments | None = None,
    *,
    title: str,
    provenance: tuple[tuple[str, str], ...] = (),
) -> FullReport:
    """Put together all that a report holds; without `train` there is no audit.

    `provenance` is what is needed to make the report again.
    """
    measured = documents_at(test, np.flatnonzero(test.sentences.filled))
    reading = model.read(model.match(measured.embeddings, measured.sentences.lengths))
    return FullReport(
        title,
        model,
        overview_model(model, test, mistakes=_MOST_MISTAKES, examples=_MOST_EXAMPLES),
        evaluation,
        _choose_automata(model, reading, train),
        find_slices(model, measured, reading),
        None
        if train is None
        else audit_model(model, train, test, floor=evaluation.bag_of_words_accuracy),
        provenance,
    )


def _choose_automata(
    model: Model, measuring: Reading, train: LabelledDocuments | None
) -> tuple[Automaton, ...]:
    """Return an automaton for each of the most frequent answers: the model's own, or new ones."""
    given = model.labels.decide(measuring.probabilities).sum(axis=0)
    frequent = [label for label in np.argsort(-given, kind="stable").tolist() if given[label]]
    frequent = frequent[:_MOST_AUTOMATA]
    if model.automata:
        return tuple(model.automata[label] for label in frequent)
    if train is not None and train.sentences.filled.any():
        filled = documents_at(train, np.flatnonzero(train.sentences.filled))
        learning = model.match(filled.embeddings, filled.sentences.lengths)
        held_out: Reading | None = measuring
    elif len(measuring.lengths) < _FEWEST_TO_SPLIT:
        learning, held_out = measuring, None
    else:
        is_kept = np.arange(len(measuring.lengths)) % _ONE_IN == _ONE_IN - 1
        learning, held_out = measuring.part(~is_kept), measuring.part(is_kept)
    names = model.labels.names
    return tuple(
        learn_automaton(model, learning, names[label], held_out=held_out) for label in frequent
    )


def write_report(report: FullReport, path: Path, *, as_markdown: bool = False) -> None:
    """Write a report as Markdown, or as a page of what fits into `LARGEST_PAGE`."""
    template = "report.md" if as_markdown else "report_page.html"
    written = ""
    for most, most_members in ((8, None), (3, 25), (1, 5), (0, 3)):
        written = render(template, **_fill(_limit(report, most), most_members))
        if as_markdown or len(written.encode()) <= LARGEST_PAGE:
            break
    write_view(path, written, "page")


def _limit(report: FullReport, most: int) -> FullReport:
    """Return the report with so many mistakes, examples, and sentences like each prototype."""
    overview = report.overview
    fewer = replace(
        overview,
        mistakes=overview.mistakes[:most],
        examples=overview.examples[:most],
        prototypes=tuple(
            replace(each, nearest=each.nearest[: max(most, 1)]) for each in overview.prototypes
        ),
    )
    return replace(report, overview=fewer)


def _fill(report: FullReport, most_members: int | None) -> dict[str, Any]:
    """Return what the templates of a report name; of each prototype so many members are listed."""
    overview, model = report.overview, report.model
    measured = {each.name: each.value for each in report.evaluation.measures}
    values: dict[str, Any] = {
        "report": report,
        "overview": overview,
        "alone": measured.get("ids_only_accuracy"),
        "strange": measured.get("unfamiliar_sentences"),
        "families": has_families(model.prototypes),
        "most_members": most_members,
        "severities": [each.severity for each in report.audit.findings] if report.audit else [],
        "sure": SURE,
        "n_first": _MOST_FIRST,
        "scale": scale_of_prototypes(model.prototypes),
        "shown_prototypes": overview.prototypes[:_MOST_PROTOTYPES],
        "figures_of": {e.prototype.id: e for e in overview.prototypes[:_MOST_PROTOTYPES]},
        "figures": report.evaluation,
        "calibration_axes": _name_calibration_axes(overview),
        "counted": counted,
        "for_page": _cut_sentences,
        "listed": _list_names,
        "named": _name,
        "pattern_sentence": lambda pattern: pattern_sentence(pattern, model.prototypes),
        "picture_sizes": _picture_sizes,
        "rows": name_rows,
        "share_of": share_of,
        "steps": partial(pick_steps, most=_MOST_STEPS),
        "has_small_automata": all(len(each.states) <= _FEW_STATES for each in report.automata),
        "charts": _draw_charts(report),
        "audit_html": Markup(audit_fragment(report.audit)) if report.audit else None,  # noqa: S704
        "settings": model.settings.to_toml(),
        "edits": model.edits.entries,
    }
    summary = render("report_summary.txt", **values).split("\n")
    values["opening"], *values["points"] = filter(None, summary)
    return values


def _list_names(names: Sequence[str], last: str = "or") -> str:
    """Return names in quotes as a sentence lists them; of many, the first few."""
    quoted = [f"“{_name(name)}”" for name in names]
    if len(quoted) > _MOST_NAMED:
        return f"{', '.join(quoted[:_MOST_NAMED])} and {len(quoted) - _MOST_NAMED} others"
    if len(quoted) == 1:
        return quoted[0]
    return f"{', '.join(quoted[:-1])} {last} {quoted[-1]}"


def _name(label: str) -> str:
    return shorten(printable(label), 40)


def _draw_charts(report: FullReport) -> dict[str, Any]:
    """Return the charts as markup: every text in them was escaped when they were drawn."""
    overview, prototypes = report.overview, report.model.prototypes
    scale = scale_of_prototypes(prototypes)
    said, observed = _name_calibration_axes(overview)
    reliability, confusion = report.evaluation.reliability, report.evaluation.confusion
    drawn: dict[str, Any] = {
        "calibration": charts.calibration_chart(reliability, said=said, observed=observed),
        "confusion": None,
        "pruning": None,
    }
    for size, width in (("wide", _WIDE), ("narrow", _NARROW)):
        drawn[f"usage_{size}"] = charts.usage_chart(overview.prototypes, scale, width=width)
    if confusion is not None and len(confusion) <= charts.MOST_CLASSES:
        drawn["confusion"] = charts.confusion_chart(overview.classes, np.array(confusion))
    if len(overview.curve) > 1:
        drawn["pruning"] = charts.pruning_chart(overview.curve, len(prototypes))
    marked: dict[str, Any] = {name: chart and Markup(chart) for name, chart in drawn.items()}  # noqa: S704
    drawings = (automaton_svg(each, prototypes, listed=False) for each in report.automata)
    marked["automata"] = [Markup(each) for each in drawings]  # noqa: S704
    return marked


def _name_calibration_axes(overview: Overview) -> tuple[str, str]:
    if overview.task == "multilabel":
        return "probability of a label", "share that have it"
    if len(overview.classes) == 2:
        name = printable(overview.classes[1])
        return f"probability of {name}", f"share labelled {name}"
    return "probability of the answer", "share that is right"


def _cut_sentences(explanation: Explanation) -> Explanation:
    """Return an explanation without the length of very long sentences."""
    steps = tuple(
        replace(
            step,
            text=shorten(step.text),
            prototype_sentence=shorten(step.prototype_sentence),
            headline=shorten(step.headline),
            runner_up_sentence=None,
        )
        for step in explanation.sentences
    )
    return replace(explanation, document=shorten(explanation.document), sentences=steps)


def _picture_sizes(explanation: Explanation) -> list[tuple[str, int, int]]:
    """Return name, width and height of the pictures of a trajectory; none of a very long one."""
    n = len(explanation.sentences)
    if n > _MOST_FOR_PICTURE:
        return []
    if n > _MOST_FOR_BOTH:
        return [("pn-only", 960, 250)]
    return [("pn-wide", 960, 250), ("pn-narrow", 360, 210)]
