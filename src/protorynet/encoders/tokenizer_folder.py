"""The tokenizer of an encoder's folder, and how much text it lets through; without torch."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer, normalizers

from protorynet.encoders.folder import FolderLayout, first_line, read_json
from protorynet.errors import EncoderError

__all__ = ["highest_id", "load_tokenizer", "padding_token", "parse_tokenizer", "token_window"]

# Their position embeddings start after the padding token's, so two of them hold no token.
_OFFSET_POSITIONS = {
    "camembert",
    "data2vec-text",
    "longformer",
    "mpnet",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
}
# Tokenizers without a limit say so with numbers such as 10**30.
_SANE_WINDOW = 1_000_000
_DEFAULT_WINDOW = 512
_PROBE = "The room was clean."


def load_tokenizer(layout: FolderLayout, vocabulary: int) -> Tokenizer:
    """Return the tokenizer, set neither to pad nor to cut."""
    path = layout.transformer / "tokenizer.json"
    read_json(path)
    try:
        tokenizer = parse_tokenizer(path.read_bytes())
    except (OSError, ValueError) as error:
        raise EncoderError(
            f"{path} is damaged ({first_line(error)}); copy or fetch it again."
        ) from None
    if (highest := highest_id(tokenizer)) >= vocabulary:
        raise EncoderError(
            f"{path} gives tokens ids up to {highest} but the model has {vocabulary} tokens; the "
            "files do not belong together."
        )
    if layout.lower_case:
        steps = [normalizers.Lowercase(), tokenizer.normalizer]
        tokenizer.normalizer = normalizers.Sequence([step for step in steps if step is not None])
    return tokenizer


def parse_tokenizer(content: bytes) -> Tokenizer:
    """Return a tokenizer that has read a sentence, set neither to pad nor to cut.

    Raises
    ------
    ValueError
        Where there is none in the content, or one that fails.
    """
    try:
        tokenizer = Tokenizer.from_buffer(content)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode(_PROBE)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # tokenizers raises a bare Exception, or a panic, which is not even one: for a template
        # that names a token it does not define, for instance, and that only when it is used.
        raise ValueError(first_line(error)) from None
    return tokenizer


def highest_id(tokenizer: Tokenizer) -> int:
    """Return the highest id that a tokenizer gives to a token, -1 where it knows none."""
    # Special tokens are put around a text by ids of their own, which may differ from the others'.
    around = tokenizer.encode("").ids
    return max([*tokenizer.get_vocab().values(), *around], default=-1)


def token_window(layout: FolderLayout, config: Any, special_tokens: int) -> int:
    """Return the most tokens that the encoder can read at once, special tokens included."""
    limits: list[Any] = []
    if layout.max_tokens is not None:
        limits.append(layout.max_tokens)
    else:
        limits.append(_tokenizer_config(layout).get("model_max_length"))
    positions = getattr(config, "max_position_embeddings", None)
    if type(positions) is int:
        limits.append(positions - 2 if config.model_type in _OFFSET_POSITIONS else positions)
    sane = [limit for limit in limits if type(limit) is int and 0 < limit <= _SANE_WINDOW]
    window = min(sane, default=_DEFAULT_WINDOW)
    if window <= special_tokens:
        raise EncoderError(
            f"the encoder in {layout.transformer} reads at most {window} token(s), of which "
            f"{special_tokens} are special: no room for text. Mend its max_seq_length."
        )
    return window


def padding_token(layout: FolderLayout, config: Any, tokenizer: Tokenizer) -> int:
    """Return the id that fills short rows."""
    if type(config.pad_token_id) is int and config.pad_token_id >= 0:
        return config.pad_token_id
    token = _tokenizer_config(layout).get("pad_token")
    text = token.get("content") if isinstance(token, dict) else token
    found = tokenizer.token_to_id(text) if isinstance(text, str) else None
    return found or 0


def _tokenizer_config(layout: FolderLayout) -> dict[str, Any]:
    path = layout.transformer / "tokenizer_config.json"
    return dict(read_json(path)) if path.exists() else {}
