"""An audit to read: in a terminal, and as a fragment of static HTML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from protorynet.audit import counted
from protorynet.errors import name_rows
from protorynet.report.conventions import format_percent, printable

if TYPE_CHECKING:
    from rich.console import Console

    from protorynet.audit import Audit, Finding

_MOST_EXAMPLES = 5
_STYLES = {"serious": "bold red", "warning": "bold yellow", "note": "bold"}
_ROWS = "Rows are numbered as in a spreadsheet: the headings are row 1. --json gives all evidence."
_NOTHING = "Nothing to report: none of the checks found a problem."


def print_audit(audit: Audit, console: Console) -> None:
    """Print the findings, most serious first, each with a few examples."""
    from rich.text import Text

    from protorynet.report.console_views import print_hanging

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
    from protorynet.report.html_pages import render

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
