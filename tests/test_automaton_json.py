"""Automata as JSON: they come back the same, and nothing broken is let in."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from protorynet.automaton import Automaton, Pattern, State
from protorynet.errors import ModelFormatError

shares = st.floats(0, 1)
counts = st.integers(0, 10**6)


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    ids = draw(st.lists(st.integers(1, 99), min_size=1, max_size=4, unique=True))
    n = draw(st.integers(1, 4))
    targets = st.lists(st.integers(0, n - 1), min_size=len(ids), max_size=len(ids)).map(tuple)
    traffic = st.lists(counts, min_size=len(ids), max_size=len(ids)).map(tuple)
    beginning = st.lists(st.sampled_from(ids), min_size=1, max_size=3).map(tuple)
    return Automaton(
        label=draw(st.text()),
        prototypes=tuple(ids),
        states=tuple(
            State(number, draw(shares), draw(st.booleans()), draw(counts)) for number in range(n)
        ),
        start=draw(st.integers(0, n - 1)),
        transitions=tuple(draw(targets) for _ in range(n)),
        traffic=tuple(draw(traffic) for _ in range(n)),
        patterns=tuple(draw(st.lists(st.builds(Pattern, beginning, counts, shares), max_size=3))),
        fidelity_train=draw(shares),
        fidelity_held_out=draw(st.none() | shares),
        fidelity_ids_only=draw(shares),
        n_train=draw(counts),
        n_held_out=draw(counts),
    )


@given(automata())
def test_an_automaton_comes_back_from_json_the_same(automaton):
    again = Automaton.from_dict(json.loads(json.dumps(automaton.to_dict())))
    assert again == automaton
    assert again.edges == automaton.edges


@pytest.fixture
def values():
    states = (State(0, 0.1, False, 3), State(1, 0.9, True, 3))
    automaton = Automaton(
        "yes", (7, 4), states, 0, ((0, 1), (0, 1)), ((1, 1), (1, 1)),
        (Pattern((4,), 5, 0.96),), 1.0, None, 1.0, 3, 0,
    )  # fmt: skip
    return copy.deepcopy(automaton.to_dict())


BROKEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "a missing part": lambda v: v.pop("traffic"),
    "no states": lambda v: v.update(states=[], transitions=[], traffic=[]),
    "a start that is no state": lambda v: v.update(start=2),
    "a start below 0": lambda v: v.update(start=-1),
    "a transition out of range": lambda v: v["transitions"][1].__setitem__(0, 2),
    "a transition below 0": lambda v: v["transitions"][1].__setitem__(0, -1),
    "a transition that is true": lambda v: v["transitions"][1].__setitem__(0, True),
    "a short list": lambda v: v["transitions"][0].pop(),
    "a missing list": lambda v: v["traffic"].pop(),
    "negative traffic": lambda v: v["traffic"][0].__setitem__(0, -1),
    "states in another order": lambda v: v["states"].reverse(),
    "an unknown field of a state": lambda v: v["states"][0].update(colour="red"),
    "a state without belief": lambda v: v["states"][0].pop("belief"),
    "a belief above one": lambda v: v["states"][0].update(belief=1.5),
    "a belief in words": lambda v: v["states"][0].update(belief="high"),
    "a prototype twice": lambda v: v.update(prototypes=[7, 7]),
    "a pattern of strangers": lambda v: v["patterns"][0].update(prototypes=[5]),
    "an empty pattern": lambda v: v["patterns"][0].update(prototypes=[]),
    "a purity above one": lambda v: v["patterns"][0].update(purity=2),
    "a fidelity below zero": lambda v: v.update(fidelity_train=-0.1),
    "a count below zero": lambda v: v.update(n_train=-1),
    "a label that is a number": lambda v: v.update(label=3),
    "a list in place of a number": lambda v: v.update(start=[[[0]]]),
    "patterns that are none": lambda v: v.update(patterns=None),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_broken_is_refused(values, kind):
    BROKEN[kind](values)
    with pytest.raises(ModelFormatError, match="the automaton is not valid: "):
        Automaton.from_dict(values)


@pytest.mark.parametrize("nothing", [None, [], "automaton", 7])
def test_what_is_no_object_is_refused(nothing):
    with pytest.raises(ModelFormatError, match="should be a JSON object"):
        Automaton.from_dict(nothing)


def test_a_giant_is_refused(values):
    state = {"number": 0, "belief": 0.5, "accepting": False, "visits": 0}
    values["states"] = [{**state, "number": number} for number in range(2_000)]
    values["transitions"] = values["traffic"] = [[0, 0]] * 2_000
    with pytest.raises(ModelFormatError, match="it has 2000 states"):
        Automaton.from_dict(values)
