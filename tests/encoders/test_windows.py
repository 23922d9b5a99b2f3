"""Sentences about as long as what an encoder can read at once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from protorynet.encoders import load_encoder


@pytest.fixture
def of_fifty_places(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """The tiny encoder with positions for 50 tokens, which is no multiple of a batch's widths."""
    folder = tmp_path / "fifty"
    shutil.copytree(tiny_bert_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 50}))
    weights = load_file(folder / "model.safetensors")
    name = "embeddings.position_embeddings.weight"
    generator = torch.Generator().manual_seed(0)
    weights[name] = torch.randn(50, weights[name].shape[1], generator=generator)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize("words", [45, 47, 48, 60])
def test_a_sentence_is_never_padded_beyond_the_window(of_fifty_places: Path, words: int) -> None:
    encoder = load_encoder(of_fifty_places, device="cpu")
    assert encoder.encode(["room " * words]).shape == (1, encoder.dimension)
