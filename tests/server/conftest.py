"""A small model made once, servers of it, and workbenches with a table of labelled reviews."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protorynet import ProtoryNetClassifier, Settings
from server_scene import Running, serving, write_table


@pytest.fixture(scope="session")
def hotel(
    tiny_bert_folder: Path, reviews: Any, quick: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A model directory that tests only read."""
    folder = tmp_path_factory.mktemp("served") / "hotel"
    classifier = ProtoryNetClassifier(str(tiny_bert_folder), settings=quick, device="cpu")
    classifier.fit(reviews.texts, reviews.labels).save(folder)
    return folder


@pytest.fixture(scope="session")
def classifier(hotel: Path) -> ProtoryNetClassifier:
    """The same model, used directly."""
    return ProtoryNetClassifier.load(hotel, device="cpu", cache=False)


@pytest.fixture
def own_hotel(hotel: Path, tmp_path: Path) -> Path:
    """A model directory of the test's own, to damage or replace."""
    return Path(shutil.copytree(hotel, tmp_path / "hotel"))


@pytest.fixture(scope="session")
def server(hotel: Path) -> Iterator[Running]:
    """A server of one model, without keys."""
    with serving(hotel) as found:
        yield found


@pytest.fixture(scope="session")
def table(reviews: Any, unseen_reviews: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews with the columns text, label and split."""
    return write_table(tmp_path_factory.mktemp("table") / "reviews.csv", reviews, unseen_reviews)


@pytest.fixture(scope="session")
def reading(
    hotel: Path, table: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A workbench that tests only read from."""
    model = Path(shutil.copytree(hotel, tmp_path_factory.mktemp("reading") / "hotel"))
    with serving(model, data=table) as found:
        yield found


@pytest.fixture
def bench(own_hotel: Path, table: Path) -> Iterator[Running]:
    """A workbench of the test's own."""
    with serving(own_hotel, data=table) as found:
        yield found


@pytest.fixture(scope="session")
def without_data(hotel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A workbench without a table; tests only read from it."""
    model = Path(shutil.copytree(hotel, tmp_path_factory.mktemp("bare") / "hotel"))
    with serving(model) as found:
        yield found
