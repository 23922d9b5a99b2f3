from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
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
    words = {f"word{i}": 1000 + i for i in range(50)}
    change_tokenizer(folder, lambda content: content["model"]["vocab"].update(words))


def number_a_token_beyond_the_vocabulary(folder: Path) -> None:
    change_tokenizer(folder, lambda content: content["model"]["vocab"].update(room=9000))


def number_a_special_token_beyond_the_vocabulary(folder: Path) -> None:
    change_tokenizer(folder, lambda content: special_tokens(content)["[SEP]"].update(ids=[9000]))


def forget_a_special_token(folder: Path) -> None:
    change_tokenizer(folder, lambda content: special_tokens(content).pop("[SEP]"))


def special_tokens(content: Any) -> Any:
    return content["post_processor"]["special_tokens"]


def change_tokenizer(folder: Path, change: Callable[[Any], Any]) -> None:
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def change_config(folder: Path, **changes: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


DAMAGES: list[tuple[Damage, str]] = [
    (truncate_weights, "cannot be loaded"),
    (drop_a_weight, "lacks 1 weight"),
    (reshape_a_weight, "cannot be loaded"),
    (pickle_weights, "pickled weights are refused"),
    (shrink_vocabulary, "do not belong together"),
    (number_a_token_beyond_the_vocabulary, "ids up to 9000 but the model has"),
    (number_a_special_token_beyond_the_vocabulary, "ids up to 9000 but the model has"),
    (forget_a_special_token, "tokenizer.json is damaged"),
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
    [
        {"pooling_mode": "lasttoken"},
        {"pooling_mode_lasttoken": True},
        {"pooling_mode": []},
        {"pooling_mode": [{}]},
    ],
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


def add_dense(folder: Path, out_features: int, **tensors: torch.Tensor) -> Path:
    (folder / "2_Dense").mkdir()
    config = {"in_features": 16, "out_features": out_features}
    (folder / "2_Dense" / "config.json").write_text(json.dumps(config))
    named = {f"linear.{name}": tensor for name, tensor in tensors.items()}
    save_file(named, folder / "2_Dense" / "model.safetensors")
    return folder


@pytest.mark.parametrize("size", [10**12, 10**30])
def test_a_dense_layer_takes_no_memory_before_its_weights_agree(
    size: int, make_folder: Callable[..., Path]
) -> None:
    folder = make_folder(modules=["Transformer", "Pooling", "Dense"])
    add_dense(folder, size, weight=torch.ones(4, 16), bias=torch.ones(4))
    assert "is damaged" in refusal(folder)


def test_dense_weights_in_16_bits_are_computed_with_in_32(make_folder: Callable[..., Path]) -> None:
    folder = make_folder(modules=["Transformer", "Pooling", "Dense"])
    add_dense(folder, 4, weight=torch.ones(4, 16).half(), bias=torch.ones(4).half())
    network = TransformerEncoder(folder, name="tiny", device="cpu").network
    assert {parameter.dtype for parameter in network.heads.parameters()} == {torch.float32}


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts looked up from now on; none of them is found."""
    asked: list[str] = []

    def look_up(host: str, *others: Any, **options: Any) -> Any:
        asked.append(host)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


BEACON = {"model_type": "maskformer", "backbone": "someone/beacon"}


def test_a_backbone_on_the_hub_is_never_asked_for(
    hosts: list[str], make_folder: Callable[..., Path]
) -> None:
    refusal(make_folder(config=BEACON))
    assert hosts == []


def test_the_hub_is_out_of_reach_even_where_the_check_finds_nothing(
    hosts: list[str], make_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protorynet.encoders.loading.check_config", lambda path: None)
    refusal(make_folder(config=BEACON))
    assert hosts == []


def test_the_hub_can_be_reached_again_after_a_load(
    make_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    refusal(make_folder(config={}))
    assert constants.HF_HUB_OFFLINE is False


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("backbone", "resnet50"),
        ("backbone_config", {"model_type": "resnet"}),
        ("use_timm_backbone", True),
        ("quantization_config", {"quant_method": "gptq"}),
        ("configuration_files", ["config.4.0.0.json"]),
        ("text_config", {"backbone": "resnet50"}),
        ("attn_implementation", "kernels-community/flash-attn2"),
        ("_attn_implementation", "kernels-community/flash-attn2"),
        ("_attn_implementation", {"": "kernels-community/flash-attn2"}),
        ("_experts_implementation", "someone/experts"),
        ("num_hidden_layers", 201),
        ("hidden_size", 65_537),
        ("hidden_size", 1e30),
        ("intermediate_size", 1_048_577),
        ("vocab_size", 4_000_001),
        ("max_position_embeddings", 1_048_577),
        ("num_attention_heads", 4_097),
    ],
)
def test_a_configuration_that_asks_for_too_much_is_refused_by_file_and_key(
    key: str, value: Any, make_folder: Callable[..., Path]
) -> None:
    message = refusal(change_config(make_folder(), **{key: value}))
    named = "backbone" if key == "text_config" else key
    assert f"config.json sets {named!r}" in message


def test_a_plain_name_of_an_attention_is_read(make_folder: Callable[..., Path]) -> None:
    folder = change_config(make_folder(), attn_implementation="eager")
    assert TransformerEncoder(folder, name="tiny", device="cpu").dimension == 16


def test_a_folder_that_asks_for_tuples_gives_the_same_vectors(
    make_folder: Callable[..., Path],
) -> None:
    folders = make_folder(), change_config(make_folder(name="tuples"), return_dict=False)
    plain, tuples = (
        TransformerEncoder(folder, name="tiny", device="cpu").encode(["the room was clean"])
        for folder in folders
    )
    assert np.array_equal(plain, tuples)
