"""What a transformer's config.json may ask for, checked before any library acts on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from protorynet.encoders.folder import read_json
from protorynet.errors import EncoderError

__all__ = ["check_config"]

# What makes transformers look for a second model, on the hub if need be, or read another file.
_REFUSED = frozenset(
    {
        "backbone",
        "backbone_config",
        "configuration_files",
        "quantization_config",
        "use_timm_backbone",
    }
)
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


def check_config(path: Path) -> None:
    """Refuse a config.json that asks for other models, for code from the hub, or for the moon."""
    for part in _objects(read_json(path)):
        for key, value in part.items():
            if key in _REFUSED and value:  # null or false asks for nothing
                raise EncoderError(
                    f"{path} sets {key!r}, which may lead to other files than the folder's; give "
                    "a plain text encoder."
                )
            # A name with a slash is a repository of compiled code on the hub.
            if "_implementation" in key and not _is_plain_name(value):
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


def _is_plain_name(value: Any) -> bool:
    return value is None or (isinstance(value, str) and "/" not in value)


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
