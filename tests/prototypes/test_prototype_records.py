"""What is known of prototypes, how it is handed out, and how many of them are kept."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from protorynet.prototypes import (
    Member,
    Prototype,
    Prototypes,
    PruningPoint,
    choose_size,
)

_CURVES = st.lists(
    st.tuples(st.integers(1, 40), st.floats(0, 1)), min_size=1, unique_by=lambda point: point[0]
).map(
    lambda points: [
        PruningPoint(size, 0.01, accuracy) for size, accuracy in sorted(points, reverse=True)
    ]
)


@pytest.fixture
def prototypes():
    facts = [(2, "So-so.", 0.4), (1, "Great!", 0.9), (3, "Fine.", 0.4)]
    rates = {"bad": 1, "good": 0}
    items = [
        Prototype(number, text, number + 10, 0.3, {"bad": 1 - p, "good": p}, rates)
        for number, text, p in facts
    ]
    return Prototypes(tuple(items), ("bad", "good"))


def test_prototypes_are_ranked_by_the_score_of_a_class(prototypes):
    assert [item.id for item in prototypes.ranked("good")] == [1, 2, 3]
    assert [item.id for item in prototypes.ranked("bad")] == [2, 3, 1]
    assert prototypes.ranked() == prototypes.ranked("good")


def test_members_are_counted_through_all_prototypes_and_must_agree(prototypes):
    members = (Member(7, "Great!", 2, 0.2, (0.25, 0.75)), Member(8, "Super!", 5, 0.1, (1.0, 0.0)))
    family = replace(prototypes[1], members=members)
    both = replace(prototypes, items=(prototypes[0], family))
    assert both.sizes == (1, 2)
    assert [(each.id, each.row) for each in both.members] == [(2, 12), (7, 2), (8, 5)]
    assert [each.row for each in both.with_rows(range(100, 120)).members] == [112, 102, 105]
    assert family.spread == pytest.approx(math.sqrt((0.2 * 0.25**2 + 0.1 * 0.5**2) / 0.3))
    assert prototypes[0].spread == 0
    both.check()
    other_id, other_width = replace(members[1], id=2), replace(members[1], class_rate=(1.0,))
    for wrong, message in ((other_id, "same id"), (other_width, "other classes")):
        items = (prototypes[0], replace(family, members=(members[0], wrong)))
        with pytest.raises(ValueError, match=message):
            replace(both, items=items).check()


def test_the_table_has_a_row_per_prototype(prototypes):
    table = prototypes.to_pandas()
    assert table["id"].tolist() == [2, 1, 3]
    assert table["score good"].tolist() == [0.4, 0.9, 0.4]


@given(_CURVES, st.integers(2, 40), st.floats(0, 0.2))
def test_the_fewest_prototypes_within_the_tolerance_are_chosen(curve, least, tolerance):
    chosen = choose_size(curve, least=least, tolerance=tolerance)
    allowed = {p.n_prototypes: p.accuracy for p in curve if p.n_prototypes >= least}
    if not allowed:
        assert chosen == curve[0].n_prototypes
        return
    best = max(allowed.values())
    assert allowed[chosen] >= best - tolerance
    assert all(accuracy < best - tolerance for size, accuracy in allowed.items() if size < chosen)
