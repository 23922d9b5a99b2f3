"""A small model made once, servers of it, and workbenches with a table of labelled reviews."""

import shutil
from pathlib import Path

import pytest

from protorynet import ProtoryNetClassifier
from server_scene import serving, write_table


@pytest.fixture(scope="session")
def classifier(hotel):
    """The same model, used directly."""
    return ProtoryNetClassifier.load(hotel, device="cpu", cache=False)


@pytest.fixture
def own_hotel(hotel, tmp_path):
    """A model directory of the test's own, to damage or replace."""
    return Path(shutil.copytree(hotel, tmp_path / "hotel"))


@pytest.fixture(scope="session")
def server(hotel):
    """A server of one model, without keys."""
    with serving(hotel) as found:
        yield found


@pytest.fixture(scope="session")
def table(reviews, unseen_reviews, tmp_path_factory):
    """Reviews with the columns text, label and split."""
    return write_table(tmp_path_factory.mktemp("table") / "reviews.csv", reviews, unseen_reviews)


@pytest.fixture(scope="session")
def reading(hotel, table, tmp_path_factory):
    """A workbench that tests only read from."""
    model = Path(shutil.copytree(hotel, tmp_path_factory.mktemp("reading") / "hotel"))
    with serving(model, data=table) as found:
        yield found


@pytest.fixture
def bench(own_hotel, table):
    """A workbench of the test's own."""
    with serving(own_hotel, data=table) as found:
        yield found


@pytest.fixture(scope="session")
def without_data(hotel, tmp_path_factory):
    """A workbench without a table; tests only read from it."""
    model = Path(shutil.copytree(hotel, tmp_path_factory.mktemp("bare") / "hotel"))
    with serving(model) as found:
        yield found
