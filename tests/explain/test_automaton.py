"""Automata that summarise the reader, on languages whose automaton is known."""

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from protorynet.automaton import Automaton, Pattern, State
from protorynet.errors import EmptyDocumentError, InputError
from protorynet.explain import learn_automata, learn_automaton, stored_automaton
from protorynet.labels import LabelCode
from protorynet.model import EncoderRecord, Model, TrainingRecord
from protorynet.network import Centring, ProtoryNetwork, Reader
from protorynet.prototypes import Prototype, Prototypes
from protorynet.reading import Reading
from protorynet.settings import Settings

K = 5
OPEN, SHUT = 30.0, -30.0
documents = st.lists(st.lists(st.integers(0, K - 1), min_size=1, max_size=8), min_size=1)


def trajectory(texts: list[list[int]]) -> Reading:
    prototypes = np.array([prototype for text in texts for prototype in text], np.int64)
    ones = np.ones(len(prototypes), np.float32)
    return Reading(prototypes, ones, prototypes, ones, np.array([len(text) for text in texts]))


def random_texts(count: int, *, seed: int = 0, longest: int = 8) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return [
        random.integers(0, K, length).tolist() for length in random.integers(1, longest + 1, count)
    ]


def make_model(
    reader: Reader, classes: tuple[str, ...] = ("no", "yes"), task: Any = "multiclass"
) -> Model:
    """Return a model whose prototypes have the ids 10, 11, … and whose reader is given."""
    scores = dict.fromkeys(classes, 1 / len(classes))
    items = tuple(
        Prototype(10 + prototype, f"Sentence {prototype}.", prototype, 0.2, scores, scores)
        for prototype in range(K)
    )
    return Model(
        Centring(torch.zeros(K), 1.0),
        None,
        ProtoryNetwork(torch.eye(K), reader, Settings()),
        Prototypes(items, classes),
        LabelCode(classes, task),
        EncoderRecord("precomputed", "precomputed"),
        "sentencex",
        Settings(),
        TrainingRecord(0, 1, 1, "", 1.0, (), (0.5, 0.5), {}, {}),
    )


def reader(entry: list[float], keep: float, content: list[float], threshold: float) -> Reader:
    """Return a reader of one cell: what each prototype lets in, what is kept, what comes in."""
    made = Reader(K, 2, hidden=1, layers=1, dropout=0.0)
    with torch.no_grad():
        for weight in made.parameters():
            weight.zero_()
        made.lstm.weight_ih_l0[0] = torch.tensor(entry)
        made.lstm.bias_ih_l0[1] = keep
        made.lstm.weight_ih_l0[2] = torch.tensor(content)
        made.lstm.bias_ih_l0[3] = OPEN
        made.head.weight[1] = 40.0
        made.head.bias[1] = -40.0 * threshold
    return made


CONTAINS_THREE = ([OPEN if k == 3 else SHUT for k in range(K)], OPEN, [OPEN] * K, 0.4)
LAST_WINS = ([OPEN] * K, SHUT, [OPEN if k < 2 else SHUT for k in range(K)], 0.0)


def last_wins(task: str = "multiclass") -> Model:
    """Return a model that gives "yes" to what ends with prototype 0 or 1."""
    return make_model(reader(*LAST_WINS), task=task)


def random_model(classes: tuple[str, ...], seed: int, layers: int = 1) -> Model:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        reader = Reader(K, len(classes), hidden=6, layers=layers, dropout=0.5 if layers > 1 else 0)
        with torch.no_grad():
            for weight in reader.parameters():
                weight.mul_(4)
    return make_model(reader, classes)


@pytest.mark.parametrize(
    ("language", "transitions"),
    [
        (CONTAINS_THREE, ((0, 0, 0, 1, 0), (1, 1, 1, 1, 1))),
        (LAST_WINS, ((1, 1, 0, 0, 0), (1, 1, 0, 0, 0))),
    ],
    ids=["holds prototype 3 anywhere", "ends with prototype 0 or 1"],
)
def test_a_known_language_takes_two_states_and_is_read_exactly(language, transitions):
    others = trajectory(random_texts(500, seed=1, longest=20))
    train = trajectory(random_texts(200))
    automaton = learn_automaton(make_model(reader(*language)), train, "yes", held_out=others)
    assert automaton.transitions == transitions
    assert [state.accepting for state in automaton.states] == [False, True]
    assert (automaton.fidelity, automaton.fidelity_ids_only) == (1.0, 1.0)
    if language is CONTAINS_THREE:
        assert automaton.deciding_pattern([3, 0, 1]) == automaton.patterns[0]
        assert automaton.patterns[0].prototypes == (13,)
        values = json.loads(json.dumps(automaton.to_dict()))
        assert (values["label"], values["n_states"], values["fidelity"]) == ("yes", 2, 1.0)
        assert set(values["patterns"][0]) == {"prototypes", "support", "purity"}


