"""Edits of prototypes: what each does to the network, what it leaves alone, what is refused."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch

from protorynet.errors import InputError
from protorynet.network import ProtoryNetwork, Reader
from protorynet.prototypes import (
    KEPT_STATES,
    EditLog,
    Edits,
    Member,
    Prototype,
    Prototypes,
    apply_edits,
)
from protorynet.settings import Settings

_SETTINGS = Settings(reader_size=3, reader_layers=2)
# Of each prototype, in the order of the model, which is not that of the ids: its members and how
# much each is used.
_FAMILIES: dict[int, dict[int, float]] = {
    4: {41: 0.3, 17: 0.1, 18: 0.1},
    7: {22: 0.2, 30: 0.1},
    2: {5: 0.1},
    9: {50: 0.1},
}


@pytest.fixture
def prototypes():
    rates = {"bad": 0.5, "good": 0.5}
    items = tuple(
        Prototype(
            *(number, f"Member {min(family)}.", min(family), sum(family.values()), rates, rates),
            members=tuple(
                Member(member, f"Member {member}.", member, usage, (usage, 1 - usage))
                for member, usage in family.items()
            ),
        )
        for number, family in _FAMILIES.items()
    )
    return Prototypes(items, ("bad", "good"))


@pytest.fixture
def network(prototypes):
    """A network whose vectors count by ten."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        reader = Reader(4, 2, hidden=3, layers=2, dropout=0.0)
    vectors = torch.tensor([[10.0 * member.id, 0.0] for member in prototypes.members])
    made = ProtoryNetwork(vectors, reader, _SETTINGS, prototypes.sizes)
    return made.eval().requires_grad_(False)


@pytest.fixture
def edit(network, prototypes):
    """Edit the model, and check that what is told fits the network; `vectors` are typed ones."""

    def edited(
        vectors: Any = (),
        of: Prototypes = prototypes,
        taken: tuple[int, int] = (0, 0),
        **edits: Any,
    ) -> Any:
        points = torch.tensor(vectors, dtype=torch.float32).reshape(-1, 2)
        found = apply_edits(network, of, Edits.of(**edits), points, "multiclass", taken=taken)
        assert found.network.sizes == found.prototypes.sizes
        for member, vector in zip(
            found.prototypes.members, found.network.members.tolist(), strict=True
        ):
            assert member.row is None or vector == [10.0 * member.id, 0.0]
        found.prototypes.check()
        return found

    return edited


def members(edited: Any) -> dict[int, list[int]]:
    return {item.id: [member.id for member in item.members] for item in edited.prototypes}


def weights(network: ProtoryNetwork) -> torch.Tensor:
    return network.reader.lstm.weight_ih_l0.detach()


def test_a_dropped_prototype_is_gone_and_the_others_keep_ids_and_weights(network, edit):
    edited = edit(drop=[7])
    assert edited.prototypes.ids.tolist() == [4, 2, 9]
    assert torch.equal(weights(edited.network), weights(network)[:, [0, 2, 3]])


def test_a_merged_prototype_has_the_mean_of_the_weights_by_usage(network, prototypes, edit):
    edited, old = edit(merge=[(4, 7)]), weights(network)
    assert edited.prototypes.ids.tolist() == [4, 2, 9]
    expected = (0.5 * old[:, 0] + 0.3 * old[:, 1]) / 0.8
    torch.testing.assert_close(weights(edited.network)[:, 0], expected)
    assert torch.equal(weights(edited.network)[:, 1:], old[:, 2:])
    unused = replace(prototypes, items=tuple(replace(item, usage=0.0) for item in prototypes))
    plain = edit(of=unused, merge=[[4, 7]])
    torch.testing.assert_close(weights(plain.network)[:, 0], old[:, :2].mean(dim=1))


def test_a_replaced_prototype_has_the_new_vector_and_its_old_weights(network, edit):
    edited = edit([3.0, 3.0], replace={2: "The room was cold."})
    item = edited.prototypes[2]
    assert (item.id, item.sentence, item.row) == (2, "The room was cold.", None)
    assert edited.network.members[5].tolist() == [3.0, 3.0]
    assert torch.equal(weights(edited.network), weights(network))


def test_a_new_name_changes_nothing_but_the_name(network, prototypes, edit):
    edited = edit(rename={2: "  slow\nservice "})
    assert edited.network is network
    assert edited.prototypes[2].caption == "slow service: Member 5."
    assert edit(of=edited.prototypes, rename={2: ""}).prototypes == prototypes


@pytest.mark.parametrize(
    ("edits", "families", "change"),
    [
        (
            {"merge": [(7, 4)]},
            {7: [22, 30, 41, 17, 18], 2: [5], 9: [50]},
            "prototype 4 “Member 17.” merged into prototype 7",
        ),
        (
            {"move": {17: 2}},
            {4: [41, 18], 7: [22, 30], 2: [5, 17], 9: [50]},
            "sentence 17 of prototype 4 “Member 17.” moved to prototype 2",
        ),
        (
            {"split": [[18, 41]]},
            {4: [17], 7: [22, 30], 2: [5], 9: [50], 10: [41, 18]},
            "2 sentences of prototype 4, such as “Member 41.”, split off as prototype 10",
        ),
        (
            {"drop_members": [41]},
            {4: [17, 18], 7: [22, 30], 2: [5], 9: [50]},
            "sentence 41 of prototype 4 “Member 41.” dropped: what was matched to it goes to the "
            "nearest that remain",
        ),
        (
            {"add": [(2, "My own.")], "vectors": [1.0, 1.0]},
            {4: [41, 17, 18], 7: [22, 30], 2: [5, 51], 9: [50]},
            "sentence 51 “My own.” added to prototype 2",
        ),
    ],
)
def test_members_go_where_they_are_told(prototypes, edit, edits, families, change):
    edited = edit(**edits)
    assert members(edited) == families
    assert [str(each) for each in edited.changes] == [change]
    for item in edited.prototypes:
        old = next((old for old in prototypes if old.id == item.id), item)
        assert (item.usage, item.class_rate, item.words) == (old.usage, old.class_rate, old.words)


