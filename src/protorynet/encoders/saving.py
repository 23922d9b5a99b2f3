"""Writing an encoder as a folder that this package and sentence-transformers read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from protorynet.encoders.folder import POOLING_KEYS, FolderLayout
from protorynet.encoders.pooling import Dense, SentenceNetwork
from protorynet.encoders.quiet import quiet_transformers
from protorynet.files import check_replaceable

__all__ = ["TOKENIZER_FILES", "check_free", "write_folder"]

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
_CONFIG, _WEIGHTS, _MODULES = "config.json", "model.safetensors", "modules.json"
_OPTIONS = "sentence_bert_config.json"
_OWN = {_CONFIG, _WEIGHTS, _MODULES, _OPTIONS, *TOKENIZER_FILES}
_HEAD = re.compile(r"[0-9]+_(Pooling|Dense)")


def check_free(folder: Path) -> None:
    """Refuse to put an encoder in the place of anything but one that `write_folder` wrote."""
    check_replaceable(
        folder,
        kind="the folder of an encoder",
        marks=(_CONFIG, _WEIGHTS, _MODULES),
        is_own=lambda name: name in _OWN or _HEAD.fullmatch(name) is not None,
    )


def write_folder(
    folder: Path,
    network: SentenceNetwork,
    layout: FolderLayout,
    window: int,
    tokenizer_files: Mapping[str, bytes],
) -> None:
    """Fill an empty folder with the encoder's configuration, weights and tokenizer."""
    backbone: Any = network.backbone
    with quiet_transformers():
        backbone.save_pretrained(folder, max_shard_size="1000GB")
    for name, content in tokenizer_files.items():
        (folder / name).write_bytes(content)
    options = {"max_seq_length": window, "do_lower_case": layout.lower_case}
    _write_json(folder / _OPTIONS, options)
    _write_json(
        folder / "1_Pooling" / "config.json",
        {
            "word_embedding_dimension": backbone.config.hidden_size,
            **_pooling_modes(network.pooling),
        },
    )
    kinds = ["Transformer", "Pooling"]
    for position, module in enumerate(network.heads, start=2):
        kinds.append(type(module).__name__)
        if isinstance(module, Dense):
            _write_dense(folder / f"{position}_Dense", module)
    modules = [
        {
            "idx": index,
            "name": str(index),
            "path": f"{index}_{kind}" if index else "",
            "type": f"sentence_transformers.models.{kind}",
        }
        for index, kind in enumerate(kinds)
    ]
    _write_json(folder / _MODULES, modules)


def _pooling_modes(modes: tuple[str, ...]) -> dict[str, Any]:
    # The old style is read by every version of sentence-transformers, but knows one order only.
    if modes == tuple(mode for mode in POOLING_KEYS if mode in modes):
        return {key: mode in modes for mode, key in POOLING_KEYS.items()}
    names = {"mean_sqrt_len": "mean_sqrt_len_tokens"}
    return {"pooling_mode": [names.get(mode, mode) for mode in modes]}


def _write_dense(folder: Path, module: Dense) -> None:
    linear, activation = module.linear, module.activation
    _write_json(
        folder / "config.json",
        {
            "in_features": linear.in_features,
            "out_features": linear.out_features,
            "bias": linear.bias is not None,
            "activation_function": f"{type(activation).__module__}.{type(activation).__name__}",
        },
    )
    tensors = {key: value.contiguous().cpu() for key, value in module.state_dict().items()}
    save_file(tensors, folder / "model.safetensors")


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
