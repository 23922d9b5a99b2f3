"""A small exported model, to read and to damage."""

import shutil
from pathlib import Path

import pytest
from scale_scene import scored_here, write_reviews


@pytest.fixture(scope="session")
def exported(trained, tmp_path_factory):
    """An exported model that tests only read."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from protorynet.inference import export_onnx

    folder = tmp_path_factory.mktemp("runtime") / "exported"
    export_onnx(trained.predictor, folder)
    return folder


@pytest.fixture
def own(exported, tmp_path):
    """An exported model of the test's own, to damage."""
    return Path(shutil.copytree(exported, tmp_path / "own"))


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """A folder of two Parquet files with 1,500 reviews, a few of them empty."""
    folder = tmp_path_factory.mktemp("reviews")
    write_reviews(folder / "b.parquet", range(500), row_group=200)
    write_reviews(folder / "a.parquet", range(500, 1_500), row_group=1_000)
    return folder


@pytest.fixture(scope="session")
def expected(hotel, table):
    """The rows that one process makes of the table."""
    return scored_here(hotel, [table / "a.parquet", table / "b.parquet"])
