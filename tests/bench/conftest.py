"""A tiny data set, a tiny encoder and a judge, and records of every model measured on them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from bench_scene import Scene, run_words
from safetensors.numpy import load_file, save_file

from protorynet.bench import main


@pytest.fixture(scope="session")
def tiny_data(reviews: Any, unseen_reviews: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with hotel.parquet: 60 reviews to learn from and 40 to test on."""
    folder = tmp_path_factory.mktemp("tables")
    train, test = reviews, unseen_reviews
    table = pd.DataFrame(
        {
            "text": [*train.texts, *test.texts],
            "label": [int(label == "good") for label in (*train.labels, *test.labels)],
            "split": ["train"] * 60 + ["test"] * 40,
        }
    )
    table.to_parquet(folder / "hotel.parquet")
    return folder


@pytest.fixture(scope="session")
def judge_folder(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny encoder with other weights."""
    folder = tmp_path_factory.mktemp("judge") / "judge"
    shutil.copytree(tiny_bert_folder, folder)
    weights = load_file(folder / "model.safetensors")
    save_file({name: 2 * value for name, value in weights.items()}, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="session")
def measured(
    tiny_data: Path,
    tiny_bert_folder: Path,
    judge_folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Scene:
    """All models, trained by the command for a moment with two seeds; tests only read it."""
    scene = Scene(
        tiny_data, tiny_bert_folder, judge_folder, tmp_path_factory.mktemp("bench") / "records"
    )
    assert main(run_words(scene)) == 0
    return scene


@pytest.fixture
def scene(measured: Scene, tmp_path: Path) -> Scene:
    """The same with records of the test's own, to damage."""
    own = Path(shutil.copytree(measured.records, tmp_path / "records"))
    return Scene(measured.data, measured.encoder, measured.judge, own)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Path], Path]:
    """Write the pages from a folder of records, and return the folder of the pages."""

    def write(records: Path) -> Path:
        docs = tmp_path / "docs"
        assert main(["write", "--results", str(records), "--docs", str(docs)]) == 0
        return docs

    return write
