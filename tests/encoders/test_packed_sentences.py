"""Sentences read end to end give what they give padded."""

from typing import Any

import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from protorynet.encoders import SentenceNetwork, TransformerEncoder

_VOCABULARY = 15  # the fewest tokens that the tiny BERT knows
THREE = [[2, 5, 6, 3], [2, 3], [2, 7, 7, 8, 9, 3]]


def padded(network: SentenceNetwork, texts: list[list[int]]) -> Tensor:
    """Read each sentence alone: no padding, no neighbours."""
    alone = [network(torch.tensor([t]), torch.ones(1, len(t), dtype=torch.long)) for t in texts]
    return torch.cat(alone)


def packed(network: SentenceNetwork, texts: list[list[int]]) -> Tensor:
    tokens = torch.tensor([token for each in texts for token in each])
    lengths = [len(each) for each in texts]
    return network.forward_packed(tokens, torch.tensor(lengths), max(lengths))


@pytest.fixture(scope="module")
def network(tiny_bert):
    return TransformerEncoder(tiny_bert, name="tiny", device="cpu").network


_TEXTS = st.lists(
    st.lists(st.integers(0, _VOCABULARY - 1), min_size=1, max_size=20), min_size=1, max_size=12
)


@given(_TEXTS)
def test_packed_sentences_do_not_see_each_other(network, texts):
    with torch.no_grad():
        torch.testing.assert_close(packed(network, texts), padded(network, texts))


@given(_TEXTS)
def test_packed_sentences_in_rows_do_not_see_each_other(network, texts):
    """Each row is filled up with one more sentence; the last row is wider."""
    texts = [*texts, texts[0]]
    widths = [21] * (len(texts) - 1) + [23]
    each = zip(texts, widths, strict=True)
    filled = [part for text, width in each for part in (text, [1] * (width - len(text)))]
    tokens, lengths = [token for part in filled for token in part], [len(part) for part in filled]
    with torch.no_grad():
        run = torch.tensor(tokens), torch.tensor(lengths)
        found = network.forward_packed(*run, 23, ((len(texts) - 1, 21), (1, 23)))[::2]
        torch.testing.assert_close(found, padded(network, texts))


@pytest.mark.parametrize("mode", ["cls", "max", "mean", "mean_sqrt_len"])
def test_packed_sentences_are_pooled_as_padded_ones(make_folder, mode):
    folder = make_folder(pooling={"pooling_mode": mode})
    network = TransformerEncoder(folder, name="tiny", device="cpu").network
    config: Any = network.backbone.config
    usual = config._attn_implementation
    with torch.no_grad():
        torch.testing.assert_close(packed(network, THREE), padded(network, THREE))
    assert config._attn_implementation == usual


def test_gradients_of_packed_sentences_are_those_of_padded_ones(network):
    weight = network.backbone.get_parameter("encoder.layer.0.attention.self.query.weight")
    gradients = []
    for read in (packed, padded):
        network.zero_grad()
        read(network, THREE)[:, 0].sum().backward()
        gradients.append(weight.grad.clone())
    network.zero_grad()
    torch.testing.assert_close(gradients[0], gradients[1])


def test_a_transformer_that_cannot_be_packed_reads_padded_rows(tmp_path):
    from transformers import DistilBertConfig, DistilBertModel

    torch.manual_seed(0)
    config = DistilBertConfig(vocab_size=30, dim=16, n_layers=1, n_heads=2, hidden_dim=32)
    network = SentenceNetwork(DistilBertModel(config), ("mean",), []).eval()
    with torch.no_grad():
        torch.testing.assert_close(packed(network, THREE), padded(network, THREE))
