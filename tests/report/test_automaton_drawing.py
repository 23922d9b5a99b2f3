"""The automaton as a picture and in words."""

import io
import random
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings, strategies as st
from rich.console import Console

from protorynet.automaton import Automaton, Pattern, State
from protorynet.prototypes import Prototype, Prototypes
from protorynet.report import automaton_svg, print_automaton

SVG = "{http://www.w3.org/2000/svg}"
RADIUS = 20.0
Box = tuple[float, float, float, float]


def machine(ids: list[int], n: int, *, near: int = 99) -> Automaton:
    """Return an automaton of n states with transitions at random, some of them never taken."""
    draw = random.Random(n)
    steps = [[min(max(i + draw.randint(-near, near), 0), n - 1) for _ in ids] for i in range(n)]
    traffic = [[draw.choice([0, 0, 1, 40, 900]) for _ in ids] for _ in range(n)]
    return Automaton(
        label="positive",
        prototypes=tuple(ids),
        states=tuple(State(i, (i + 1) / (n + 1), i >= n / 2, 10) for i in range(n)),
        start=n // 2,
        transitions=tuple(map(tuple, steps)),
        traffic=tuple(map(tuple, traffic)),
        patterns=(Pattern((3,), 120, 0.99), Pattern((14, 8), 31, 0.968)),
        fidelity_train=0.98,
        fidelity_held_out=0.961,
        fidelity_ids_only=0.97,
        n_train=800,
        n_held_out=200,
    )


@pytest.fixture
def seven(movie_prototypes):
    return machine(movie_prototypes.ids.tolist(), 7)


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_every_picture_is_well_formed_and_shows_what_was_taken(n, movie_prototypes):
    automaton = machine(movie_prototypes.ids.tolist(), n)
    picture = ElementTree.fromstring(automaton_svg(automaton, movie_prototypes))
    assert picture.get("role") == "img"
    assert [picture[0].tag, picture[1].tag] == [f"{SVG}title", f"{SVG}desc"]
    rings = [circle for circle in picture.iter(f"{SVG}circle") if circle.get("stroke")]
    assert len(rings) == sum(2 if state.accepting else 1 for state in automaton.states)
    curves = [path for path in picture.iter(f"{SVG}path") if "C" in path.get("d")]
    assert len(curves) == sum(1 for edge in automaton.edges if sum(edge.traffic))
    notes = [title.text for title in picture.iter(f"{SVG}title")]
    edge = next(edge for edge in automaton.edges if edge.traffic[0])
    sentence = next(item.sentence for item in movie_prototypes if item.id == edge.prototypes[0])
    assert any(f"{edge.prototypes[0]} ({edge.traffic[0]:,}): {sentence}" in note for note in notes)


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    """Any automaton of up to 20 states and 20 prototypes, whatever their ids."""
    n, highest = draw(st.integers(1, 20)), draw(st.sampled_from([30, 99_999]))
    ids = draw(st.lists(st.integers(0, highest), min_size=1, max_size=20, unique=True))
    return machine(ids, n, near=draw(st.integers(1, n)))


def touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@settings(max_examples=60, deadline=None)
@given(automata())
def test_labels_touch_nothing_and_stay_inside(automaton):
    shares = {"positive": 1.0}
    items = tuple(Prototype(i, "A", 0, 0.1, shares, shares) for i in sorted(automaton.prototypes))
    picture = ElementTree.fromstring(
        automaton_svg(automaton, Prototypes(items, ("positive",)), listed=False)
    )
    width, height = map(float, picture.get("viewBox").split()[2:])
    circles, labels = [], []
    for circle in picture.iter(f"{SVG}circle"):
        x, y = float(circle.get("cx")), float(circle.get("cy"))
        circles.append((x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS))
    for text in picture.iter(f"{SVG}text"):
        if text.get("style"):
            x, y, half = float(text.get("x")), float(text.get("y")), 3.1 * len(text[0].tail)
            labels.append((x - half, y - 10, x + half, y + 3))
    for box in labels:
        assert not any(touch(box, circle) for circle in circles)
        assert 0 <= box[0] <= box[2] <= width
        assert 50 <= box[1] <= box[3] <= height
    assert not any(touch(*pair) for pair in combinations(labels, 2))


def test_hostile_texts_are_escaped_and_only_a_file_has_a_background(seven, movie_prototypes):
    hostile = "<script>alert('x')</script> \x00 \ud800 & \"quotes\""
    items = tuple(replace(item, sentence=hostile) for item in movie_prototypes)
    told = replace(seven, label=hostile), replace(movie_prototypes, items=items)
    picture = automaton_svg(*told, standalone=True)
    assert "background:Canvas" in picture
    assert "background:Canvas" not in automaton_svg(*told)
    assert "<script" not in picture
    ElementTree.fromstring(picture)


SENTENCE = (
    "starts with “I loved every minute of it and would gladly watch it again.”, "
    "then “The performances are superb, especially the lead actress.”, then anything"
)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "Fidelity 96.1% with 7 states"),
        ({}, "200 texts it was not learned from"),
        ({}, f"- {SENTENCE} (97% of 31)"),
        ({"fidelity_held_out": None, "n_held_out": 0}, "800 texts it was learned from"),
        ({"patterns": ()}, "No beginning gives positive away by itself."),
        ({"patterns": (Pattern((3,), 120, 0.99),) * 15}, "and 3 more (see --json)"),
    ],
)
def test_the_words_say_how_faithful_it_is_and_its_patterns(seven, movie_prototypes, changes, told):
    out = io.StringIO()
    print_automaton(replace(seven, **changes), movie_prototypes, Console(file=out, width=100))
    assert told in " ".join(out.getvalue().split())
