"""Reading the layout of a sentence-transformers folder: its modules, pooling and window."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from protorynet.errors import EncoderError
from protorynet.files import read_limited

__all__ = [
    "POOLING_KEYS",
    "DenseLayer",
    "FolderLayout",
    "file_sha256",
    "first_line",
    "read_json",
    "read_layout",
    "safetensors_file",
]

# Keys of the old-style pooling configuration, in the order in which modes are joined.
POOLING_KEYS = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len": "pooling_mode_mean_sqrt_len_tokens",
}
_LARGEST_JSON = 64 * 2**20
_OLD_STYLE = "pooling_mode_"
_ACTIVATIONS = ("Tanh", "Identity")


@dataclass(frozen=True)
class DenseLayer:
    """A linear layer after the pooling, and the folder of its weights."""

    folder: Path
    in_features: int
    out_features: int
    bias: bool
    activation: str


@dataclass(frozen=True)
class FolderLayout:
    """What a sentence-transformers folder says about itself.

    Parameters
    ----------
    transformer
        The folder of the transformer's configuration, weights and tokenizer.
    pooling
        The pooling modes, whose results are joined.
    heads
        What follows the pooling, in order.
    max_tokens
        The window the folder asks for, if it does.
    lower_case
        Whether texts are lower-cased before the tokenizer sees them.
    """

    transformer: Path
    pooling: tuple[str, ...] = ("mean",)
    heads: tuple[DenseLayer | Literal["normalize"], ...] = ("normalize",)
    max_tokens: int | None = None
    lower_case: bool = False


def read_layout(folder: Path) -> FolderLayout:
    """Return the layout; a folder without modules.json gets mean pooling and normalisation."""
    if not folder.is_dir():
        raise EncoderError(f"there is no encoder folder {folder}; give a folder that exists.")
    if not (folder / "modules.json").exists():
        return FolderLayout(folder, **_transformer_options(folder))
    modules = [_module(folder, entry) for entry in read_json(folder / "modules.json", list)]
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Pooling"]:
        raise EncoderError(
            f"the encoder folder {folder} lists the modules {', '.join(kinds) or 'none'}; "
            "a Transformer followed by a Pooling was expected."
        )
    transformer = modules[0][1]
    return FolderLayout(
        transformer,
        _pooling(modules[1][1]),
        tuple(_head(folder, kind, path) for kind, path in modules[2:]),
        **_transformer_options(transformer),
    )


def read_json(path: Path, kind: type = dict) -> Any:
    """Return the content of a JSON file whose outermost value must be of the given kind."""
    try:
        content = json.loads(read_limited(path, _LARGEST_JSON).decode("utf-8"))
    except FileNotFoundError:
        raise EncoderError(
            f"the encoder folder {path.parent} lacks {path.name}; copy or fetch it again."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise EncoderError(f"{path} is damaged ({error}); copy or fetch it again.") from None
    if not isinstance(content, kind):
        raise EncoderError(f"{path} should hold a JSON {kind.__name__}; copy or fetch it again.")
    return content


def safetensors_file(folder: Path) -> Path:
    """Return the folder's weights; pickled ones, which can run code, are refused."""
    path = folder / "model.safetensors"
    if path.is_file():
        return path
    if (folder / "pytorch_model.bin").exists():
        raise EncoderError(
            f"{folder} holds only pytorch_model.bin; pickled weights are refused because they can "
            "run code. Use a version of the encoder with model.safetensors."
        )
    raise EncoderError(
        f"{folder} holds no model.safetensors (pickled weights are refused); "
        "give a complete encoder folder."
    )


def file_sha256(path: Path) -> str:
    """Return the hash of a file's bytes; a file that did not change is read once per process."""
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=32)
def _sha256(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _module(folder: Path, entry: Any) -> tuple[str, Path]:
    kind = entry.get("type") if isinstance(entry, dict) else None
    path = entry.get("path", "") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or not isinstance(path, str):
        raise EncoderError(f"{folder / 'modules.json'} is damaged; copy or fetch it again.")
    name = kind.rpartition(".")[2]
    known = ("Transformer", "Pooling", "Dense", "Normalize")
    if not kind.startswith("sentence_transformers.") or name not in known:
        raise EncoderError(
            f"the encoder folder {folder} needs a module of type {kind!r}; "
            f"only sentence-transformers' {', '.join(known)} are supported."
        )
    inner = PurePosixPath(path.replace("\\", "/"))
    if inner.is_absolute() or ".." in inner.parts or ":" in path:
        raise EncoderError(f"modules.json of {folder} names {path!r}, outside of the folder.")
    return name, folder / inner


def _transformer_options(folder: Path) -> dict[str, Any]:
    # The name carries the architecture in old folders: sentence_roberta_config.json and the like.
    for path in sorted(folder.glob("sentence_*_config.json")):
        config = read_json(path)
        tokens = config.get("max_seq_length")
        if tokens is not None and (type(tokens) is not int or tokens < 1):
            raise EncoderError(f"{path} sets max_seq_length to {tokens!r}, not a positive number.")
        return {"max_tokens": tokens, "lower_case": config.get("do_lower_case") is True}
    return {}


def _pooling(folder: Path) -> tuple[str, ...]:
    config = read_json(folder / "config.json")
    if "pooling_mode" in config:
        given = config["pooling_mode"]
        modes = given if isinstance(given, list) else [given]
    else:
        names = {key: mode for mode, key in POOLING_KEYS.items()}
        # Sorted by the order of joining; a mode that is not known here comes last and is refused.
        active = [key for key, on in config.items() if key.startswith(_OLD_STYLE) and on is True]
        modes = [names.get(key, key) for key in sorted(active, key=_joining_order)] or ["mean"]
    modes = [mode.removesuffix("_tokens") if isinstance(mode, str) else mode for mode in modes]
    if not modes or any(str(mode) not in POOLING_KEYS for mode in modes):
        raise EncoderError(
            f"{folder / 'config.json'} asks for the pooling {', '.join(map(str, modes))}; "
            f"supported are {', '.join(POOLING_KEYS)}."
        )
    return tuple(modes)


def _joining_order(key: str) -> int:
    keys = list(POOLING_KEYS.values())
    return keys.index(key) if key in keys else len(keys)


def _head(folder: Path, kind: str, path: Path) -> DenseLayer | Literal["normalize"]:
    if kind == "Normalize":
        return "normalize"
    if kind == "Dense":
        return _dense(path)
    raise EncoderError(f"the encoder folder {folder} lists a second {kind}; one was expected.")


def _dense(folder: Path) -> DenseLayer:
    config = read_json(folder / "config.json")
    activation = str(config.get("activation_function", "Tanh")).rpartition(".")[2]
    if activation not in _ACTIVATIONS:
        raise EncoderError(
            f"{folder / 'config.json'} asks for the activation {activation!r}; "
            f"supported are {', '.join(_ACTIVATIONS)}."
        )
    sizes = config.get("in_features"), config.get("out_features")
    on_sentences = config.get("module_input_name", "sentence_embedding") == "sentence_embedding"
    if any(type(size) is not int or size < 1 for size in sizes) or not on_sentences:
        raise EncoderError(
            f"{folder / 'config.json'} does not describe a layer on sentence embeddings with "
            "in_features and out_features."
        )
    if config.get("use_residual") is True:
        raise EncoderError(f"{folder / 'config.json'} asks for use_residual: not supported.")
    return DenseLayer(folder, *sizes, bias=config.get("bias") is not False, activation=activation)


def first_line(error: BaseException) -> str:
    """Return what an error of another library says, short enough to stand inside a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".:")
