"""Tiny data sets, a tiny encoder and a judge, and records of everything measured on them."""

import fcntl
import gc
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import pandas as pd
import pytest
from bench_scene import FEW, MEASURED, Scene, words
from safetensors.numpy import load_file, save_file

from protorynet.cli import main

_CLASSES = {"Animal": "The owl sleeps.", "Building": "The tower is old.", "Person": "She sang."}


@pytest.fixture(scope="session")
def tiny_data(reviews, unseen_reviews, tmp_path_factory) -> Path:
    """A folder with hotel.parquet, of two classes, and dbpedia.parquet, of three."""
    folder = tmp_path_factory.mktemp("tables")
    labels = [int(label == "good") for label in (*reviews.labels, *unseen_reviews.labels)]
    kinds = sorted(_CLASSES) * 12
    of_kinds = [f"{_CLASSES[kind]} {reviews.texts[n]}" for n, kind in enumerate(kinds)]
    tables = {
        "hotel": ([*reviews.texts, *unseen_reviews.texts], labels, 60),
        "dbpedia": (of_kinds, kinds, 24),
    }
    for name, (texts, classes, n_train) in tables.items():
        splits = ["train"] * n_train + ["test"] * (len(texts) - n_train)
        table = pd.DataFrame({"text": texts, "label": classes, "split": splits})
        table.to_parquet(folder / f"{name}.parquet")
    return folder


@pytest.fixture(scope="session")
def judge_folder(tiny_bert_folder, tmp_path_factory) -> Path:
    """The tiny encoder with other weights."""
    folder = tmp_path_factory.mktemp("judge") / "judge"
    shutil.copytree(tiny_bert_folder, folder)
    weights = load_file(folder / "model.safetensors")
    save_file({name: 2 * value for name, value in weights.items()}, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="session")
def measured(tiny_data, tiny_bert_folder, judge_folder, tmp_path_factory) -> Scene:
    """Everything measured by `bench all` for a moment, two twice, of three classes only a few."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    # It takes longest of all in this suite, so processes that test side by side measure it once.
    with (folder / "measured.json").open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if paths := file.read():
            return Scene(*map(Path, json.loads(paths)))
        out = tmp_path_factory.mktemp("bench") / "results"
        scene = Scene(tiny_data, tiny_bert_folder, judge_folder, out)
        assert main(words(scene, "recipe", models="none,bag-of-words", seeds="0,1")) == 0
        # Every job looks for garbage, which takes long among all the modules that are loaded now.
        gc.freeze()
        assert main(words(scene, "all", models=",".join(MEASURED))) == 0
        assert main(words(scene, "all", sets="hotel,dbpedia", models=",".join(FEW))) == 0
        gc.unfreeze()
        file.write(json.dumps([str(path) for path in astuple(scene)]))
    return scene


@pytest.fixture
def scene(measured, tmp_path) -> Scene:
    """The same with records of the test's own, to damage."""
    own = tmp_path / "results"
    shutil.copytree(measured.records, own / "records")
    return Scene(measured.data, measured.encoder, measured.judge, own)


@pytest.fixture
def written(tmp_path) -> Callable[..., Path]:
    """Write the pages from a folder of records, and return the folder of the pages."""

    def write(records: Path, what: str = "recipe") -> Path:
        docs = tmp_path / "docs"
        own = docs / "results" / "records"
        if own.exists():
            shutil.rmtree(own)
        shutil.copytree(records, own)
        assert main(["bench", what, "--from-records", "--out", str(docs / "results")]) == 0
        return docs

    return write
