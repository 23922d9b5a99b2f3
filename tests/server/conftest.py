"""A small model made once, and a server of it that tests only read from."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from server_scene import Running, running

from protorynet import ProtoryNetClassifier, Settings
from protorynet.server import ServerConfig


@pytest.fixture(scope="session")
def hotel(
    tiny_bert_folder: Path,
    reviews: object,
    quick: Settings,
    tmp_path_factory: pytest.TempPathFactory,
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
    with running(ServerConfig(models={"hotel": hotel}, device="cpu")) as found:
        yield found
