"""An audit to read: in a terminal, and as a fragment of static HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from protorynet.audit import counted
from protorynet.report.conventions import clean, format_percent, measure_title, printable

if TYPE_CHECKING:
    from rich.console import Console

    from protorynet.audit import Audit, Finding

_MOST_EXAMPLES = 5
_STYLES = {"serious": "bold red", "warning": "bold yellow", "note": "bold"}
_TITLES = {
    "artefact_members": "Members that should not stand for others",
    "artefact_sentence": "A leftover gives the answer away",
    "below_bag_of_words": "A bag of words is better",
    "boilerplate_prototypes": "Boilerplate among the prototypes",
    "class_never_predicted": "A class is never predicted",
    "class_not_in_test": "A class is not tested",
    "class_without_prototype": "A class without a prototype",
    "conflicting_labels": "Same text, different labels",
    "copied_passages": "Passages copied from text to text",
    "cut_sentences": "Long sentences are cut",
    "duplicates": "Repeated texts",
    "empty_documents": "Empty documents",
    "few_prototypes_take_most": "A few prototypes take most sentences",
    "fixed_sentence": "A sentence that no author wrote",
    "label_suspects": "Labels to check",
    "low_recall": "A class is rarely found",
    "misplaced_certainty": "Certainty and truth differ",
    "near_shared_texts": "Nearly the same text in training and test",
    "no_better_than_majority": "No better than always the same answer",
    "order_not_used": "The order of sentences is not used",
    "other_length": "Test documents of another length",
    "other_preparation": "Splits prepared in different ways",
    "other_training_data": "Not the training data of this model",
    "poor_score_calibration": "Scores that do not follow the classes",
    "pure_prototype": "A prototype purer than its words",
    "repeated_text_prototype": "A prototype that stands for one repeated text",
    "shared_forms": "The same form in training and test",
    "shared_texts": "Texts in both training and test",
    "telling_sentences": "Short sentences that give the answer away",
    "unclean_texts": "Signs that no author wrote",
    "unfamiliar_sentences": "Test sentences unlike any prototype",
    "unknown_words": "Test data of other words",
    "unused_prototypes": "Prototypes without use",
}
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
        print_hanging(console, lead, Text(finding_title(finding), style="bold"))
        print_hanging(console, indent, Text(printable(finding.message, console.encoding)))
        for line in _list_examples(finding):
            print_hanging(console, bullet, Text(printable(line, console.encoding), style="dim"))
    console.print()
    console.print(Text("Rows are counted from 0. --json gives all evidence.", style="dim"))


def audit_fragment(audit: Audit) -> str:
    """Return the findings as static HTML, with the evidence folded away."""
    from protorynet.report.html_pages import render

    items = "".join(_format_item(finding) for finding in audit.findings)
    body = f'<ul class="pn-findings">{items}</ul>' if items else f"<p>{_NOTHING}</p>"
    return (
        f'<div class="protorynet pn-audit"><style>\n{render("audit.css")}\n</style>'
        f'<p class="pn-audit-head">{_html(_headline(audit))}</p>{body}</div>'
    )


def _format_item(finding: Finding) -> str:
    examples = "".join(f'<li dir="auto">{_html(line)}</li>' for line in _list_examples(finding))
    shown = f"<details><summary>Examples</summary><ul>{examples}</ul></details>" if examples else ""
    return (
        f'<li class="pn-finding pn-{finding.severity}"><p><span class="pn-severity">'
        f"{finding.severity}</span> <strong>{_html(finding_title(finding))}</strong></p>"
        f'<p dir="auto">{_html(finding.message)}</p>{shown}</li>'
    )


def _html(text: str) -> str:
    return escape(clean(text))


def _headline(audit: Audit) -> str:
    severities = [finding.severity for finding in audit.findings]
    names = {"serious": "serious finding", "warning": "warning", "note": "note"}
    counts = [counted(severities.count(s), name) for s, name in names.items() if s in severities]
    found = ", ".join(counts) or "No findings"
    return f"{found} on {audit.n_train:,} training and {audit.n_test:,} test documents"


def finding_title(finding: Finding) -> str:
    """Return what a finding is called."""
    return _TITLES.get(finding.kind, measure_title(finding.kind))


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
        line += f" (training row {example['train_row']}, likeness {example['likeness']:.2f})"
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
        return f"{example['split']} row {example['row']}"
    if "prototype" in example:
        named = [f"{name} {example[name]}" for name in ("prototype", "member") if name in example]
        return ", ".join([*named, *filter(None, [example.get("reason")])])
    parts = [
        f"{split} row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:4]))}"
        + (", …" if len(rows) > 4 else "")
        for split in ("train", "test")
        if (rows := example.get(f"{split}_rows"))
    ]
    return ", ".join(parts)
