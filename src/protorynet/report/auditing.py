"""An audit to read: in a terminal, and as a fragment of static HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from protorynet.report.wording import clean, measure_title, percent, printable, score

if TYPE_CHECKING:
    from rich.console import Console

    from protorynet.audit import Audit, Finding

__all__ = ["audit_fragment", "print_audit"]

_SHOWN = 5
_STYLES = {"serious": "bold red", "warning": "bold yellow", "note": "bold"}
_TITLES = {
    "artefact_sentence": "A leftover gives the answer away",
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
    "misplaced_certainty": "Certainty and truth differ",
    "near_shared_texts": "Nearly the same text in training and test",
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
_NOTHING = "Nothing to report: none of the checks found anything amiss."
_ROWS = "Rows are counted from 0. --json gives all evidence."


def print_audit(audit: Audit, console: Console) -> None:
    """Print the findings, most serious first, each with a few examples.

    Examples
    --------
    >>> from rich.console import Console
    >>> from protorynet.audit import Audit, Finding
    >>> example = {"split": "test", "row": 7, "text": "Never again!"}
    >>> doubt = Finding("label_suspects", "note", "1 label looks wrong.", {"examples": [example]})
    >>> print_audit(Audit((doubt,), 80, 20), Console(width=60))
    1 note on 80 training and 20 test documents
    <BLANKLINE>
    NOTE     Labels to check
             1 label looks wrong.
             · test row 7: Never again!
    <BLANKLINE>
    Rows are counted from 0. --json gives all evidence.
    """
    from rich.text import Text

    from protorynet.report.console import print_hanging

    console.print(Text(_headline(audit), style="bold"))
    if not audit.findings:
        console.print(_NOTHING)
        return
    widest = len("serious") + 2
    indent = Text(" " * widest)
    bullet = "- " if console.options.ascii_only else "· "
    for finding in audit.findings:
        console.print()
        lead = Text(f"{finding.severity.upper():<{widest}}", style=_STYLES[finding.severity])
        print_hanging(console, lead, Text(_title(finding), style="bold"))
        print_hanging(console, indent, Text(printable(finding.message, console.encoding)))
        for line in _examples(finding):
            body = Text(printable(line, console.encoding), style="dim")
            print_hanging(console, Text(" " * widest + bullet, style="dim"), body)
    console.print()
    console.print(Text(_ROWS, style="dim"))


def audit_fragment(audit: Audit) -> str:
    """Return the findings as static HTML, with the evidence folded away.

    Examples
    --------
    >>> from protorynet.audit import Audit, Finding
    >>> odd = Finding("duplicates", "note", "1 text repeats <b>another</b>.", {})
    >>> "&lt;b&gt;another&lt;/b&gt;" in audit_fragment(Audit((odd,), 80, 20))
    True
    """
    items = "".join(_item(finding) for finding in audit.findings)
    body = f'<ul class="pn-findings">{items}</ul>' if items else f"<p>{_NOTHING}</p>"
    return (
        f'<div class="protorynet pn-audit">{_CSS}<p class="pn-audit-head">'
        f"{_html(_headline(audit))}</p>{body}</div>"
    )


_CSS = """<style>
.pn-audit .pn-findings { list-style: none; margin: 0; padding: 0; }
.pn-audit .pn-finding { margin: 0 0 1rem; padding: 0 0 0 .8rem; border-inline-start: .25rem solid; }
.pn-audit .pn-serious { border-color: #b3261e; }
.pn-audit .pn-warning { border-color: #b26a00; }
.pn-audit .pn-note { border-color: #6b7280; }
.pn-audit .pn-audit-head { font-weight: 700; margin: 0 0 .8rem; }
.pn-audit .pn-severity { font-size: .8em; font-weight: 700; text-transform: uppercase; }
.pn-audit p { margin: 0; }
.pn-audit details { margin-top: .25rem; font-size: .9em; }
.pn-audit li { overflow-wrap: anywhere; }
</style>"""


def _item(finding: Finding) -> str:
    examples = "".join(f'<li dir="auto">{_html(line)}</li>' for line in _examples(finding))
    shown = f"<details><summary>Examples</summary><ul>{examples}</ul></details>" if examples else ""
    return (
        f'<li class="pn-finding pn-{finding.severity}"><p><span class="pn-severity">'
        f"{finding.severity}</span> <strong>{_html(_title(finding))}</strong></p>"
        f'<p dir="auto">{_html(finding.message)}</p>{shown}</li>'
    )


def _html(text: str) -> str:
    return escape(clean(text))


def _headline(audit: Audit) -> str:
    severities = [finding.severity for finding in audit.findings]
    counts = [
        f"{count} {name}"
        for singular, plural in (
            ("serious finding", "serious findings"),
            ("warning", "warnings"),
            ("note", "notes"),
        )
        if (count := sum(s == singular.split()[0] for s in severities))
        for name in [singular if count == 1 else plural]
    ]
    found = ", ".join(counts) or "No findings"
    return f"{found} on {audit.n_train:,} training and {audit.n_test:,} test documents"


def _title(finding: Finding) -> str:
    return _TITLES.get(finding.kind, measure_title(finding.kind))


def _examples(finding: Finding) -> Iterator[str]:
    """Yield a few examples, each on one line."""
    examples: list[dict[str, Any]] = finding.evidence.get("examples", [])
    for example in examples[:_SHOWN]:
        yield _example(example)
    if len(examples) > _SHOWN:
        yield f"and {len(examples) - _SHOWN} more in the evidence"


def _example(example: dict[str, Any]) -> str:
    where = _where(example)
    line = f"{where}: {example['text']}" if where else str(example["text"])
    if "train_text" in example:
        line += f" (training row {example['train_row']}, likeness {score(example['likeness'])})"
    if "predicted" in example:
        line += (
            f" (labelled {example['label']}, predicted {example['predicted']}"
            f" at {percent(example['probability'])}; weighs most: {example['sentence']})"
        )
    if repeated := example.get("repeated"):
        line += f" (for example: {repeated[0]})"
    if "times" in example:
        line += f" ({example['times']:,} times"
        if "class" in example:
            line += f", {percent(example['class_rate'])} of them {example['class']}"
        line += ")"
    return line


def _where(example: dict[str, Any]) -> str:
    if "split" in example:
        return f"{example['split']} row {example['row']}"
    if "prototype" in example:
        return f"prototype {example['prototype']}"
    parts = [
        f"{split} row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:4]))}"
        + (", …" if len(rows) > 4 else "")
        for split in ("train", "test")
        if (rows := example.get(f"{split}_rows"))
    ]
    return ", ".join(parts)
