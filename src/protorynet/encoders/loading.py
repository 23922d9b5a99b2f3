"""Loading the parts of a transformer encoder from its folder, with clear errors."""

from __future__ import annotations

import hashlib
import json

import torch
from safetensors.torch import load_file
from torch import nn

from protorynet.encoders.folder import (
    DenseLayer,
    FolderLayout,
    file_sha256,
    first_line,
    read_json,
    safetensors_file,
)
from protorynet.encoders.model_config import check_config
from protorynet.encoders.offline import offline_hub
from protorynet.encoders.pooling import Dense, Normalize, SentenceNetwork
from protorynet.encoders.quiet import quiet_transformers
from protorynet.errors import EncoderError, InputError

__all__ = [
    "choose_device",
    "folder_fingerprint",
    "load_network",
]

# Written by whoever saved the model last; they change no output.
_INCIDENTAL = {"_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version"}


def choose_device(device: str) -> torch.device:
    """Return the device named; ``"auto"`` is a GPU where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError, ValueError) as error:
        raise InputError(
            f"the device {device!r} cannot be used ({first_line(error)}); try 'auto' or 'cpu'."
        ) from None
    return chosen


def load_network(layout: FolderLayout) -> SentenceNetwork:
    """Return the network in float32 on the CPU, in evaluation mode."""
    from transformers import AutoConfig, AutoModel

    folder = layout.transformer
    # Both are checked here because transformers' own errors would suggest the network and pickles.
    check_config(folder / "config.json")
    safetensors_file(folder)
    try:
        # A configuration can ask the hub for more in ways that local_files_only does not cover.
        with quiet_transformers(), offline_hub():
            options = {"local_files_only": True, "trust_remote_code": False}
            config = AutoConfig.from_pretrained(folder, **options)
            if config.is_encoder_decoder:
                raise EncoderError(f"{folder} holds an encoder-decoder model: not supported.")
            backbone, report = AutoModel.from_pretrained(
                folder,
                config=config,
                dtype=torch.float32,
                use_safetensors=True,
                output_loading_info=True,
                **options,
            )
    except EncoderError:
        raise
    except Exception as error:
        # The libraries raise nearly every type there is for a damaged folder.
        raise EncoderError(
            f"the encoder in {folder} cannot be loaded ({first_line(error)}); copy or fetch it "
            "again."
        ) from None
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise EncoderError(
            f"{folder / 'model.safetensors'} lacks {len(missing)} weight(s), such as "
            f"{missing[0]!r}; copy or fetch it again."
        )
    return SentenceNetwork(backbone, layout.pooling, _load_heads(layout, config.hidden_size)).eval()


def _load_heads(layout: FolderLayout, hidden_size: int) -> list[nn.Module]:
    width = hidden_size * len(layout.pooling)
    modules: list[nn.Module] = []
    for head in layout.heads:
        if isinstance(head, DenseLayer):
            if head.in_features != width:
                raise EncoderError(
                    f"{head.folder} expects {head.in_features} components but gets {width}; "
                    "the folder's parts do not belong together."
                )
            width = head.out_features
            modules.append(_load_dense(head))
        else:
            modules.append(Normalize())
    return modules


def _load_dense(layer: DenseLayer) -> Dense:
    path = safetensors_file(layer.folder)
    try:
        # Without memory of its own until the weights have proved to be of the sizes it claims.
        with torch.device("meta"):
            module = Dense(layer.in_features, layer.out_features, layer.bias, layer.activation)
        weights = load_file(path).items()
        # Copied, for the file's own pages would change with the file.
        copied = {name: tensor.to(torch.float32, copy=True) for name, tensor in weights}
        module.load_state_dict(copied, assign=True)
    except Exception as error:
        raise EncoderError(
            f"{path} is damaged ({first_line(error)}); copy or fetch it again."
        ) from None
    return module


def folder_fingerprint(layout: FolderLayout, window: int) -> str:
    """Return a hash of all that decides the embeddings; where the folder lies does not matter."""
    config = read_json(layout.transformer / "config.json")
    content = {
        "weights": file_sha256(layout.transformer / "model.safetensors"),
        "config": {key: value for key, value in config.items() if key not in _INCIDENTAL},
        "tokenizer": file_sha256(layout.transformer / "tokenizer.json"),
        "pooling": layout.pooling,
        "heads": [_head_content(head) for head in layout.heads],
        "window": window,
        "lower_case": layout.lower_case,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _head_content(head: DenseLayer | str) -> list[str]:
    if isinstance(head, DenseLayer):
        return ["dense", head.activation, file_sha256(head.folder / "model.safetensors")]
    return [head]
