from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from protorynet.encoders import stack_sequences
from protorynet.errors import InputError


@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=8), width=st.integers(1, 4))
def test_sequences_are_stacked_in_order(lengths: list[int], width: int) -> None:
    rng = np.random.default_rng(0)
    sequences = [rng.normal(size=(length, width)).astype(np.float32) for length in lengths]
    embeddings, found = stack_sequences(sequences)
    assert found.tolist() == lengths
    np.testing.assert_array_equal(embeddings.vectors[embeddings.rows], np.concatenate(sequences))


def test_vectors_become_float32() -> None:
    embeddings, _ = stack_sequences([np.ones((2, 3), dtype=np.int16)])
    assert embeddings.vectors.dtype == np.float32


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (np.ones(3), r"sequence 1 has shape \(3,\)"),
        (np.ones((1, 2, 3)), r"sequence 1 has shape \(1, 2, 3\)"),
        (np.ones((2, 4)), "sequence 1 has 4 components per sentence, but sequence 0 has 3"),
        (np.ones((0, 3)), "sequence 1 has shape .* empty"),
        (np.array([[1.0, np.nan, 2.0]]), "sequence 1 holds values that are not finite"),
        (np.array([[1.0, 1e300, 2.0]]), "sequence 1 holds values that are not finite"),
        (np.array([[1, None, 2]], dtype=object), "sequence 1 holds values of type object"),
        (np.array([["a", "b", "c"]]), "sequence 1 holds values of type"),
        ([[1.0, 2.0, 3.0], [4.0]], "sequence 1 is not an array"),
    ],
)
def test_an_unusable_sequence_is_named(wrong: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        stack_sequences([np.ones((2, 3)), wrong])


def test_no_sequences_are_refused() -> None:
    with pytest.raises(InputError, match="no sequences"):
        stack_sequences([])
