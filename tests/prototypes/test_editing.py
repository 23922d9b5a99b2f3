"""Edits of prototypes: what each does to the network, what it leaves alone, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from protorynet.errors import InputError
from protorynet.network import ProtoryNetwork, Reader, match_sentences, read_matches
from protorynet.prototypes import (
    KEPT_STATES,
    EditEntry,
    EditLog,
    Edits,
    PastState,
    Prototype,
    Prototypes,
    apply_edits,
)
from protorynet.settings import Settings

_SETTINGS = Settings(reader_size=3, reader_layers=2)
# In the order of the model; on purpose not in that of the ids.
_IDS = (4, 7, 2, 9)
_USAGE = (0.1, 0.2, 0.3, 0.4)
_VECTORS = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]

Edit = Callable[..., Any]


@pytest.fixture
def network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        reader = Reader(4, 2, hidden=3, layers=2, dropout=0.0)
    made = ProtoryNetwork(torch.tensor(_VECTORS), reader, _SETTINGS)
    return made.eval().requires_grad_(False)


@pytest.fixture
def prototypes():
    rates = {"bad": 0.5, "good": 0.5}
    return Prototypes(
        tuple(
            Prototype(number, f"Sentence {number}.", number, usage, rates, rates)
            for number, usage in zip(_IDS, _USAGE, strict=True)
        ),
        ("bad", "good"),
    )


@pytest.fixture
def edit(network, prototypes):
    """Edit the network; `vectors` are those of the new sentences."""

    def edited(vectors: Any = (), of: Prototypes = prototypes, **edits: Any) -> Any:
        points = torch.tensor(vectors, dtype=torch.float32).reshape(-1, 2)
        return apply_edits(network, of, Edits.of(**edits), points, "multiclass")

    return edited


def weights(network: ProtoryNetwork) -> torch.Tensor:
    return network.reader.lstm.weight_ih_l0.detach()


def test_a_dropped_prototype_is_gone_and_the_others_keep_ids_vectors_and_weights(network, edit):
    edited = edit(drop=[7])
    assert edited.prototypes.ids.tolist() == [4, 2, 9]
    assert edited.network.prototypes.tolist() == [_VECTORS[0], _VECTORS[2], _VECTORS[3]]
    assert torch.equal(weights(edited.network), weights(network)[:, [0, 2, 3]])


def test_documents_that_never_met_a_dropped_prototype_are_read_as_before(network, edit):
    sentences = torch.tensor([[0.1, 0.9], [4.0, 6.0], [-1.0, 0.0]])
    index, lengths = torch.arange(3), torch.tensor([3])
    before, after = (
        read_matches(made.reader, match_sentences(made, sentences, index, lengths), "multiclass")
        for made in (network, edit(drop=[7]).network)
    )
    np.testing.assert_allclose(after.running, before.running, atol=1e-6)


def test_sentences_of_a_dropped_prototype_go_to_the_nearest_that_remain(edit):
    edited = edit(drop=[7])
    one = torch.tensor([[1.0, 0.1]])
    found = match_sentences(edited.network, one, torch.arange(1), torch.tensor([1])).prototypes
    assert edited.prototypes.ids[found].tolist() == [4]
    assert edited.changes[0].nearest == 4


def test_a_merged_prototype_has_the_mean_of_the_weights_by_usage(network, prototypes, edit):
    near, far = (str(edit(merge=[group]).changes[0]) for group in ((4, 7), (9, 7)))
    assert near == "7 “Sentence 7.” merged into 4"
    assert "but 4 is nearer to it" in far
    edited, old = edit(merge=[(2, 9)]), weights(network)
    assert edited.prototypes.ids.tolist() == [4, 7, 2]
    expected = (0.3 * old[:, 2] + 0.4 * old[:, 3]) / 0.7
    torch.testing.assert_close(weights(edited.network)[:, 2], expected)
    assert torch.equal(weights(edited.network)[:, :2], old[:, :2])
    unused = replace(prototypes, items=tuple(replace(item, usage=0.0) for item in prototypes))
    plain = edit(of=unused, merge=[[4, 7]])
    torch.testing.assert_close(weights(plain.network)[:, 0], old[:, :2].mean(dim=1))


def test_a_replaced_prototype_has_the_new_vector_and_its_old_weights(network, edit):
    edited = edit([3.0, 3.0], replace={2: "The room was cold."})
    item = edited.prototypes[2]
    assert (item.id, item.sentence, item.row) == (2, "The room was cold.", None)
    assert edited.network.prototypes[2].tolist() == [3.0, 3.0]
    assert torch.equal(weights(edited.network), weights(network))


def test_a_new_name_changes_nothing_but_the_name(network, prototypes, edit):
    edited = edit(rename={2: "  slow\nservice "})
    assert edited.network is network
    assert edited.prototypes[2].caption == "slow service: Sentence 2."
    assert edit(of=edited.prototypes, rename={2: ""}).prototypes == prototypes


def test_several_edits_are_made_together_on_a_copy(network, edit):
    before = {name: value.clone() for name, value in network.state_dict().items()}
    random = torch.get_rng_state()
    edited = edit([0.5, 0.0], drop=[9], merge=[(4, 7)], replace={4: "Both."}, rename={4: "both"})
    captions = [(item.id, item.caption) for item in edited.prototypes]
    assert captions == [(4, "both: Both."), (2, "Sentence 2.")]
    assert [change.kind for change in edited.changes] == ["drop", "merge", "replace", "rename"]
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"drop": [7, 7]}, "prototype 7 is to be removed twice"),
        ({"drop": [7], "merge": [(4, 7)]}, "prototype 7 is to be removed twice"),
        ({"drop": [7], "rename": {7: "x"}}, "prototype 7 is to be removed, but is named for"),
        ({"merge": [(4, 4)]}, "prototype 4 is to be removed, but is named for"),
        ({"merge": [(4, 7), (4, 2)]}, "prototype 4 is to be merged into twice"),
        ({"merge": [(4,)]}, "at least two"),
        ({"merge": [4, 7]}, "merge=4 should be a list"),
        ({"replace": [(4, "A."), (4, "B.")]}, "prototype 4 is to be replaced twice"),
        ({"rename": [(4, "a"), (4, "b")]}, "prototype 4 is to be renamed twice"),
        ({"replace": {4: " \n "}}, "the sentence for prototype 4 is empty"),
        ({"replace": {4: "x" * 501}}, "has 501 characters; give at most 500"),
        ({"rename": {4: "x" * 81}}, "has 81 characters; give at most 80"),
        ({"replace": {4: "half \ud800"}}, "half a Unicode character"),
        ({"replace": {4: None}}, "is None; expected a text"),
        ({"replace": ["4 text"]}, "should give a text for each id"),
        ({"drop": [True]}, "True is no prototype id"),
        ({"drop": ["7"]}, "'7' is no prototype id"),
        ({"drop": 7}, "drop=7 should be a list"),
        ({"drop": [5]}, "no prototype 5; the ids are 2, 4, 7, 9"),
        ({"merge": [(5, 4)]}, "no prototype 5; the ids are 2, 4, 7, 9"),
        ({"rename": {5: "x"}}, "no prototype 5; the ids are 2, 4, 7, 9"),
        ({"drop": [7], "merge": [(4, 2, 9)]}, "removing 3 of 4 prototypes would leave 1"),
    ],
)
def test_edits_that_make_no_sense_are_refused(edit, words, message):
    with pytest.raises(InputError, match=message):
        edit(**words)


@pytest.mark.parametrize("other", [[1.0, 0.0], [1.0, 1e-7]])
def test_two_prototypes_are_never_the_same(edit, other):
    with pytest.raises(InputError, match=r"prototype 7 .* is the same to the encoder"):
        edit(other, replace={2: "Again."})
    assert edit(other, drop=[7], replace={2: "Again."}).prototypes[1].sentence == "Again."


@pytest.fixture
def log_of(network, prototypes, edit):
    """Make a log of so many edits."""

    def make(count: int) -> EditLog:
        log = EditLog()
        for number in range(count):
            changes = edit(rename={4: f"name {number}"}).changes
            log = log.with_edit(changes, network, prototypes)
        return log

    return make


def test_edits_are_undone_last_first_and_stay_in_the_log(log_of, network, prototypes):
    log, first = log_of(3).undo()
    log, second = log.with_edit((), network, prototypes).undo()
    log, third = log.undo()
    assert [state.number for state in (first, second, third)] == [3, 4, 2]
    assert [entry.undone is None for entry in log.entries] == [True, False, False, False]


def test_undoing_ends_at_the_oldest_state(log_of):
    with pytest.raises(InputError, match=r"there is no edit to undo\.$"):
        EditLog().undo()
    log = log_of(KEPT_STATES + 1)
    assert [state.number for state in log.states] == list(range(2, KEPT_STATES + 2))
    for _ in range(KEPT_STATES):
        log, _ = log.undo()
    with pytest.raises(InputError, match="only the last 10 edits can be undone"):
        log.undo()


def test_names_alone_leave_the_reader_up_to_date(log_of, network, prototypes, edit):
    log = log_of(1)
    assert not log.reader_is_behind
    log = log.with_edit(edit(drop=[7]).changes, network, prototypes)
    assert log.reader_is_behind
    assert not log.undo()[0].reader_is_behind


def test_a_log_that_contradicts_itself_is_refused(network, prototypes):
    entry, state = EditEntry(1, "now"), PastState(1, network, prototypes)
    for entries, states in [
        ((EditEntry(2, "now"),), ()),
        ((entry, entry), ()),
        ((), (state,)),
        ((entry,), (state, state)),
        ((EditEntry(1, "now", undone="later"),), (state,)),
    ]:
        with pytest.raises(ValueError, match="edits"):
            EditLog(entries, states)
