"""What is told of the data sets."""

from __future__ import annotations

import pytest

from protorynet.errors import InputError
from protorynet_lab.datasets import DATASETS, known_dataset
from protorynet_lab.datasets.recipes import RECIPES


def test_every_data_set_told_of_can_be_prepared() -> None:
    assert [each.name for each in DATASETS] == list(RECIPES)


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda each: each.name)
def test_nothing_is_left_untold(dataset: object) -> None:
    told = {name: value for name, value in vars(dataset).items() if name not in ("hub", "used")}
    assert all(told.values())


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda each: each.name)
def test_as_many_classes_are_prepared_as_are_told(dataset: object) -> None:
    assert len(RECIPES[dataset.name].classes) == dataset.n_classes  # type: ignore[attr-defined]


def test_a_near_miss_is_guessed() -> None:
    with pytest.raises(InputError, match="no data set 'Rotten tomato'; did you mean 'rotten_tom"):
        known_dataset("Rotten tomato")


def test_an_unknown_name_gets_the_known_ones() -> None:
    with pytest.raises(InputError, match="no data set 'zzz'; known are imdb, amazon, yelp"):
        known_dataset("zzz")
