"""A small exported model, to read and to damage."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from protorynet import ProtoryNetClassifier, Settings


@pytest.fixture(scope="session")
def trained(tiny_bert_folder: Path, reviews: Any, quick: Settings) -> ProtoryNetClassifier:
    classifier = ProtoryNetClassifier(tiny_bert_folder, settings=quick, device="cpu", cache=False)
    return classifier.fit(reviews.texts, reviews.labels)


@pytest.fixture(scope="session")
def exported(trained: ProtoryNetClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported model that tests only read."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from protorynet.exporting import export_onnx

    folder = tmp_path_factory.mktemp("runtime") / "exported"
    export_onnx(trained, folder)
    return folder


@pytest.fixture
def own(exported: Path, tmp_path: Path) -> Path:
    """An exported model of the test's own, to damage."""
    return Path(shutil.copytree(exported, tmp_path / "own"))
