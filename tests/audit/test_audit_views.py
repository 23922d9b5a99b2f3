"""An audit as people see it: in a terminal and as static HTML."""

import io

from audit_scene import TEST, TRAIN, audit_of, only
from rich.console import Console

from protorynet.audit import Audit, Finding
from protorynet.report import audit_fragment, print_audit

_EVIL = "<script>alert(1)</script>\x1b[31m"


def printed(audit: Audit, width: int = 80) -> str:
    output = io.StringIO()
    print_audit(audit, Console(file=output, width=width, color_system=None))
    return output.getvalue()


def made(**evidence: object) -> Audit:
    return Audit((Finding("duplicates", "note", f"Look here: {_EVIL}", dict(evidence)),), 1234, 5)


def test_the_terminal_counts_findings_and_names_rows_within_its_width():
    assert printed(made()).startswith("1 note on 1,234 training and 5 test documents\n")
    assert "Nothing to report" in printed(Audit((), 2, 2))
    audit = audit_of(TRAIN, [*TEST, TRAIN[0]])
    assert "train row 2, test row 82: " in printed(audit)
    assert max(len(line) for line in printed(audit, 60).splitlines()) <= 60


def test_many_and_very_long_examples_are_cut_short():
    examples = [{"split": "test", "row": row, "text": "Hello."} for row in range(9)]
    assert "and 4 more in the evidence" in printed(made(examples=examples))
    for text in ("word " * 100_000, "w" * 5000):
        twice = audit_of(TRAIN, [*TEST, (text, "good"), (text, "good")])
        (example,) = only(twice, "duplicates").evidence["examples"]
        assert len(example["text"]) <= 120


def test_the_texts_steer_neither_a_terminal_nor_a_page():
    evil = made(examples=[{"split": "test", "row": 1, "text": _EVIL}])
    for shown in (printed(evil), audit_fragment(evil)):
        assert "\x1b" not in shown
    assert "<script" not in audit_fragment(evil)
    assert evil._repr_html_() == audit_fragment(evil)
