"""A transformer fine-tuned on whole documents: how they are cut, packed and learned."""

import json
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, strategies as st

from protorynet.encoders import load_encoder
from protorynet.errors import InputError
from protorynet_lab.baselines import TransformerClassifier
from protorynet_lab.baselines.transformer_rival import cut_document

contents = st.lists(st.integers(10, 99), max_size=60)
windows = st.integers(4, 20)


@given(contents, windows)
def test_a_document_cut_to_head_and_tail_keeps_both_ends(content, most):
    ids = [1, *content, 2]
    (cut,) = cut_document(ids, most, "head+tail", [1, 2])
    assert len(cut) == min(len(ids), most)
    assert (cut[0], cut[-1]) == (1, 2)
    head = round(most / 4)
    assert cut[:head] == ids[:head]
    assert cut[head:] == ids[len(ids) - len(cut) + head :]


@given(contents, windows)
def test_the_windows_of_a_document_hold_all_of_it(content, most):
    cut = cut_document([1, *content, 2], most, "windows", [1, 2])
    assert [token for window in cut for token in window[1:-1]] == content
    assert all(window[0] == 1 and window[-1] == 2 and len(window) <= most for window in cut)


@pytest.fixture(scope="module")
def options(tiny_bert_folder) -> dict[str, Any]:
    return {"encoder": tiny_bert_folder, "learning_rate": 1e-2, "device": "cpu"}


@pytest.mark.parametrize(("pooling", "long"), [("mean", "windows"), ("cls", "head+tail")])
def test_long_documents_are_read_either_way(options, reviews, unseen_reviews, pooling, long):
    rival = TransformerClassifier(**options, pooling=pooling, long=long, max_tokens=20, epochs=5)
    rival.fit(reviews.texts, reviews.labels)
    assert rival.score(unseen_reviews.texts, unseen_reviews.labels) > 0.7


def test_the_logits_of_windows_are_averaged(options, reviews):
    rival = TransformerClassifier(**options, long="windows", max_tokens=8, epochs=1)
    rival.fit(reviews.texts, reviews.labels)
    # Six tokens and two special ones fill a window, so each of these sentences has its own.
    one, two = "The room was lovely . .", "The shower was broken . ."
    probabilities = rival.predict_proba([one, two, f"{one} {two}"]).astype(np.float64)
    margins = np.log(probabilities[:, 1] / probabilities[:, 0])
    assert margins[2] == pytest.approx((margins[0] + margins[1]) / 2, abs=1e-4)


@pytest.mark.parametrize("architecture", ["DistilBert", "Roberta"])
def test_other_architectures_than_bert_are_fine_tuned_too(
    tiny_bert_folder, tmp_path, reviews, unseen_reviews, architecture
):
    tokenizer = json.loads((tiny_bert_folder / "tokenizer.json").read_text())
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = getattr(transformers, f"{architecture}Config")(
        vocab_size=len(tokenizer["model"]["vocab"]), max_position_embeddings=34, **sizes
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        getattr(transformers, f"{architecture}Model")(config).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    rival = TransformerClassifier(tmp_path, learning_rate=1e-2, epochs=5, device="cpu")
    rival.fit(reviews.texts, reviews.labels)
    assert rival.score(unseen_reviews.texts, unseen_reviews.labels) > 0.7


def test_neither_neighbours_in_a_batch_nor_the_own_encoder_are_touched(options, reviews, capsys):
    mine = load_encoder(options["encoder"], device="cpu")
    fingerprint = mine.fingerprint
    rival = TransformerClassifier(mine, learning_rate=1e-2, epochs=1, device="cpu", verbose=True)
    rival.fit(reviews.texts, reviews.labels)
    assert mine.fingerprint == fingerprint
    assert "Fine-tuning: done" in capsys.readouterr().err
    together = rival.predict_proba(reviews.texts[:8])
    alone = np.concatenate([rival.predict_proba([text]) for text in reviews.texts[:8]])
    assert together == pytest.approx(alone, abs=1e-5)


def test_only_a_transformer_can_be_fine_tuned(reviews, encoder):
    with pytest.raises(InputError, match="'hashing' is no transformer"):
        TransformerClassifier(encoder, device="cpu").fit(reviews.texts, reviews.labels)
