"""A quick model in a folder, and a table of reviews to score with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from scale_scene import scored_here, write_reviews

from protorynet import ProtoryNetClassifier, Settings


@pytest.fixture(scope="session")
def model(
    tiny_bert_folder: Path,
    reviews: object,
    quick: Settings,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A model directory that tests only read."""
    folder = tmp_path_factory.mktemp("scaled") / "hotel"
    classifier = ProtoryNetClassifier(str(tiny_bert_folder), settings=quick, device="cpu")
    classifier.fit(reviews.texts, reviews.labels).save(folder)
    return folder


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two Parquet files with 1,500 reviews, a few of them empty."""
    folder = tmp_path_factory.mktemp("reviews")
    write_reviews(folder / "b.parquet", range(500), row_group=200)
    write_reviews(folder / "a.parquet", range(500, 1_500), row_group=1_000)
    return folder


@pytest.fixture(scope="session")
def expected(model: Path, table: Path) -> list[dict[str, object]]:
    """The rows that one process makes of the table."""
    return scored_here(model, [table / "a.parquet", table / "b.parquet"])
