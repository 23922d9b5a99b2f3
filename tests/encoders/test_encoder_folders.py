from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from protorynet.encoders import TransformerEncoder
from protorynet.errors import EncoderError

Damage = Callable[[Path], Any]


def refusal(folder: Path) -> str:
    with pytest.raises(EncoderError) as caught:
        TransformerEncoder(folder, name="tiny", device="cpu")
    return str(caught.value)


def truncate_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def drop_a_weight(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    del tensors["encoder.layer.1.output.dense.weight"]
    save_file(tensors, path)


def reshape_a_weight(folder: Path) -> None:
    path = folder / "model.safetensors"
    save_file(load_file(path) | {"encoder.layer.1.output.dense.weight": torch.ones(3, 3)}, path)


def pickle_weights(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def shrink_vocabulary(folder: Path) -> None:
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["vocab"] |= {f"word{i}": 1000 + i for i in range(50)}
    path.write_text(json.dumps(content))


DAMAGES: list[tuple[Damage, str]] = [
    (truncate_weights, "cannot be loaded"),
    (drop_a_weight, "lacks 1 weight"),
    (reshape_a_weight, "cannot be loaded"),
    (pickle_weights, "pickled weights are refused"),
    (shrink_vocabulary, "do not belong together"),
    (lambda folder: (folder / "model.safetensors").unlink(), "no model.safetensors"),
    (lambda folder: (folder / "model.safetensors").write_bytes(b""), "cannot be loaded"),
    (lambda folder: (folder / "model.safetensors").write_bytes(b"x" * 99), "cannot be loaded"),
    (lambda folder: (folder / "tokenizer.json").unlink(), "lacks tokenizer.json"),
    (lambda folder: (folder / "tokenizer.json").write_text("{}"), "tokenizer.json is damaged"),
    (lambda folder: (folder / "tokenizer.json").write_text("x{"), "tokenizer.json is damaged"),
    (lambda folder: (folder / "tokenizer_config.json").write_text("["), "is damaged"),
    (lambda folder: (folder / "config.json").unlink(), "lacks config.json"),
    (lambda folder: (folder / "config.json").write_bytes(b"\xff\xfe\x00"), "is damaged"),
    (lambda folder: (folder / "config.json").write_text("[" * 100_000), "is damaged"),
    (lambda folder: (folder / "config.json").write_text("[]"), "should hold a JSON dict"),
    (lambda folder: (folder / "config.json").write_text("{}"), "cannot be loaded"),
    (lambda folder: (folder / "config.json").write_text('{"model_type": "t5"}'), "encoder-decoder"),
    (lambda folder: (folder / "modules.json").write_text("{}"), "should hold a JSON list"),
    (lambda folder: (folder / "modules.json").write_text("[3]"), "is damaged"),
    (lambda folder: (folder / "modules.json").write_text("[]"), "none; a Transformer"),
    (
        lambda folder: (folder / "sentence_bert_config.json").write_text('{"max_seq_length": "x"}'),
        "not a positive number",
    ),
    (
        lambda folder: (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 2}'),
        "no room for text",
    ),
]


@pytest.mark.parametrize(("damage", "reason"), DAMAGES)
def test_a_damaged_folder_is_refused_in_one_line(
    damage: Damage, reason: str, make_folder: Callable[..., Path]
) -> None:
    folder = make_folder()
    damage(folder)
    message = refusal(folder)
    assert reason in message
    assert "\n" not in message


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "there is no encoder folder" in refusal(tmp_path / "absent")


@pytest.mark.parametrize("kind", ["LSTM", "WeightedLayerPooling"])
def test_an_unknown_module_is_named(kind: str, make_folder: Callable[..., Path]) -> None:
    assert kind in refusal(make_folder(modules=["Transformer", "Pooling", kind]))


def test_a_module_of_foreign_code_is_refused(make_folder: Callable[..., Path]) -> None:
    folder = make_folder(modules=["Transformer", "Pooling"])
    path = folder / "modules.json"
    path.write_text(path.read_text().replace("sentence_transformers.models", "custom_code"))
    assert "custom_code.Transformer" in refusal(folder)


@pytest.mark.parametrize("place", ["../elsewhere", "/etc", "a/../../b", "C:\\x", "..\\x"])
def test_a_module_outside_of_the_folder_is_refused(
    place: str, make_folder: Callable[..., Path]
) -> None:
    folder = make_folder(modules=["Transformer", "Pooling"])
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["path"] = place
    (folder / "modules.json").write_text(json.dumps(modules))
    assert "outside of the folder" in refusal(folder)


@pytest.mark.parametrize("modules", [["Pooling"], ["Transformer"], ["Transformer", "Normalize"]])
def test_modules_in_an_unexpected_order_are_refused(
    modules: list[str], make_folder: Callable[..., Path]
) -> None:
    assert "followed by a Pooling" in refusal(make_folder(modules=modules))


def test_a_second_pooling_is_refused(make_folder: Callable[..., Path]) -> None:
    folder = make_folder(modules=["Transformer", "Pooling", "Pooling"])
    assert "second Pooling" in refusal(folder)


@pytest.mark.parametrize(
    "pooling",
    [{"pooling_mode": "lasttoken"}, {"pooling_mode_lasttoken": True}, {"pooling_mode": []}],
)
def test_an_unknown_pooling_is_refused(
    pooling: dict[str, Any], make_folder: Callable[..., Path]
) -> None:
    assert "supported are cls, max, mean" in refusal(make_folder(pooling=pooling))


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"in_features": 16, "out_features": 4, "activation_function": "os.system"}, "activation"),
        ({"in_features": 16}, "in_features and out_features"),
        ({"in_features": 9, "out_features": 4}, "expects 9 components but gets 16"),
        ({"in_features": 16, "out_features": 4, "use_residual": True}, "use_residual"),
        ({"in_features": 16, "out_features": 4}, "pickled weights are refused"),
    ],
)
def test_an_unusable_dense_layer_is_refused(
    config: dict[str, Any], reason: str, make_folder: Callable[..., Path]
) -> None:
    folder = make_folder(modules=["Transformer", "Pooling", "Dense"])
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "config.json").write_text(json.dumps(config))
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(b"")
    assert reason in refusal(folder)


def test_dense_weights_of_the_wrong_shape_are_refused(make_folder: Callable[..., Path]) -> None:
    folder = make_folder(modules=["Transformer", "Pooling", "Dense"])
    (folder / "2_Dense").mkdir()
    config = {"in_features": 16, "out_features": 4}
    (folder / "2_Dense" / "config.json").write_text(json.dumps(config))
    save_file({"linear.weight": torch.ones(2, 2)}, folder / "2_Dense" / "model.safetensors")
    assert "is damaged" in refusal(folder)
