"""How right a model is, how far its reasons can be trusted, and what an audit found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from protorynet.audit import counted
from protorynet.errors import name_rows
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
from protorynet.report.html_pages import render

if TYPE_CHECKING:
    from rich.console import Console

    from protorynet.audit import Audit, Finding
    from protorynet.explain import Evaluation
    from protorynet.figures import Figures


_FEW_CLASSES = 8  # shown all, with their confusion matrix
_SHOWN_CONFUSIONS = 5
_LONGEST_CLASS = 28
_ANSWER_STYLES = {"yes": "bold green", "mostly": "bold yellow", "no": "bold red"}
_MOST_EXAMPLES = 5
_STYLES = {"serious": "bold red", "warning": "bold yellow", "note": "bold"}
_ROWS = "Rows are numbered as in a spreadsheet: the headings are row 1. --json gives all evidence."
_NOTHING = "Nothing to report: none of the checks found a problem."


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


def print_audit(audit: Audit, console: Console) -> None:
    """Print the findings, most serious first, each with a few examples."""
    console.print(Text(_headline(audit), style="bold"))
    if not audit.findings:
        console.print(_NOTHING)
        return
    indent = " " * len("serious  ")
    bullet = Text(indent + ("- " if console.options.ascii_only else "· "), style="dim")
    for finding in audit.findings:
        console.print()
        lead = Text(f"{finding.severity.upper():<{len(indent)}}", style=_STYLES[finding.severity])
        print_hanging(console, lead, Text(finding.title, style="bold"))
        print_hanging(console, indent, Text(printable(finding.message, console.encoding)))
        for line in _list_examples(finding):
            print_hanging(console, bullet, Text(printable(line, console.encoding), style="dim"))
    console.print()
    print_hanging(console, "", Text(_ROWS, style="dim"))


def audit_fragment(audit: Audit) -> str:
    """Return the findings as static HTML, with the evidence folded away."""
    findings = [(finding, list(_list_examples(finding))) for finding in audit.findings]
    values = {"headline": _headline(audit), "findings": findings, "nothing": _NOTHING}
    return render("audit_fragment.html", **values)


def _headline(audit: Audit) -> str:
    severities = [finding.severity for finding in audit.findings]
    names = {"serious": "serious finding", "warning": "warning", "note": "note"}
    counts = [counted(severities.count(s), name) for s, name in names.items() if s in severities]
    found = ", ".join(counts) or "No findings"
    return f"{found} on {audit.n_train:,} training and {audit.n_test:,} test documents"


def _list_examples(finding: Finding) -> Iterator[str]:
    """Yield a few examples, each on one line."""
    examples: list[dict[str, Any]] = finding.evidence.get("examples", [])
    for example in examples[:_MOST_EXAMPLES]:
        yield _format_example(example)
    if len(examples) > _MOST_EXAMPLES:
        yield f"and {len(examples) - _MOST_EXAMPLES} more in the evidence"


def _format_example(example: dict[str, Any]) -> str:
    where = _locate(example)
    line = f"{where}: {example['text']}" if where else str(example["text"])
    if "train_text" in example:
        line += (
            f" (training {name_rows([example['train_row']])}, likeness {example['likeness']:.2f})"
        )
    if "predicted" in example:
        line += (
            f" (labelled {example['label']}, predicted {example['predicted']} at "
            f"{format_percent(example['probability'])}; weighs most: {example['sentence']})"
        )
    if repeated := example.get("repeated"):
        line += f" (for example: {repeated[0]})"
    if "times" in example:
        line += " (once" if example["times"] == 1 else f" ({example['times']:,} times"
        if "class" in example:
            line += f", {format_percent(example['class_rate'])} of them {example['class']}"
        line += ")"
    return line


def _locate(example: dict[str, Any]) -> str:
    if "split" in example:
        return f"{example['split']} {name_rows([example['row']])}"
    if "prototype" in example:
        named = [f"{name} {example[name]}" for name in ("prototype", "member") if name in example]
        return ", ".join([*named, *filter(None, [example.get("reason")])])
    parts = [
        f"{split} {name_rows(rows)}"
        for split in ("train", "test")
        if (rows := example.get(f"{split}_rows"))
    ]
    return ", ".join(parts)
