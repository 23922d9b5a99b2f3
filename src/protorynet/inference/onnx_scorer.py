"""An exported model that scores and explains texts, without torch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from protorynet.data import OnEmpty, Sentences, document_list, sequence_text
from protorynet.encoders import (
    EmbeddingCache,
    Embeddings,
    Encoder,
    OnnxEncoder,
    SentenceTokenizer,
    first_line,
    parse_tokenizer,
)
from protorynet.errors import EncoderError, InputError, ModelFormatError
from protorynet.explain import Explanation
from protorynet.inference.onnx_explaining import explain_reading
from protorynet.inference.onnx_exported import (
    ENCODER,
    READER,
    TOKENIZER,
    EncoderPart,
    Exported,
    read_exported,
    read_part,
)
from protorynet.inference.onnx_reader import OnnxReader
from protorynet.inference.onnx_scores import Scores
from protorynet.labels import LabelCode
from protorynet.preparation import prepare_documents
from protorynet.prototypes import Prototypes

__all__ = ["OnnxScorer"]


class OnnxScorer:
    """An exported model in ONNX Runtime.

    Parameters
    ----------
    exported
        What the folder says of itself.
    encoder
        What turns sentences into vectors; None where vectors are given in place of texts.
    reader
        What turns vectors into prototypes and probabilities.
    cache
        Keep embeddings on disk between runs.

    Attributes
    ----------
    labels, prototypes, prototype_ids
        The classes, and the prototypes in the order of the columns of trajectories.
    """

    def __init__(
        self, exported: Exported, encoder: Encoder | None, reader: OnnxReader, *, cache: bool
    ) -> None:
        self.exported = exported
        self.labels: LabelCode = exported.labels
        self.prototypes: Prototypes = exported.prototypes
        self.prototype_ids: Sequence[str] = [str(item.id) for item in exported.prototypes]
        self.encoder = encoder
        self._reader = reader
        self._cache = cache

    @classmethod
    def load(
        cls, folder: str | Path, *, encoder: Encoder | None = None, cache: bool = True
    ) -> OnnxScorer:
        """Open a folder that ``protorynet export`` made.

        Parameters
        ----------
        folder
            The folder.
        encoder
            The encoder that the model was made with, where the folder holds none.
        cache
            Keep embeddings on disk between runs.
        """
        folder = Path(folder)
        exported = read_exported(folder)
        if exported.encoder is not None:
            if encoder is not None:
                raise InputError(f"{folder} holds its encoder; load it without encoder=….")
            encoder = _encoder(folder, exported, exported.encoder)
        elif encoder is not None and encoder.fingerprint != exported.encoder_fingerprint:
            raise EncoderError(
                f"the model was made with another encoder than {encoder.name!r}: "
                f"{exported.encoder_name!r}. Give the right one with encoder=…."
            )
        reader = OnnxReader(
            read_part(folder, READER, exported),
            folder / READER,
            dimension=exported.dimension,
            n_prototypes=len(exported.prototypes),
            n_classes=len(exported.labels.classes),
        )
        return cls(exported, encoder, reader, cache=cache)

    def score(self, texts: Sequence[Any]) -> Scores:
        """Return the scores of texts; one without a sentence is no error.

        Where there is no encoder, give (sentences, components) arrays in place of texts.
        """
        if not len(texts):
            return Scores.empty(0, len(self.labels.classes))
        sentences, embeddings = self._prepare(texts, on_empty="skip")
        filled = sentences.filled
        if not filled.any():
            return Scores.empty(len(texts), len(self.labels.classes))
        lengths = sentences.lengths[filled]
        reading = self._reader.read(embeddings.vectors, embeddings.rows, lengths)
        return Scores(reading.probabilities, reading.columns, lengths, filled)

    def explain(self, texts: Sequence[Any]) -> list[Explanation]:
        """Explain the prediction for each text, as the model it was exported from would.

        What is left out is what the automata say, which are not exported.
        """
        documents = document_list(texts, are_texts=self.encoder is not None)
        if not documents:
            return []
        sentences, embeddings = self._prepare(documents, on_empty="error")
        shown = [text if isinstance(text, str) else sequence_text(len(text)) for text in documents]
        return explain_reading(self.exported, self._reader, shown, sentences, embeddings)

    def _prepare(
        self, documents: Sequence[Any], *, on_empty: OnEmpty
    ) -> tuple[Sentences, Embeddings]:
        if self.encoder is None and any(isinstance(document, str) for document in documents):
            raise InputError(
                f"the exported model holds no encoder (it was made with "
                f"{self.exported.encoder_name!r}), so it cannot read texts. Give arrays of its "
                "vectors, or the encoder with OnnxScorer.load(…, encoder=…)."
            )
        return prepare_documents(
            documents,
            self.encoder,
            splitter=self.exported.splitter,
            on_empty=on_empty,
            cache=EmbeddingCache() if self._cache else None,
        )


def _encoder(folder: Path, exported: Exported, part: EncoderPart) -> OnnxEncoder:
    graph = read_part(folder, ENCODER, exported)
    content = read_part(folder, TOKENIZER, exported)
    try:
        tokenizer = parse_tokenizer(content)
    except ValueError as error:
        raise ModelFormatError(
            f"{folder / TOKENIZER} is damaged ({first_line(error)}); export the model again."
        ) from None
    special_tokens = tokenizer.num_special_tokens_to_add(False)
    if part.window <= special_tokens:
        raise ModelFormatError(
            f"{folder} has a window of {part.window} token(s), of which {special_tokens} are "
            "special; export the model again."
        )
    encoder = OnnxEncoder(
        graph,
        SentenceTokenizer(tokenizer, part.window, part.pad_token_id),
        name=f"{exported.encoder_name} (ONNX {part.precision})",
        # Computed from the content: a name that the folder gave itself could spoil the cache.
        fingerprint=_fingerprint(graph, content, part),
        source=folder / ENCODER,
    )
    if encoder.dimension != exported.dimension:
        raise ModelFormatError(
            f"{folder / ENCODER} gives vectors of {encoder.dimension} components, but the model "
            f"reads {exported.dimension}; export the model again."
        )
    return encoder


def _fingerprint(graph: bytes, tokenizer: bytes, part: EncoderPart) -> str:
    digests = [hashlib.sha256(content).hexdigest() for content in (graph, tokenizer)]
    parts = ["onnx", *digests, str(part.window), str(part.pad_token_id)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()