def test_a_prototype_split_off_is_read_as_before_and_measured_by_its_members(network, edit):
    edited, mixed = edit(split=[[41, 18]]), edit(split=[[17, 22]])
    old, new = weights(network), weights(edited.network)
    assert torch.equal(new, old[:, [0, 1, 2, 3, 0]])
    torch.testing.assert_close(weights(mixed.network)[:, 4], old[:, 0] / 3 + old[:, 1] * 2 / 3)
    item = edited.prototypes[4]
    assert (item.sentence, item.row, item.name, item.words) == ("Member 41.", 41, None, ())
    assert (item.usage, mixed.prototypes[4].usage) == (pytest.approx(0.4), pytest.approx(0.3))
    assert item.class_rate == pytest.approx({"bad": (0.3 * 0.3 + 0.1 * 0.1) / 0.4, "good": 0.75})
    assert item.scores == pytest.approx(edited.prototypes[0].scores)
    assert [change.id for change in mixed.changes] == [4, 7]


def test_many_edits_are_made_together_on_a_copy_of_members_first(network, edit):
    before, random = copy.deepcopy(network.state_dict()), torch.get_rng_state()
    edited = edit(
        [[1.0, 1.0], [2.0, 1.0]],
        drop=[4],
        merge=[(2, 7)],
        move={41: 9, 22: 9},
        split=[[17]],
        drop_members=[50],
        add=[(9, "One."), (2, "Two.")],
        rename={9: "nine"},
    )
    assert members(edited) == {2: [5, 52, 30], 9: [41, 22, 51], 10: [17]}
    assert edited.prototypes[1].caption == "nine: Member 41."
    kinds = [change.kind for change in edited.changes]
    assert kinds == [
        *("move", "move", "split", "drop_member", "add", "add", "merge", "drop", "rename")
    ]
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random)


def test_ids_are_never_given_again(edit):
    edited = edit([1.0, 1.0], taken=(12, 80), split=[[17], [18]], add={2: "My own."})
    assert members(edited) == {4: [41], 7: [22, 30], 2: [5, 81], 9: [50], 13: [17], 14: [18]}
    log = EditLog().with_edit(edited.changes, edited.network, edited.prototypes)
    assert log.highest_ids == (14, 81)
    assert log.undo()[0].highest_ids == (14, 81)
    gone = edit(drop=[9]).changes
    assert log.with_edit(gone, edited.network, edited.prototypes).highest_ids == (14, 81)


def test_the_last_ten_edits_can_be_undone(network, prototypes, edit):
    log = EditLog()
    for number in range(KEPT_STATES + 1):
        changes = edit(rename={4: f"name {number}"}).changes
        log = log.with_edit(changes, network, prototypes)
    assert not log.reader_is_behind  # of names
    for _ in range(KEPT_STATES):
        log, _ = log.undo()
    with pytest.raises(InputError, match="only the last 10 edits can be undone"):
        log.undo()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"drop_members": [5]}, "prototype 2 would lose its last sentence; drop the prototype"),
        ({"replace": {4: "New."}}, "prototype 4 has 3 sentences"),
        ({"move": {41: 4}}, "sentence 41 is of prototype 4 already"),
        ({"move": {41: 3}}, "there is no prototype 3"),
        ({"move": {40: 2}}, "there is no sentence 40; `protorynet prototypes --json` lists"),
        ({"move": [41, 2]}, r"should give a prototype for each id, as in move=\{41: 3\}"),
        ({"move": {41: 2}, "drop": [2]}, "prototype 2 is to be removed, but is named for"),
        ({"move": {41: 2}, "drop_members": [41]}, "sentence 41 is named twice"),
        ({"split": [[]]}, "at least one sentence"),
        ({"split": [[1, 2]]}, "there is no sentence 1, 2;"),
        ({"add": {4: " "}}, "the sentence for prototype 4 is empty"),
        (
            {"add": {4: "New."}, "vectors": [220.0, 1e-7]},
            r"^sentence 22 of prototype 7 \(“Member 22.”\) is the same to the encoder as the "
            "sentence for prototype 4; give another.$",
        ),
        ({"drop": [7, 7]}, "prototype 7 is to be removed twice"),
        ({"merge": [(4, 4)]}, "prototype 4 is to be removed, but is named for"),
        ({"merge": [(4, 7), (4, 2)]}, "prototype 4 is to be merged into twice"),
        ({"merge": [(4,)]}, "at least two"),
        ({"replace": [(4, "A."), (4, "B.")]}, "prototype 4 is to be replaced twice"),
        ({"replace": {4: "x" * 501}}, "has 501 characters; give at most 500"),
        ({"rename": {4: "x" * 81}}, "has 81 characters; give at most 80"),
        ({"replace": {4: "half \ud800"}}, "half a Unicode character"),
        ({"replace": {4: None}}, "is None; expected a text"),
        ({"drop": [True]}, "True is no id"),
        ({"drop": 7}, "drop=7 should be a list"),
        ({"drop": [5]}, "no prototype 5; the ids are 2, 4, 7, 9"),
        ({"drop": [7], "merge": [(4, 2, 9)]}, "removing 3 of 4 prototypes would leave 1"),
    ],
)
def test_edits_that_make_no_sense_are_refused(edit, words, message):
    with pytest.raises(InputError, match=message):
        edit(**{"vectors": [1.0, 1.0] * len(words.get("add", ())), **words})
