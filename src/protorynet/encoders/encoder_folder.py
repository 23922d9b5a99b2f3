"""What an encoder's folder says about itself, checked before any library acts on it; no torch."""

import functools
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from protorynet.errors import EncoderError
from protorynet.files import hash_file, read_limited

# Keys of the old-style pooling configuration, in the order in which modes are joined.
_POOLING_KEYS = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len": "pooling_mode_mean_sqrt_len_tokens",
}
LARGEST_JSON_BYTES = 64 * 2**20
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
_MODULES = ("Transformer", "Pooling", "Dense", "Normalize")
_ACTIVATIONS = ("Tanh", "Identity")
# Written by whoever saved the model last; they change no output.
_INCIDENTAL = {"_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version"}
# What makes transformers look for a second model, on the hub if need be, or read another file.
_REFUSED = {
    "backbone",
    "backbone_config",
    "configuration_files",
    "quantization_config",
    "use_timm_backbone",
}
# Far above the largest text encoders; what is larger would only fill the memory. The second name
# of a size, and further ones, are those of older architectures.
_LARGEST = {
    **dict.fromkeys(("num_hidden_layers", "num_layers", "n_layers", "n_layer"), 200),
    **dict.fromkeys(("num_attention_heads", "num_heads", "n_heads", "n_head"), 4_096),
    **dict.fromkeys(("hidden_size", "d_model", "dim", "n_embd", "embedding_size"), 65_536),
    **dict.fromkeys(("intermediate_size", "d_ff", "hidden_dim", "n_inner"), 1_048_576),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 1_048_576),
    "vocab_size": 4_000_000,
}


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
    """What a sentence-transformers folder says about itself."""

    root: Path
    transformer: Path  # the folder of its configuration, weights and tokenizer
    modules: tuple[Path, ...] = ()  # the folders of those that follow
    pooling: tuple[str, ...] = ("mean",)  # modes whose results are joined
    heads: tuple[DenseLayer | Literal["normalize"], ...] = ("normalize",)
    max_tokens: int | None = None  # the window that the folder asks for
    lower_case: bool = False  # before the tokenizer sees a text

    @property
    def descriptions(self) -> list[Path]:
        """The files that say all this, and those of the tokenizer."""
        found = [self.root / "modules.json", *self.transformer.glob("sentence_*_config.json")]
        found += [self.transformer / name for name in _TOKENIZER_FILES]
        found += [folder / "config.json" for folder in self.modules]
        return [path for path in found if path.is_file()]


def read_layout(folder: Path) -> FolderLayout:
    """Return the layout; a folder without modules.json gets mean pooling and normalisation."""
    if not folder.is_dir():
        raise EncoderError(f"there is no encoder folder {folder}; give a folder that exists.")
    if not (folder / "modules.json").exists():
        return FolderLayout(folder, folder, **_transformer_options(folder))
    modules = [_module(folder, entry) for entry in read_json(folder / "modules.json", list)]
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Pooling"]:
        raise EncoderError(
            f"the encoder folder {folder} lists the modules {', '.join(kinds) or 'none'}; "
            "a Transformer followed by a Pooling was expected."
        )
    for kind in kinds[2:]:
        if kind not in ("Dense", "Normalize"):
            raise EncoderError(
                f"the encoder folder {folder} lists a second {kind}; one was expected."
            )
    return FolderLayout(
        folder,
        modules[0][1],
        tuple(path for _, path in modules[1:]),
        _pooling(modules[1][1] / "config.json"),
        tuple(_dense(path) if kind == "Dense" else "normalize" for kind, path in modules[2:]),
        **_transformer_options(modules[0][1]),
    )


def check_config(path: Path) -> None:
    """Refuse a config.json that asks for other models, for code from the hub, or for the moon."""
    for part in _objects(read_json(path)):
        for key, value in part.items():
            if key in _REFUSED and value:  # null or false asks for nothing
                raise EncoderError(
                    f"{path} sets {key!r}, which may lead to other files than the folder's; give "
                    "a plain text encoder."
                )
            is_plain = value is None or (isinstance(value, str) and "/" not in value)
            # A name with a slash is a repository of compiled code on the hub.
            if "_implementation" in key and not is_plain:
                raise EncoderError(
                    f"{path} sets {key!r} to {str(value)[:80]!r}, not a plain name such as 'sdpa'; "
                    "remove the entry."
                )
            most = _LARGEST.get(key)
            if most is not None and isinstance(value, int | float) and value > most:
                raise EncoderError(
                    f"{path} sets {key!r} to {str(value)[:40]}, but at most {most:,} is read; copy "
                    "or fetch the encoder again."
                )


