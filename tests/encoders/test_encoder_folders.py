"""Folders that are damaged, incomplete or hostile are refused in one line."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from protorynet.encoders import TransformerEncoder
from protorynet.errors import EncoderError


def tiny(folder: Path) -> TransformerEncoder:
    return TransformerEncoder(folder, name="tiny", device="cpu")


def refusal(folder: Path) -> str:
    with pytest.raises(EncoderError) as caught:
        tiny(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def truncate_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def drop_a_weight(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["encoder.layer.1.output.dense.weight"]
    save_file(tensors, folder / "model.safetensors")


def spoil_a_weight(value: float) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        next(iter(tensors.values())).view(-1)[3] = value
        save_file(tensors, folder / "model.safetensors")

    return spoil


def change_json(path: Path, change: Callable[[Any], Any]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def change_tokenizer(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    return lambda folder: change_json(folder / "tokenizer.json", change)


def special_tokens(content: Any) -> Any:
    return content["post_processor"]["special_tokens"]


def write(file: str, content: str | bytes) -> Callable[[Path], Any]:
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / file).write_bytes(data)


def remove(file: str) -> Callable[[Path], None]:
    return lambda folder: (folder / file).unlink()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (truncate_weights, "cannot be loaded"),
        (drop_a_weight, "lacks 1 weight"),
        (spoil_a_weight(float("inf")), "which are not finite numbers"),
        (
            lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
            "pickled weights are refused",
        ),
        (remove("model.safetensors"), "no model.safetensors"),
        (
            change_tokenizer(lambda content: content["model"]["vocab"].update(room=9000)),
            "ids up to 9000 but the model has 21 tokens; the files do not belong together",
        ),
        (
            change_tokenizer(lambda content: special_tokens(content).pop("[SEP]")),
            "tokenizer.json is damaged",
        ),
        (remove("tokenizer.json"), "lacks tokenizer.json"),
        (write("tokenizer.json", "{}"), "tokenizer.json is damaged"),
        (remove("config.json"), "lacks config.json"),
        (write("config.json", "[]"), "should hold a JSON dict"),
        (write("config.json", '{"model_type": "t5"}'), "encoder-decoder"),
        (write("modules.json", "[]"), "none; a Transformer"),
        (write("sentence_bert_config.json", '{"max_seq_length": "x"}'), "not a positive number"),
        (write("sentence_bert_config.json", '{"max_seq_length": 2}'), "no room for text"),
    ],
)
def test_a_damaged_folder_is_refused(damage, reason, make_folder):
    folder = make_folder()
    damage(folder)
    assert reason in refusal(folder)


_UNKNOWN_POOLING = "supported are cls, max, mean"
_ORDER = "followed by a Pooling"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"modules": ["Transformer", "Pooling", "LSTM"]}, "models.LSTM"),
        ({"modules": ["Pooling"]}, _ORDER),
        ({"modules": ["Transformer"]}, _ORDER),
        ({"modules": ["Transformer", "Normalize"]}, _ORDER),
        ({"modules": ["Transformer", "Pooling", "Pooling"]}, "second Pooling"),
        ({"pooling": {"pooling_mode": "lasttoken"}}, _UNKNOWN_POOLING),
        ({"pooling": {"pooling_mode": [{}]}}, _UNKNOWN_POOLING),
    ],
)
def test_unknown_modules_poolings_and_orders_are_refused(parts, reason, make_folder, tmp_path):
    assert reason in refusal(make_folder(**parts))
    assert "there is no encoder folder" in refusal(tmp_path / "absent")


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("type", "custom_code.Pooling", "custom_code.Pooling"),
        *(
            ("path", path, "outside of the folder")
            for path in ("../elsewhere", "/etc", "a/../../b", "C:\\x", "..\\x")
        ),
    ],
)
def test_foreign_code_and_modules_outside_the_folder_are_refused(key, value, reason, make_folder):
    folder = make_folder(modules=["Transformer", "Pooling"])
    change_json(folder / "modules.json", lambda modules: modules[1].update({key: value}))
    assert reason in refusal(folder)


@pytest.mark.parametrize(
    ("config", "weight", "reason"),
    [
        ({"out_features": 4, "activation_function": "os.system"}, None, "activation"),
        ({}, None, "in_features and out_features"),
        ({"in_features": 9, "out_features": 4}, None, "expects 9 components but gets 16"),
        ({"out_features": 4, "use_residual": True}, None, "use_residual"),
        ({"out_features": 4}, None, "pickled weights are refused"),
        ({"out_features": 4}, torch.ones(2, 2), "is damaged"),
        ({"out_features": 4}, torch.full((4, 16), torch.nan), "which are not finite numbers"),
        # Refused before any memory is taken for it.
        ({"out_features": 10**12}, torch.ones(4, 16), "is damaged"),
        ({"out_features": 10**30}, torch.ones(4, 16), "is damaged"),
    ],
)
def test_an_unusable_dense_layer_is_refused(config, weight, reason, make_folder):
    folder = make_folder(modules=["Transformer", "Pooling", "Dense"])
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "config.json").write_text(json.dumps({"in_features": 16} | config))
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(b"")
    if weight is not None:
        tensors = {"linear.weight": weight, "linear.bias": torch.ones(4)}
        save_file(tensors, folder / "2_Dense" / "model.safetensors")
    assert reason in refusal(folder)


@pytest.fixture
def hosts(monkeypatch):
    """The hosts looked up from now on; none of them is found."""
    asked: list[str] = []

    def look_up(host: str, *others: Any, **options: Any) -> Any:
        asked.append(host)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


@pytest.mark.parametrize("is_checked", [True, False])
def test_the_hub_is_never_asked_for_another_backbone(is_checked, hosts, make_folder, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    if not is_checked:
        home = "protorynet.encoders.transformer_encoder.check_config"
        monkeypatch.setattr(home, lambda path: None)
    refusal(make_folder(config={"model_type": "maskformer", "backbone": "someone/beacon"}))
    assert hosts == []
    assert constants.HF_HUB_OFFLINE is False


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("backbone", "resnet50"),
        ("use_timm_backbone", True),
        ("quantization_config", {"quant_method": "gptq"}),
        ("configuration_files", ["config.4.0.0.json"]),
        ("text_config", {"backbone": "resnet50"}),
        ("attn_implementation", "kernels-community/flash-attn2"),
        ("_experts_implementation", "someone/experts"),
        ("num_hidden_layers", 201),
        ("hidden_size", 1e30),
        ("vocab_size", 4_000_001),
    ],
)
def test_a_configuration_that_asks_for_too_much_is_refused_by_file_and_key(key, value, make_folder):
    folder = make_folder()
    change_json(folder / "config.json", lambda config: config.update({key: value}))
    named = "backbone" if key == "text_config" else key
    assert f"config.json sets {named!r}" in refusal(folder)
