"""The automaton as a picture and in words."""

from __future__ import annotations

import io
import random
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings, strategies as st
from rich.console import Console

from protorynet.automaton import Automaton, Pattern, State
from protorynet.prototypes import Prototypes
from protorynet.report import automaton_svg, pattern_sentence, print_automaton
from protorynet.report.automaton_layout import RADIUS, Box, Layout, lay_out

SVG = "{http://www.w3.org/2000/svg}"


def machine(prototypes: Prototypes, n: int) -> Automaton:
    """Return an automaton of n states with transitions at random, some of them never taken."""
    draw = random.Random(n)
    ids = tuple(item.id for item in prototypes)
    return Automaton(
        label="positive",
        prototypes=ids,
        states=tuple(State(i, (i + 1) / (n + 1), i >= n / 2, 10) for i in range(n)),
        start=n // 2,
        transitions=tuple(tuple(draw.randrange(n) for _ in ids) for _ in range(n)),
        traffic=tuple(tuple(draw.choice([0, 1, 40, 900]) for _ in ids) for _ in range(n)),
        patterns=(Pattern((3,), 120, 0.99), Pattern((14, 8), 31, 0.968)),
        fidelity_train=0.98,
        fidelity_held_out=0.961,
        fidelity_ids_only=0.97,
        n_train=800,
        n_held_out=200,
    )


@pytest.fixture(params=[1, 2, 7, 20])
def drawn(request, movie_prototypes):
    automaton = machine(movie_prototypes, request.param)
    return automaton, ElementTree.fromstring(automaton_svg(automaton, movie_prototypes))


def printed(automaton: Automaton, prototypes: Prototypes, width: int = 80) -> str:
    out = io.StringIO()
    print_automaton(automaton, prototypes, Console(file=out, width=width))
    return out.getvalue()


def test_every_picture_is_well_formed_and_named(drawn):
    _, picture = drawn
    assert picture.get("role") == "img"
    assert [picture[0].tag, picture[1].tag] == [f"{SVG}title", f"{SVG}desc"]


def test_accepting_states_are_double_circles(drawn):
    automaton, picture = drawn
    rings = [circle for circle in picture.iter(f"{SVG}circle") if circle.get("stroke")]
    assert len(rings) == sum(2 if state.accepting else 1 for state in automaton.states)


def test_everything_lies_within_the_picture(drawn):
    _, picture = drawn
    _, _, width, height = map(float, picture.get("viewBox").split())
    for element in picture.iter():
        x, y = element.get("x", element.get("cx")), element.get("y", element.get("cy"))
        if x is not None:
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height
        for pair in re.findall(r"(-?[\d.]+) (-?[\d.]+)", element.get("d", "")):
            assert -20 <= float(pair[0]) <= width + 20


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    """Any automaton of up to 20 states and 20 prototypes, whatever their ids."""
    n, k = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    highest = draw(st.sampled_from([30, 99_999]))
    ids = draw(st.lists(st.integers(0, highest), min_size=k, max_size=k, unique=True))
    chance = draw(st.randoms(use_true_random=False))
    near = draw(st.integers(1, n))
    return Automaton(
        label="positive",
        prototypes=tuple(ids),
        states=tuple(State(i, (i + 1) / (n + 1), i >= n / 2, 10) for i in range(n)),
        start=chance.randrange(n),
        transitions=tuple(
            tuple(min(max(i + chance.randint(-near, near), 0), n - 1) for _ in ids)
            for i in range(n)
        ),
        traffic=tuple(tuple(chance.choice([0, 0, 1, 40, 900]) for _ in ids) for _ in range(n)),
        patterns=(),
        fidelity_train=0.98,
        fidelity_held_out=None,
        fidelity_ids_only=0.97,
        n_train=800,
        n_held_out=0,
    )


def boxes(layout: Layout) -> list[Box]:
    return [arc.label.box for arc in layout.arcs if arc.label is not None]


def touch(one: Box, other: Box) -> bool:
    return (
        one.left < other.right
        and other.left < one.right
        and one.top < other.bottom
        and other.top < one.bottom
    )


@settings(max_examples=60, deadline=None)
@given(automata())
def test_no_two_labels_touch_each_other_nor_a_state(automaton: Automaton) -> None:
    layout = lay_out(automaton)
    found = boxes(layout)
    circles = [
        Box(x - RADIUS, layout.axis - RADIUS, x + RADIUS, layout.axis + RADIUS)
        for x in layout.places
    ]
    for place, one in enumerate(found):
        assert not any(touch(one, other) for other in found[:place])
        assert not any(touch(one, circle) for circle in circles)


@settings(max_examples=60, deadline=None)
@given(automata())
def test_every_label_lies_between_header_and_legend(automaton: Automaton) -> None:
    layout = lay_out(automaton)
    for box in boxes(layout):
        assert 0 <= box.left <= box.right <= layout.width
        assert 50 <= box.top <= box.bottom <= layout.bottom


