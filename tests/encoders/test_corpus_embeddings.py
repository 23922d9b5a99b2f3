from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from protorynet.encoders import EmbeddingCache, encode_corpus, stack_sequences
from protorynet.errors import EncoderError, InputError


class LengthEncoder:
    """A user's own encoder, without any base class."""

    name = "length"
    fingerprint = "length-1"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def encode(self, sentences: list[str]) -> np.ndarray:
        self.calls.append(sentences)
        return np.array(
            [[len(text), sum(map(ord, text)) % 1000] for text in sentences], dtype=np.float32
        )


class Answering:
    """An encoder that answers with whatever a function makes of the number of sentences."""

    name = "answering"
    fingerprint = "answering-1"

    def __init__(self, answer: Callable[[int], Any]) -> None:
        self.answer = answer

    def encode(self, sentences: list[str]) -> Any:
        return self.answer(len(sentences))


def many(count: int) -> list[str]:
    return [f"sentence number {i} {'x' * (i % 17)}" for i in range(count)]


@given(texts=st.lists(st.text(max_size=8), min_size=1, max_size=60))
def test_each_distinct_sentence_is_encoded_once_and_each_has_its_own_vector(texts):
    encoder = LengthEncoder()
    embeddings = encode_corpus(encoder, texts)
    expanded = embeddings.vectors[embeddings.index]
    assert sorted(text for call in encoder.calls for text in call) == sorted(set(texts))
    np.testing.assert_array_equal(expanded, LengthEncoder().encode(texts))


def test_only_sentences_that_are_not_cached_are_encoded(tmp_path):
    encoder, texts = LengthEncoder(), many(300)
    first = encode_corpus(encoder, texts, cache=EmbeddingCache(tmp_path))
    encoder.calls.clear()
    second = encode_corpus(encoder, ["new", *texts, "newer"], cache=EmbeddingCache(tmp_path))
    assert encoder.calls == [["newer", "new"]]
    np.testing.assert_array_equal(first.vectors, second.vectors[1:-1])
    np.testing.assert_array_equal(second.vectors, encoder.encode(["new", *texts, "newer"]))


def test_an_interrupt_keeps_the_chunks_that_were_done(tmp_path):
    class Interrupted(LengthEncoder):
        def encode(self, sentences: list[str]) -> np.ndarray:
            if sum(map(len, self.calls)) >= 5000:
                raise KeyboardInterrupt
            return super().encode(sentences)

    cache = EmbeddingCache(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        encode_corpus(Interrupted(), many(10_000), cache=cache)
    assert cache.get(LengthEncoder(), many(10_000))[0].sum() == 4096


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda n: np.ones((n + 1, 3)), r"shape \(4, 3\) for 3 sentences"),
        (lambda n: np.ones(n), r"shape \(3,\)"),
        (lambda n: np.ones((n, 0)), r"shape \(3, 0\)"),
        (lambda n: None, "values of type object"),
        (lambda n: np.ones((n, 2), dtype=complex), "values of type complex128"),
        (lambda n: [[1.0], [2.0, 3.0], [4.0]], "no array"),
        (lambda n: np.full((n, 2), np.nan), "not finite"),
        (lambda n: np.full((n, 2), 1e300), "not finite"),
    ],
)
def test_a_wrong_answer_is_told_with_the_encoders_name(answer, reason):
    with pytest.raises(EncoderError, match=f"'answering' returned .*{reason}"):
        encode_corpus(Answering(answer), ["a", "b", "c"])


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (np.ones(3), r"sequence 1 has shape \(3,\)"),
        (np.ones((2, 4)), "sequence 1 has 4 components per sentence, but sequence 0 has 3"),
        (np.ones((0, 3)), "sequence 1 has shape .* at least one of each"),
        (np.array([[1.0, np.nan, 2.0]]), "sequence 1 holds values that are not finite"),
        (np.array([[1.0, 1e300, 2.0]]), "sequence 1 holds values that are not finite"),
        (np.array([["a", "b", "c"]]), "sequence 1 holds values of type"),
        ([[1.0, 2.0, 3.0], [4.0]], "sequence 1 holds what is no array"),
    ],
)
def test_an_unusable_sequence_is_named(wrong, reason):
    with pytest.raises(InputError, match=reason):
        stack_sequences([np.ones((2, 3)), wrong])
    with pytest.raises(InputError, match="no sequences"):
        stack_sequences([])
