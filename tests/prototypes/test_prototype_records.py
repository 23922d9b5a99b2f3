"""What is known of prototypes, and how it is handed out."""

from __future__ import annotations

import json

import pytest

from protorynet.prototypes import Prototype, Prototypes


@pytest.fixture
def prototypes() -> Prototypes:
    rows = [(2, "So-so.", 0.4), (1, "Great!", 0.9), (3, "Fine.", 0.4)]
    return Prototypes(
        tuple(
            Prototype(
                number, text, number + 10, 0.3, {"bad": 1 - p, "good": p}, {"bad": 1, "good": 0}
            )
            for number, text, p in rows
        ),
        ("bad", "good"),
    )


def test_prototypes_are_ranked_by_the_score_of_a_class(prototypes: Prototypes) -> None:
    assert [item.id for item in prototypes.ranked("good")] == [1, 2, 3]
    assert [item.id for item in prototypes.ranked("bad")] == [2, 3, 1]
    assert prototypes.ranked() == prototypes.ranked("good")


def test_json_has_the_keys_that_other_programs_read(prototypes: Prototypes) -> None:
    values = json.loads(json.dumps(prototypes.to_dict()))
    assert set(values) == {"prototypes"}
    for entry in values["prototypes"]:
        assert {"id", "sentence", "usage", "scores", "class_rate"} <= set(entry)
        assert set(entry["scores"]) == set(entry["class_rate"]) == {"bad", "good"}


def test_the_table_has_a_row_per_prototype(prototypes: Prototypes) -> None:
    table = prototypes.to_pandas()
    assert table["id"].tolist() == [2, 1, 3]
    assert table["score good"].tolist() == [0.4, 0.9, 0.4]


def test_prototypes_behave_as_a_sequence(prototypes: Prototypes) -> None:
    assert len(prototypes) == 3
    assert prototypes[1].sentence == "Great!"
    assert [item.id for item in prototypes] == [2, 1, 3]
