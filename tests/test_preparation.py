"""Documents on their way to a model."""

import numpy as np
import pytest

from protorynet.errors import EmptyDocumentError
from protorynet.preparation import prepare_documents


def test_sentences_and_embeddings_belong_together(encoder):
    texts = ["The room was clean. We slept.", "We slept."]
    sentences, embeddings = prepare_documents(texts, encoder)
    assert sentences.texts == ("The room was clean.", "We slept.", "We slept.")
    np.testing.assert_array_equal(
        embeddings.vectors[embeddings.index], encoder.encode(list(sentences.texts))
    )


def test_nothing_but_empty_documents_gives_no_embeddings(encoder):
    sentences, embeddings = prepare_documents(["", "  "], encoder, on_empty="skip")
    assert (len(sentences), len(embeddings.index)) == (0, 0)


def test_an_empty_document_is_refused_by_row(encoder):
    with pytest.raises(EmptyDocumentError, match="row 1"):
        prepare_documents(["A text.", ""], encoder)


def test_without_an_encoder_documents_are_vectors():
    sentences, embeddings = prepare_documents([np.ones((2, 3)), np.zeros((1, 3))], None)
    assert sentences.lengths.tolist() == [2, 1]
    assert embeddings.vectors[embeddings.index].shape == (3, 3)
