"""A real encoder without weights: signed word hashing, quick and the same on every machine."""

import hashlib
import re

import numpy as np
from numpy.typing import NDArray

DIMENSION = 32
_WORD = re.compile(r"\w+")


class HashingEncoder:
    """Sum a fixed ±1 vector for every word, whatever its case and position."""

    name = "hashing"
    fingerprint = "hashing-1"

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        vectors = [
            sum((_word_vector(word) for word in _WORD.findall(text.lower())), np.zeros(DIMENSION))
            for text in sentences
        ]
        return np.array(vectors, dtype=np.float32).reshape(-1, DIMENSION)


def _word_vector(word: str) -> NDArray[np.float64]:
    digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
    return np.array([1.0 if byte & 1 else -1.0 for byte in digest])
