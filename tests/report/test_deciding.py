"""What the views say decided."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from protorynet.explain import AutomatonReading, DecidingPattern, Explanation
from protorynet.report import explanation_fragment, explanation_page, print_explanation
from protorynet.report.deciding import deciding

PATTERN = DecidingPattern("good", (7, 4), ("I love <b>it</b>.", "Great food."), 1212, 0.97)


def explained(reading: AutomatonReading | None, label: str = "good") -> Explanation:
    return Explanation("It is.", label, {"bad": 0.1, "good": 0.9}, (), reading)


def printed(explanation: Explanation, *, encoding: str = "utf-8") -> str:
    """Return what the terminal shows, its lines joined."""
    page = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_explanation(explanation, Console(file=page, width=200, color_system=None))
    page.seek(0)
    return " ".join(page.read().split())


@pytest.fixture
def by_pattern() -> Explanation:
    return explained(AutomatonReading("good", (0, 1, 1), True, True, 0.96, PATTERN))


@pytest.fixture
def by_whole() -> Explanation:
    return explained(AutomatonReading("good", (0, 1, 1), True, True, 0.96, None))


@pytest.fixture
def differing() -> Explanation:
    return explained(AutomatonReading("good", (0, 0, 0), False, False, 0.96, None))


def test_the_terminal_names_the_pattern(by_pattern: Explanation) -> None:
    told = (
        "Pattern: the model gives “good” to 97% of the texts that begin with "
        "#7 “I love <b>it</b>.” → #4 “Great food.” (1,212 texts)"
    )
    assert told in printed(by_pattern)


def test_an_ascii_terminal_gets_ascii(by_pattern: Explanation) -> None:
    assert '-> #4 "Great food."' in printed(by_pattern, encoding="ascii")


def test_a_page_names_the_pattern_and_escapes_it(by_pattern: Explanation) -> None:
    page = explanation_fragment(by_pattern)
    assert "I love &lt;b&gt;it&lt;/b&gt;." in page
    assert "<b>97%</b> of the texts that begin with" in page
    assert "(1,212 texts)" in page


def test_without_a_pattern_the_whole_text_decides(by_whole: Explanation) -> None:
    told = "No beginning gives {} away here: the text as a whole decides."
    assert told.format("“good”") in printed(by_whole)
    assert told.format("“<bdi>good</bdi>”") in explanation_fragment(by_whole)


def test_a_differing_automaton_is_said_to_explain_nothing(differing: Explanation) -> None:
    told = "differs from the model on this text, as on 4% of the texts it was measured on:"
    assert told in printed(differing)
    assert told in explanation_fragment(differing)


def test_a_model_without_automata_says_nothing() -> None:
    nothing = explained(None)
    assert deciding(nothing) is None
    assert 'class="pn-like pn-pattern' not in explanation_fragment(nothing)


def test_where_no_class_is_given_there_is_nothing_to_tell() -> None:
    neither = AutomatonReading("good", (0, 0), False, True, 0.96, None)
    assert deciding(explained(neither, label="(none)")) is None


def test_json_holds_the_pattern_and_the_automatons_reading(by_pattern: Explanation) -> None:
    values = by_pattern.to_dict()
    assert values["automaton"] == {
        "label": "good",
        "states": [0, 1, 1],
        "accepts": True,
        "agrees": True,
        "fidelity": 0.96,
    }
    assert values["pattern"] == {
        "label": "good",
        "prototypes": [7, 4],
        "sentences": ["I love <b>it</b>.", "Great food."],
        "support": 1212,
        "purity": 0.97,
    }
    assert replace(by_pattern, automaton=None).to_dict()["pattern"] is None


def test_every_view_warns_where_the_reader_is_behind(
    by_pattern: Explanation, tmp_path: Path
) -> None:
    behind = replace(by_pattern, reader_is_behind=True)
    told = "Prototypes were edited by hand after the reader was last trained"
    explanation_page([behind, behind], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for view in (printed(behind), explanation_fragment(behind), page):
        assert view.count(told) == 1
    for view in (printed(by_pattern), explanation_fragment(by_pattern)):
        assert told not in view
