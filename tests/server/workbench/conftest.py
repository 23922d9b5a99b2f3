"""Servers with a table of labelled reviews."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server_scene import running
from workbench_scene import Bench, write_table

from protorynet.server import ServerConfig


@pytest.fixture(scope="session")
def table(reviews: Any, unseen_reviews: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews with the columns text, label and split."""
    return write_table(tmp_path_factory.mktemp("table") / "reviews.csv", reviews, unseen_reviews)


@pytest.fixture(scope="session")
def reading(hotel: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A workbench that tests only read from."""
    model = Path(shutil.copytree(hotel, tmp_path_factory.mktemp("reading") / "hotel"))
    with running(ServerConfig(models={"hotel": model}, data=table, device="cpu")) as server:
        yield Bench(server)


@pytest.fixture
def bench(own_hotel: Path, table: Path) -> Iterator[Bench]:
    """A workbench of the test's own."""
    with running(ServerConfig(models={"hotel": own_hotel}, data=table, device="cpu")) as server:
        yield Bench(server)


@pytest.fixture(scope="session")
def without_data(hotel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A workbench without a table; tests only read from it."""
    model = Path(shutil.copytree(hotel, tmp_path_factory.mktemp("bare") / "hotel"))
    with running(ServerConfig(models={"hotel": model}, device="cpu")) as server:
        yield Bench(server)