def test_the_other_class_is_the_complement_and_several_labels_have_an_automaton_each():
    train = trajectory(random_texts(200))
    yes, no = (learn_automaton(last_wins(), train, label) for label in ("yes", "no"))
    for text in random_texts(50, seed=2):
        assert yes.accepts(text) is not no.accepts(text)
    assert learn_automaton(last_wins("multilabel"), train, "yes").fidelity == 1.0


UNTRAINED = random_model(("no", "yes"), seed=3, layers=2)
FOUR_CLASSES = random_model(("a", "b", "c", "d"), seed=5)


@pytest.mark.parametrize("whole", [UNTRAINED, FOUR_CLASSES], ids=["two classes", "four"])
def test_all_at_once_are_those_learned_one_by_one(whole):
    train, others = trajectory(random_texts(200)), trajectory(random_texts(60, seed=1))
    whole.network.reader.train()
    assert learn_automata(whole, train, held_out=others) == tuple(
        learn_automaton(whole, train, label, held_out=others) for label in whole.labels.names
    )
    assert all(module.training for module in whole.network.reader.modules())


def test_patterns_are_counted_for_each_class_and_none_begins_with_another():
    texts = random_texts(200)
    said = FOUR_CLASSES.read(trajectory(texts)).probabilities.argmax(axis=1)
    automata = learn_automata(FOUR_CLASSES, trajectory(texts))
    assert any(automaton.patterns for automaton in automata)
    for label, automaton in enumerate(automata):
        for pattern in automaton.patterns:
            prototypes = [number - 10 for number in pattern.prototypes]
            inside = [text[: len(prototypes)] == prototypes for text in texts]
            assert pattern.support == sum(inside)
            assert pattern.purity == pytest.approx(np.mean(said[inside] == label))
        found = [pattern.prototypes for pattern in automaton.patterns]
        assert not any(a[: len(b)] == b for a, b in permutations(found, 2))


def test_transitions_never_seen_are_the_readers_and_a_class_never_given_takes_one_state():
    texts = [[2], [3], [2, 3], [0], [0, 2]] * 5
    automaton = learn_automaton(last_wins(), trajectory(texts), "yes")
    assert automaton.traffic[automaton.start][4] == 0
    assert automaton.accepts([2, 1])
    assert not automaton.accepts([0, 4])
    never = make_model(reader([OPEN] * K, SHUT, [OPEN] * K, threshold=2.0))
    automaton = learn_automaton(never, trajectory(random_texts(60)), "yes")
    assert [state.accepting for state in automaton.states] == [False]
    assert (automaton.fidelity, automaton.patterns) == (1.0, ())


def test_traffic_counts_every_sentence_once():
    texts = random_texts(150)
    automaton = learn_automaton(UNTRAINED, trajectory(texts), "yes")
    counted = np.zeros((len(automaton.states), K), int)
    for text in texts:
        for state, prototype in zip(automaton.run(text), text, strict=False):
            counted[state, prototype] += 1
    assert np.array_equal(automaton.traffic, counted)
    assert sum(sum(edge.traffic) for edge in automaton.edges) == sum(map(len, texts))


def test_no_pattern_decides_a_document_of_another_class():
    states = (State(0, 0.1, False, 3), State(1, 0.9, True, 3))
    automaton = Automaton(
        "yes", (7, 4), states, 0, ((0, 1), (0, 1)), ((1, 1), (1, 1)),
        (Pattern((4,), 5, 0.96),), 1.0, None, 1.0, 3, 0,
    )  # fmt: skip
    assert automaton.deciding_pattern([1]) == Pattern((4,), 5, 0.96)
    assert automaton.deciding_pattern([1, 0]) is None
    assert automaton.deciding_pattern([]) is None
    for prototype in (-1, 2):
        with pytest.raises(InputError, match=f"column {prototype} is no prototype"):
            automaton.accepts([prototype])


@pytest.mark.parametrize(
    ("texts", "asked", "error", "message"),
    [
        ([[0]], {"label": "maybe"}, InputError, "'maybe' is none of the model's classes.*'no', 'y"),
        ([], {}, InputError, "no documents"),
        ([[0], [], [1]], {}, EmptyDocumentError, "row 1"),
        ([[0]], {"max_states": 0}, InputError, "max_states=0"),
    ],
)
def test_what_cannot_be_learned_is_refused_by_name(texts, asked, error, message):
    with pytest.raises(InputError, match=r"holds no automata.*--data FILE"):
        stored_automaton(last_wins(), "yes")
    with pytest.raises(error, match=message):
        learn_automaton(last_wins(), trajectory(texts), **({"label": "yes"} | asked))


@given(documents)
def test_any_documents_give_an_automaton_that_reads_any_document(texts):
    automaton = learn_automaton(last_wins(), trajectory(texts), "yes")
    assert automaton.fidelity_train >= 0.99
    assert all(0 <= t < len(automaton.states) for each in automaton.transitions for t in each)
    assert len(automaton.transitions) == len(automaton.states)
