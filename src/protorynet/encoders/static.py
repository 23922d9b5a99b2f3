"""A sentence encoder without a network: the mean of token vectors; needs no torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

from protorynet.encoders.folder import first_line, read_json
from protorynet.encoders.tokenizer_folder import highest_id, parse_tokenizer
from protorynet.encoders.tokens import SentenceTokenizer
from protorynet.errors import EncoderError, InputError
from protorynet.files import check_replaceable, replaced_directory

if TYPE_CHECKING:
    from protorynet.encoders.transformer import TransformerEncoder

__all__ = ["DIMENSION", "StaticEncoder", "static_fingerprint"]

# Raised with every change of how token vectors are made or put together.
_RECIPE = 1
DIMENSION = 384
_DESCRIPTION, _VECTORS, _TOKENIZER = "static.json", "vectors.safetensors", "tokenizer.json"
# Their sums stay in the processor's cache.
_SENTENCES_AT_ONCE = 1_024


class StaticEncoder:
    """The mean of one vector per token, at length 1.

    Made from a transformer with `distil`; hundreds of times as fast, and blind to the order of
    words.

    Parameters
    ----------
    vectors
        One float32 row per token id, its weight included; zero where a token says nothing.
    tokenizer
        From texts to token ids.
    name
        What people call the encoder.
    fingerprint
        A text that changes whenever the vectors would change.

    Attributes
    ----------
    dimension, window
        Components of an embedding; most tokens read of one text, special tokens included.
    blank
        The embedding of a text that says nothing.
    is_quick
        That encoding a sentence is quicker than looking it up, so that no cache is asked.

    Examples
    --------
    >>> from tokenizers import Tokenizer
    >>> from tokenizers.models import WordLevel
    >>> words = Tokenizer(WordLevel({"clean": 0, "dirty": 1, "?": 2}, unk_token="?"))
    >>> vectors = np.array([[2, 0], [0, 3], [0, 0]], dtype=np.float32)
    >>> tokenizer = SentenceTokenizer(words, window=8, pad_token_id=2)
    >>> encoder = StaticEncoder(vectors, tokenizer, name="two words", fingerprint="two-1")
    >>> encoder.encode(["clean", "dirty"]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    is_quick = True

    def __init__(
        self,
        vectors: NDArray[np.float32],
        tokenizer: SentenceTokenizer,
        *,
        name: str,
        fingerprint: str,
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.dimension = int(vectors.shape[1])
        self.window = tokenizer.window
        self.vectors = vectors
        self.blank = _mean_direction(vectors)
        self.tokenizer = tokenizer

    @classmethod
    def distil(
        cls,
        teacher: TransformerEncoder,
        *,
        dimension: int = DIMENSION,
        name: str | None = None,
        progress: bool = False,
    ) -> StaticEncoder:
        """Return the static encoder of a transformer's vocabulary.

        Parameters
        ----------
        teacher
            The transformer; every token of its vocabulary is encoded.
        dimension
            Most components of an embedding.
        name
            What people call the encoder; by default the teacher's name and ``:static``.
        progress
            Whether to show progress on standard error.
        """
        from protorynet.encoders.distilling import distil_tokens

        if dimension < 1:
            raise InputError(f"dimension={dimension} should be at least 1.")
        tokenizer = teacher.tokenizer
        return cls(
            distil_tokens(teacher, tokenizer, dimension, progress=progress),
            tokenizer,
            name=name or f"{teacher.name}:static",
            fingerprint=static_fingerprint(teacher.fingerprint, dimension),
        )

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        """Return one row per sentence; what lies beyond the window is not read."""
        result = np.empty((len(sentences), self.dimension), dtype=np.float32)
        for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
            part = sentences[start : start + _SENTENCES_AT_ONCE]
            result[start : start + len(part)] = self._sums(self.tokenizer.tokenize(part))
        lengths = np.linalg.norm(result, axis=1, keepdims=True)
        np.divide(result, lengths, out=result, where=lengths > 0)
        result[lengths[:, 0] == 0] = self.blank
        return result

    def count_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text, special tokens included, nothing cut."""
        return self.tokenizer.count(texts)

    def __deepcopy__(self, memo: dict[int, Any]) -> StaticEncoder:
        return self  # nothing in it ever changes

    def save(self, folder: Path) -> None:
        """Write the encoder as a folder; an old one is replaced."""
        content = {
            _VECTORS: save({"vectors": self.vectors}),
            _TOKENIZER: self.tokenizer.tokenizer.to_str().encode(),
        }
        description = {
            "fingerprint": self.fingerprint,
            "window": self.window,
            "pad_token_id": self.tokenizer.pad_token_id,
            "sha256": {file: hashlib.sha256(data).hexdigest() for file, data in content.items()},
        }
        content[_DESCRIPTION] = (json.dumps(description, indent=2) + "\n").encode()
        check_replaceable(
            Path(folder),
            kind="the folder of a static encoder",
            marks=[_DESCRIPTION],
            is_own=content.__contains__,
        )
        try:
            with replaced_directory(Path(folder)) as fresh:
                for file, data in content.items():
                    (fresh / file).write_bytes(data)
        except OSError as error:
            raise EncoderError(f"the encoder cannot be saved to {folder}: {error}") from None

    @classmethod
    def load(cls, folder: Path, *, name: str) -> StaticEncoder:
        """Return the encoder that `save` wrote; a damaged or edited one is refused."""
        folder = Path(folder)
        try:
            return _loaded(folder, name)
        except EncoderError:
            raise
        except Exception as error:
            # safetensors and tokenizers raise types of their own for damaged files.
            raise EncoderError(
                f"the static encoder in {folder} is damaged ({first_line(error)}); remove the "
                "folder and distil it again."
            ) from None

    def _sums(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        """Return the sum of the vectors of each list of token ids.

        First tokens of all sentences are added first, then second ones and so on: the order of
        adding, and with it every bit of a sum, does not depend on the other sentences.
        """
        lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
        ids = np.fromiter(chain.from_iterable(tokens), dtype=np.int64, count=int(lengths.sum()))
        longest_first = np.argsort(-lengths, kind="stable")
        places = (np.cumsum(lengths) - lengths)[longest_first]
        # How many sentences reach each position.
        reach = len(tokens) - np.cumsum(np.bincount(lengths))[:-1]
        sums = np.zeros((len(tokens), self.dimension), dtype=np.float32)
        for position, count in enumerate(reach):
            sums[:count] += self.vectors[ids[places[:count] + position]]
        result = np.empty_like(sums)
        result[longest_first] = sums
        return result


def static_fingerprint(teacher_fingerprint: str, dimension: int = DIMENSION) -> str:
    """Return the fingerprint of what `StaticEncoder.distil` makes of a teacher."""
    recipe = json.dumps([teacher_fingerprint, "static", _RECIPE, dimension])
    return hashlib.sha256(recipe.encode()).hexdigest()


def _mean_direction(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return, at length 1, what a text of every token would give: it says nothing in particular."""
    mean = vectors.sum(axis=0, dtype=np.float64)
    length = np.linalg.norm(mean)
    direction: NDArray[np.float32] = mean / length if length else np.eye(len(mean))[0]
    return direction.astype(np.float32)


def _loaded(folder: Path, name: str) -> StaticEncoder:
    description = read_json(folder / _DESCRIPTION)
    content = {file: (folder / file).read_bytes() for file in (_VECTORS, _TOKENIZER)}
    for file, written in content.items():
        if hashlib.sha256(written).hexdigest() != description["sha256"][file]:
            raise ValueError(f"the sha256 of {file} differs")
    vectors = load(content[_VECTORS])["vectors"]
    tokenizer = parse_tokenizer(content[_TOKENIZER])
    if vectors.ndim != 2 or len(vectors) <= highest_id(tokenizer):
        raise ValueError(f"vectors of shape {vectors.shape} do not belong to the tokenizer")
    return StaticEncoder(
        vectors,
        SentenceTokenizer(tokenizer, int(description["window"]), int(description["pad_token_id"])),
        name=name,
        fingerprint=str(description["fingerprint"]),
    )
