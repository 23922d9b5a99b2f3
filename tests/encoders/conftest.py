"""The real MiniLM, and tiny BERT folders made on the fly."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def minilm():
    from protorynet.encoders import load_encoder

    return load_encoder("minilm", device="cpu")


@pytest.fixture
def make_folder(tiny_bert, tmp_path):
    """Return a function that writes a tiny encoder folder with the given parts."""

    def make(
        *,
        name: str = "encoder",
        pooling: dict[str, Any] | None = None,
        modules: list[str] | None = None,
        **files: Any,
    ) -> Path:
        folder = tmp_path / name
        shutil.copytree(tiny_bert, folder)
        if pooling is not None:
            modules = modules if modules is not None else ["Transformer", "Pooling"]
        if modules is not None:
            entries = [
                {
                    "idx": i,
                    "path": f"{i}_{kind}" if i else "",
                    "type": f"sentence_transformers.models.{kind}",
                }
                for i, kind in enumerate(modules)
            ]
            write_json(folder / "modules.json", entries)
            write_json(folder / "1_Pooling" / "config.json", pooling or {"pooling_mode": "mean"})
        for file, content in files.items():
            write_json(folder / f"{file}.json", content)
        return folder

    return make


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
