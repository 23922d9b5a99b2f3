"""An audit as people see it: in a terminal and as static HTML."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from audit_scene import TEST, TRAIN, audit_of, clean_audit
from rich.console import Console

import protorynet.audit
from protorynet.audit import Audit, Finding
from protorynet.audit.findings import quote
from protorynet.report import audit_fragment, audit_views, print_audit

_EVIL = "<script>alert(1)</script>\x1b[31m"


def printed(audit: Audit, width: int = 80) -> str:
    output = io.StringIO()
    print_audit(audit, Console(file=output, width=width, color_system=None))
    return output.getvalue()


def told(kind: str = "duplicates", **evidence: object) -> Audit:
    return Audit((Finding(kind, "note", f"Look here: {_EVIL}", dict(evidence)),), 1234, 5)


def test_the_first_line_counts_findings_and_documents() -> None:
    assert printed(told()).startswith("1 note on 1,234 training and 5 test documents\n")


def test_nothing_found_is_said() -> None:
    assert "Nothing to report" in printed(Audit((), 2, 2))


def test_every_kind_of_finding_has_a_title_and_no_title_is_without_one() -> None:
    folder = Path(protorynet.audit.__file__).parent
    source = "".join(path.read_text() for path in folder.glob("*.py"))
    assert set(audit_views._TITLES) == set(re.findall(r'Finding\(\s*"(\w+)"', source))


def test_no_line_is_wider_than_the_terminal() -> None:
    audit = audit_of(TRAIN + TRAIN[:3], TEST + TRAIN[:9])
    assert max(len(line) for line in printed(audit, 60).splitlines()) <= 60


def test_rows_of_a_shared_text_are_named() -> None:
    assert "train row 0, test row 80: " in printed(audit_of(TRAIN, [*TEST, TRAIN[0]]))


def test_many_examples_are_cut_short() -> None:
    examples = [{"split": "test", "row": row, "text": "Hello."} for row in range(9)]
    assert "and 4 more in the evidence" in printed(told(examples=examples))


def test_the_texts_steer_neither_a_terminal_nor_a_page() -> None:
    evil = told(examples=[{"split": "test", "row": 1, "text": _EVIL}])
    for shown in (printed(evil), audit_fragment(evil)):
        assert "\x1b" not in shown
    assert "<script" not in audit_fragment(evil)


def test_a_notebook_shows_the_fragment() -> None:
    assert clean_audit()._repr_html_() == audit_fragment(clean_audit())


@pytest.mark.parametrize("text", ["word " * 100_000, "w" * 5000])
def test_a_very_long_text_is_quoted_by_its_beginning(text: str) -> None:
    assert len(quote(text)) <= 120
