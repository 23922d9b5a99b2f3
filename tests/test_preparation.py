"""From documents to sentences and their embeddings."""

import dataclasses

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from protorynet import ProtoryNetClassifier, preparation
from protorynet.encoders import EmbeddingCache, load_encoder
from protorynet.errors import EmptyDocumentError
from protorynet.preparation import prepare_documents
from protorynet.words import WordWeights


class CountingEncoder:
    """An encoder that counts how often it reads each sentence."""

    def __init__(self, encoder, *, is_on_gpu=False):
        self.name, self.fingerprint = "counting", "counting-1"
        self.is_on_gpu = is_on_gpu
        self.read: list[str] = []
        self._encoder = encoder

    def encode(self, sentences):
        self.read += sentences
        return self._encoder.encode(sentences)

    def __deepcopy__(self, memo):
        return self  # scikit-learn clones parameters


@pytest.fixture(params=[1, 4], ids=["one core", "four cores"])
def small_windows(monkeypatch, request):
    monkeypatch.setattr(preparation, "DOCUMENTS_PER_WINDOW", 7)
    monkeypatch.setattr("protorynet.threads.count_threads", lambda: request.param)


def test_documents_split_while_others_are_encoded_give_the_same(encoder, reviews, small_windows):
    texts = [*reviews.texts, " ", *reviews.texts[:5], "A new one."]
    words = WordWeights.of(["good", "new one"], np.array([[1, -1], [-3, 2]], np.float32))
    options = {"on_empty": "skip", "words": words}
    plain = prepare_documents(texts, CountingEncoder(encoder), **options)
    counting = CountingEncoder(encoder, is_on_gpu=True)
    overlapping = prepare_documents(texts, counting, **options)
    for one, other in zip(plain, overlapping, strict=True):
        for field in dataclasses.fields(one):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))
    assert len(counting.read) == len(set(counting.read))


def test_tokens_are_found_while_others_are_encoded(tiny_bert_folder, reviews, small_windows):
    encoder = load_encoder(tiny_bert_folder, device="cpu")
    alone = prepare_documents(reviews.texts, encoder)[1]
    given_tokens: list[int] = []

    class OnGpu:
        name, fingerprint, is_on_gpu = "tokens", "tokens-1", True
        tokenize, window, count_tokens = encoder.tokenize, encoder.window, encoder.count_tokens

        def encode(self, sentences):
            raise AssertionError("its tokens were known")

        def encode_tokens(self, tokens):
            given_tokens.append(len(tokens))
            return encoder.encode_tokens(tokens)

    overlapping = prepare_documents(reviews.texts, OnGpu())[1]
    np.testing.assert_array_equal(overlapping.index, alone.index)
    np.testing.assert_allclose(overlapping.vectors, alone.vectors, atol=1e-6)
    assert sum(given_tokens) == len(alone.vectors)


def test_all_empty_documents_are_named_whatever_window_they_are_in(encoder, reviews, small_windows):
    texts = [*reviews.texts[:10], " ", *reviews.texts[:10], ""]
    with pytest.raises(EmptyDocumentError) as caught:
        prepare_documents(texts, CountingEncoder(encoder, is_on_gpu=True))
    assert caught.value.rows == [10, 21]


def test_cross_validation_encodes_each_text_once(encoder, reviews, single, monkeypatch, tmp_path):
    monkeypatch.setenv("PROTORYNET_CACHE", str(tmp_path))
    counting = CountingEncoder(encoder)
    model = ProtoryNetClassifier(counting, settings=single)
    numbered = [
        f"{text} It was room {n}. We paid {n} dollars." for n, text in enumerate(reviews.texts * 2)
    ]
    cross_val_score(model, numbered, reviews.labels * 2, cv=3)
    assert len(counting.read) == len(set(counting.read))
    assert EmbeddingCache().size() > 0
