"""How right a model is, and how far its reasons can be trusted, in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from protorynet.report.console_views import print_hanging
from protorynet.report.conventions import (
    choose_classes,
    format_measure,
    format_percent,
    list_figures,
    measure_title,
    printable,
    shorten,
)

if TYPE_CHECKING:
    from rich.console import Console

    from protorynet.explain import Evaluation
    from protorynet.figures import Figures

_FEW_CLASSES = 8  # shown all, with their confusion matrix
_SHOWN_CONFUSIONS = 5
_LONGEST_CLASS = 28
_ANSWER_STYLES = {"yes": "bold green", "mostly": "bold yellow", "no": "bold red"}


def print_evaluation(evaluation: Evaluation, console: Console, *, verbose: bool = False) -> None:
    """Print how right a model is, then a verdict on its reasons; `verbose`: every measure too."""
    print_figures(evaluation, console)
    read = f"on {evaluation.n_documents:,} documents with {evaluation.n_prototypes:,} prototypes"
    if evaluation.n_members > evaluation.n_prototypes:
        read += f" of {evaluation.n_members:,} sentences"
    console.print(Text(read, style="dim"))
    print_warnings(evaluation, console)
    console.print()
    print_classes(evaluation, console, verbose=verbose)
    if evaluation.verdicts:
        console.print(Text("Can its reasons be trusted?", style="bold"))
    for verdict in evaluation.verdicts:
        value = f"{measure_title(verdict.measure.name)} {format_measure(verdict.measure.value)}"
        console.print(
            Text.assemble(
                f"  {verdict.claim}: ",
                (verdict.answer, _ANSWER_STYLES[verdict.answer]),
                (f"  ({value})", "dim"),
            ),
            soft_wrap=True,
        )
    if verbose:
        _print_measures(evaluation, console)


def print_figures(figures: Figures, console: Console) -> None:
    """Print accuracy with its interval, the floors, and the other figures of the whole."""
    accuracy, *others = (f"{name} {value}" for name, value in list_figures(figures))
    console.print(Text(printable(accuracy, console.encoding), style="bold"), soft_wrap=True)
    print_hanging(console, "", Text("  ".join(others)))


def print_warnings(figures: Figures, console: Console) -> None:
    """Print what the accuracy hides."""
    for warning in figures.warnings:
        body = Text(printable(warning, console.encoding))
        print_hanging(console, Text("Warning: ", style="bold yellow"), body)


def print_classes(figures: Figures, console: Console, *, verbose: bool = False) -> None:
    """Print recall, precision and F1 per class, and the confusions; of many classes the worst."""
    every = len(figures.classes)
    shown = choose_classes(figures, every if verbose else _FEW_CLASSES)
    has_matrix = figures.confusion is not None and every <= _FEW_CLASSES
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Class", no_wrap=True)
    for head in ("Documents", "Recall", "Precision", "F1"):
        table.add_column(head, justify="right", no_wrap=True)
    for each in figures.classes if has_matrix else ():
        head = f"as {shorten(_name(each.name, console), 12)}"
        table.add_column(Text(head), justify="right", style="dim")
    for number, each in enumerate(shown):
        rates = [
            None if rate is None else format_percent(rate) for rate in (each.recall, each.precision)
        ]
        cells = [*rates, None if each.f1 is None else f"{each.f1:.2f}"]
        cells += map(str, figures.confusion[number]) if has_matrix and figures.confusion else []
        table.add_row(
            Text(_name(each.name, console)), f"{each.n_true:,}", *(c or "-" for c in cells)
        )
    console.print(table)
    if len(shown) < every:
        note = f"The {len(shown)} of {every} classes with the lowest recall; --verbose lists all."
        console.print(Text(note, style="dim"))
    confusions = [] if has_matrix else figures.confusions[: None if verbose else _SHOWN_CONFUSIONS]
    for truth, answer, count in confusions:
        line = f"{count:>5,}  {_name(truth, console)} taken for {_name(answer, console)}"
        console.print(Text(line), soft_wrap=True)
    console.print()


def _name(name: str, console: Console) -> str:
    return shorten(printable(name, console.encoding), _LONGEST_CLASS)


def _print_measures(evaluation: Evaluation, console: Console) -> None:
    console.print()
    console.print(Text("How faithful the explanations are", style="bold"))
    values = [format_measure(measure.value) for measure in evaluation.measures]
    widest = max(map(len, values), default=0)
    for value, measure in zip(values, evaluation.measures, strict=True):
        console.print()
        title = Text(printable(measure_title(measure.name), console.encoding), style="bold")
        print_hanging(console, f"{value:>{widest}}  ", title)
        meaning = Text(printable(measure.meaning, console.encoding), style="dim")
        print_hanging(console, " " * (widest + 2), meaning)
