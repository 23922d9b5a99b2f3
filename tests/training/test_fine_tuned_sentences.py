"""Embeddings from an encoder that is being trained."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from protorynet.encoders import TransformerEncoder
from protorynet.network import Centring
from protorynet.training import FineTunedSource, sources

TEXTS = ["we left", "the room was clean and the staff was friendly", "", "the room was dirty"]
ROWS = torch.tensor([3, 1, 0, 2, 1])


@pytest.fixture
def encoder(tiny_bert_folder: Path) -> TransformerEncoder:
    return TransformerEncoder(tiny_bert_folder, name="tiny", device="cpu")


@pytest.fixture
def source(encoder: TransformerEncoder) -> FineTunedSource:
    centring = Centring(torch.full((encoder.dimension,), 0.01))
    return FineTunedSource(torch.zeros(4, encoder.dimension), encoder, centring, TEXTS).eval()


def test_rows_come_back_in_the_order_asked_for(
    source: FineTunedSource, encoder: TransformerEncoder
) -> None:
    encoded = torch.from_numpy(encoder.encode(TEXTS))
    expected = functional.normalize(encoded - 0.01, dim=-1)[ROWS]
    torch.testing.assert_close(source(ROWS), expected, atol=1e-5, rtol=0)


def test_parts_of_bounded_size_give_the_same_embeddings(
    source: FineTunedSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = source(ROWS)
    monkeypatch.setattr(sources, "_CPU_TOKENS", 12)
    torch.testing.assert_close(source(ROWS), whole, atol=1e-6, rtol=0)


def gradients(source: FineTunedSource) -> dict[str, Tensor]:
    source.zero_grad()
    source(ROWS)[:, 0].sum().backward()
    return {
        name: weight.grad.clone()
        for name, weight in source.named_parameters()
        if weight.grad is not None and weight.grad.norm() > 1e-6
    }


def test_half_precision_gives_nearly_the_same_gradients_in_full_precision(
    source: FineTunedSource,
) -> None:
    whole = gradients(source)
    source._half = True
    half = gradients(source)
    assert half.keys() == whole.keys()
    for name, gradient in half.items():
        assert gradient.dtype == torch.float32
        likeness = functional.cosine_similarity(gradient.flatten(), whole[name].flatten(), dim=0)
        assert likeness > 0.98, name


def test_settled_embeddings_are_in_full_precision(source: FineTunedSource) -> None:
    whole = source(ROWS)
    source._half = True
    assert not torch.equal(source(ROWS), whole)
    source.settle()
    assert torch.equal(source(ROWS), whole)