@settings(max_examples=60, deadline=None)
@given(automata())
def test_an_arc_runs_outside_of_those_that_it_spans(automaton: Automaton) -> None:
    layout = lay_out(automaton)
    # The second number of a curve's first handle says how far it goes.
    heights = {
        (arc.edge.source, arc.edge.target): abs(float(arc.path.split()[2]) - layout.axis)
        for arc in layout.arcs
        if arc.edge.source != arc.edge.target
    }
    for (source, target), height in heights.items():
        low, high = sorted((source, target))
        for (other_source, other_target), other in heights.items():
            inner = sorted((other_source, other_target))
            same_side = (target > source) == (other_target > other_source)
            if same_side and low <= inner[0] < inner[1] <= high and inner != [low, high]:
                assert other < height


def test_a_long_label_is_cut_and_the_rest_is_shown_on_hover(movie_prototypes):
    automaton = machine(movie_prototypes, 1)
    picture = ElementTree.fromstring(automaton_svg(automaton, movie_prototypes))
    (label,) = (text for text in picture.iter(f"{SVG}text") if text.get("style"))
    taken = [f"{i} (" for i, count in zip(*automaton_loop(automaton), strict=True) if count]
    told = label[0].tail
    assert re.fullmatch(r"(\d+, )*\d+ and \d+ more", told)
    assert len(re.findall(r"\d+", told)) - 1 + int(told.split()[-2]) == len(taken)
    assert all(each in label[0].text for each in taken)


def automaton_loop(automaton: Automaton) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return automaton.edges[0].prototypes, automaton.edges[0].traffic


def test_edges_that_no_text_took_are_left_out(drawn):
    automaton, picture = drawn
    taken = sum(1 for edge in automaton.edges if sum(edge.traffic))
    curves = [path for path in picture.iter(f"{SVG}path") if "C" in path.get("d")]
    assert len(curves) == taken


def test_an_edge_shows_its_sentences_on_hover(movie_prototypes):
    automaton = machine(movie_prototypes, 2)
    picture = ElementTree.fromstring(automaton_svg(automaton, movie_prototypes))
    notes = [title.text for title in picture.iter(f"{SVG}title")]
    edge = next(edge for edge in automaton.edges if edge.traffic[0])
    sentence = next(p.sentence for p in movie_prototypes if p.id == edge.prototypes[0])
    assert any(f"{edge.prototypes[0]} ({edge.traffic[0]:,}): {sentence}" in note for note in notes)


def test_the_picture_is_the_same_every_time(movie_prototypes):
    automaton = machine(movie_prototypes, 7)
    again = automaton_svg(machine(movie_prototypes, 7), movie_prototypes)
    assert automaton_svg(automaton, movie_prototypes) == again


def test_only_a_file_of_its_own_brings_a_background(movie_prototypes):
    automaton = machine(movie_prototypes, 2)
    assert "background:Canvas" in automaton_svg(automaton, movie_prototypes, standalone=True)
    assert "background:Canvas" not in automaton_svg(automaton, movie_prototypes)


def test_hostile_texts_are_escaped(movie_prototypes):
    hostile = "<script>alert('x')</script> \x00 \ud800 & \"quotes\""
    items = tuple(replace(item, sentence=hostile) for item in movie_prototypes)
    named = replace(machine(movie_prototypes, 4), label=hostile)
    picture = automaton_svg(named, replace(movie_prototypes, items=items))
    assert "<script" not in picture
    ElementTree.fromstring(picture)


def test_a_pattern_reads_as_a_sentence(movie_prototypes):
    told = pattern_sentence(Pattern((14, 8), 31, 0.968), movie_prototypes)
    assert told == (
        "starts with “I loved every minute of it and would gladly watch it again.”, "
        "then “The performances are superb, especially the lead actress.”, then anything"
    )


def test_the_words_say_fidelity_and_patterns(movie_prototypes):
    words = printed(machine(movie_prototypes, 7), movie_prototypes)
    assert words.startswith("Fidelity 96.1%  with 7 states")
    assert "200 texts it was not learnt from" in words
    assert words.count("- starts with") == 2
    assert "(99% of 120)" in words


def test_the_words_say_where_fidelity_was_measured_on_what_was_learnt(movie_prototypes):
    known = replace(machine(movie_prototypes, 2), fidelity_held_out=None, n_held_out=0)
    assert "800 texts it was learnt from" in printed(known, movie_prototypes)


def test_an_automaton_without_patterns_says_so(movie_prototypes):
    bare = replace(machine(movie_prototypes, 2), patterns=())
    assert "No beginning gives positive away by itself." in printed(bare, movie_prototypes)


def test_many_patterns_are_cut_with_a_count(movie_prototypes):
    many = replace(machine(movie_prototypes, 2), patterns=(Pattern((3,), 120, 0.99),) * 15)
    assert "and 3 more (see --json)" in printed(many, movie_prototypes)
