from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from protorynet.encoders import EmbeddingCache, encode_corpus
from protorynet.errors import EncoderError


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


@pytest.fixture
def length_encoder() -> LengthEncoder:
    return LengthEncoder()


def many(count: int) -> list[str]:
    return [f"sentence number {i} {'x' * (i % 17)}" for i in range(count)]


class Answering:
    """An encoder that answers with whatever a function makes of the number of sentences."""

    name = "answering"
    fingerprint = "answering-1"

    def __init__(self, answer: Callable[[int], Any]) -> None:
        self.answer = answer

    def encode(self, sentences: list[str]) -> Any:
        return self.answer(len(sentences))


def test_each_distinct_sentence_is_encoded_once(length_encoder: Any) -> None:
    encode_corpus(length_encoder, ["a", "bb", "a", "ccc", "bb"])
    assert sorted(text for call in length_encoder.calls for text in call) == ["a", "bb", "ccc"]


def test_vectors_stand_in_the_order_of_first_appearance(length_encoder: Any) -> None:
    embeddings = encode_corpus(length_encoder, ["a", "bb", "a", "ccc", "bb"])
    assert embeddings.vectors[:, 0].tolist() == [1, 2, 3]
    assert embeddings.rows.tolist() == [0, 1, 0, 2, 1]


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(st.text(max_size=8), min_size=1, max_size=60))
def test_expanding_gives_every_sentence_its_own_vector(texts: list[str]) -> None:
    embeddings = encode_corpus(LengthEncoder(), texts)
    expanded = embeddings.vectors[embeddings.rows]
    np.testing.assert_array_equal(expanded, LengthEncoder().encode(texts))


def test_no_sentences_give_empty_embeddings(minilm: Any) -> None:
    assert encode_corpus(minilm, []).vectors.shape == (0, 384)


def test_a_second_run_takes_everything_from_the_cache(length_encoder: Any, tmp_path: Path) -> None:
    texts = many(300)
    first = encode_corpus(length_encoder, texts, cache=EmbeddingCache(tmp_path))
    length_encoder.calls.clear()
    second = encode_corpus(length_encoder, texts, cache=EmbeddingCache(tmp_path))
    assert length_encoder.calls == []
    np.testing.assert_array_equal(first.vectors, second.vectors)


def test_only_missing_sentences_are_encoded(length_encoder: Any, tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    encode_corpus(length_encoder, many(100), cache=cache)
    length_encoder.calls.clear()
    embeddings = encode_corpus(length_encoder, ["new", *many(100), "newer"], cache=cache)
    assert length_encoder.calls == [["newer", "new"]]
    np.testing.assert_array_equal(
        embeddings.vectors, length_encoder.encode(["new", *many(100), "newer"])
    )


def test_an_interrupt_keeps_the_chunks_that_were_done(length_encoder: Any, tmp_path: Path) -> None:
    encode = length_encoder.encode

    def interrupted(sentences: list[str]) -> Any:
        if sum(map(len, length_encoder.calls)) >= 5000:
            raise KeyboardInterrupt
        return encode(sentences)

    length_encoder.encode = interrupted
    cache = EmbeddingCache(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        encode_corpus(length_encoder, many(10_000), cache=cache)
    assert cache.get(length_encoder, many(10_000))[0].sum() == 4096


def test_progress_is_told_on_standard_error(
    length_encoder: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    encode_corpus(length_encoder, many(10), progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Encoding 10 sentences" in captured.err


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda n: np.ones((n + 1, 3)), r"shape \(4, 3\) for 3 sentences"),
        (lambda n: np.ones(n), r"shape \(3,\)"),
        (lambda n: np.ones((n, 0)), r"shape \(3, 0\)"),
        (lambda n: None, "values of type object"),
        (lambda n: [["a"]] * n, "values of type"),
        (lambda n: np.ones((n, 2), dtype=complex), "values of type complex128"),
        (lambda n: [[1.0], [2.0, 3.0], [4.0]], "no array"),
        (lambda n: np.full((n, 2), np.nan), "not finite"),
        (lambda n: np.full((n, 2), 1e300), "not finite"),
    ],
)
def test_a_wrong_answer_is_told_with_the_encoders_name(
    answer: Callable[[int], Any], reason: str
) -> None:
    with pytest.raises(EncoderError, match=f"'answering' returned .*{reason}"):
        encode_corpus(Answering(answer), ["a", "b", "c"])


@pytest.mark.parametrize("kind", [np.float64, np.float16, np.int32, list])
def test_castable_answers_become_float32(kind: Any) -> None:
    def answer(count: int) -> Any:
        return [[1.0, 2.0]] * count if kind is list else np.ones((count, 2), dtype=kind)

    assert encode_corpus(Answering(answer), ["a", "b"]).vectors.dtype == np.float32


def test_a_width_that_changes_on_the_way_is_refused() -> None:
    widths = iter([3, 4])
    encoder = Answering(lambda n: np.ones((n, next(widths))))
    with pytest.raises(EncoderError, match="4 components per sentence after 3"):
        encode_corpus(encoder, many(600))


def test_a_width_unlike_the_cached_one_is_refused(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    encode_corpus(Answering(lambda n: np.ones((n, 3))), many(100), cache=cache)
    with pytest.raises(EncoderError, match="give it a new fingerprint"):
        encode_corpus(Answering(lambda n: np.ones((n, 4))), [*many(100), "new"], cache=cache)


def test_minilm_and_its_cached_vectors_agree(minilm: Any, tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    fresh = encode_corpus(minilm, many(70), cache=cache)
    np.testing.assert_array_equal(
        encode_corpus(minilm, many(70), cache=cache).vectors, fresh.vectors
    )