def folder_fingerprint(layout: FolderLayout, window: int, padding: int) -> str:
    """Return a hash of all that decides the embeddings; where the folder lies does not matter."""
    config = read_json(layout.transformer / "config.json")
    content = {
        "weights": file_sha256(layout.transformer / "model.safetensors"),
        "config": {key: value for key, value in config.items() if key not in _INCIDENTAL},
        "tokenizer": file_sha256(layout.transformer / "tokenizer.json"),
        "pooling": layout.pooling,
        "heads": [
            ["dense", head.activation, file_sha256(head.folder / "model.safetensors")]
            if isinstance(head, DenseLayer)
            else [head]
            for head in layout.heads
        ],
        "window": window,
        "lower_case": layout.lower_case,
    }
    if config.get("pad_token_id") != padding:  # else it is in the configuration
        content["padding"] = padding
    return hash_recipe(content)


def hash_recipe(facts: Any) -> str:
    """Return the hash of plain values that decide what an encoder computes."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def read_json(path: Path, kind: type = dict) -> Any:
    """Return the content of a JSON file whose outermost value must be of the given kind."""
    try:
        content = json.loads(read_limited(path, LARGEST_JSON_BYTES).decode("utf-8"))
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
    raise EncoderError(
        f"{folder} holds no model.safetensors; pickled weights are refused because they can run "
        "code. Give a complete encoder folder with model.safetensors."
    )


def file_sha256(path: Path) -> str:
    """Return the hash of a file's bytes; a file that did not change is read once per process."""
    status = path.stat()
    # Tools may set the time of the last change as they like, but not that of the entry's own.
    return _sha256(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@functools.lru_cache(maxsize=32)
def _sha256(path: Path, *version: int) -> str:
    return hash_file(path)


def first_line(error: BaseException) -> str:
    """Return what an error of another library says, short enough to stand inside a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".:")


def _module(folder: Path, entry: Any) -> tuple[str, Path]:
    kind = entry.get("type") if isinstance(entry, dict) else None
    path = entry.get("path", "") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or not isinstance(path, str):
        raise EncoderError(f"{folder / 'modules.json'} is damaged; copy or fetch it again.")
    name = kind.rpartition(".")[2]
    if not kind.startswith("sentence_transformers.") or name not in _MODULES:
        raise EncoderError(
            f"the encoder folder {folder} needs a module of type {kind!r}; "
            f"only sentence-transformers' {', '.join(_MODULES)} are supported."
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


def _pooling(path: Path) -> tuple[str, ...]:
    config = read_json(path)
    if "pooling_mode" in config:
        given = config["pooling_mode"]
        modes = [
            mode.removesuffix("_tokens") if isinstance(mode, str) else mode
            for mode in (given if isinstance(given, list) else [given])
        ]
    else:
        active = {
            key for key, on in config.items() if key.startswith("pooling_mode_") and on is True
        }
        modes = [mode for mode, key in _POOLING_KEYS.items() if key in active]
        # One that is not known here comes last and is refused.
        modes = modes + sorted(active - set(_POOLING_KEYS.values())) or ["mean"]
    if not modes or any(str(mode) not in _POOLING_KEYS for mode in modes):
        raise EncoderError(
            f"{path} asks for the pooling {', '.join(map(str, modes))}; "
            f"supported are {', '.join(_POOLING_KEYS)}."
        )
    return tuple(modes)


def _dense(folder: Path) -> DenseLayer:
    path = folder / "config.json"
    config = read_json(path)
    activation = str(config.get("activation_function", "Tanh")).rpartition(".")[2]
    if activation not in _ACTIVATIONS:
        raise EncoderError(
            f"{path} asks for the activation {activation!r}; "
            f"supported are {', '.join(_ACTIVATIONS)}."
        )
    sizes = config.get("in_features"), config.get("out_features")
    on_sentences = config.get("module_input_name", "sentence_embedding") == "sentence_embedding"
    if any(type(size) is not int or size < 1 for size in sizes) or not on_sentences:
        raise EncoderError(
            f"{path} does not describe a layer on sentence embeddings with in_features and "
            "out_features."
        )
    if config.get("use_residual") is True:
        raise EncoderError(f"{path} asks for use_residual: not supported.")
    return DenseLayer(folder, *sizes, bias=config.get("bias") is not False, activation=activation)


def _objects(content: Any) -> Iterator[dict[str, Any]]:
    """Yield a JSON object and all those inside it, for a configuration may hold others."""
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
