"""One way from documents to predictions and explanations, whatever computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protorynet.data import OnEmpty, Sentences, is_text, sequence_text
from protorynet.encoders import (
    EmbeddingCache,
    Embeddings,
    Encoder,
    encode_corpus,
    load_encoder,
)
from protorynet.errors import EmptyDocumentError, InputError, ModelFormatError, TableError
from protorynet.explain import Explanation, ModelFacts, explain_reading
from protorynet.inference.onnx_backend import is_exported
from protorynet.preparation import add_words, prepare_documents, prepare_vectors, split_for
from protorynet.reading import Reading

if TYPE_CHECKING:
    from protorynet.model import Model

Runtime = Literal["torch", "onnx"]
_UNFAMILIAR = "unfamiliar"  # the column of a document's share of such sentences
_MOSTLY = 0.5  # a greater share of unfamiliar sentences makes a document unfamiliar
_DECIMALS = 6  # of the shares and probabilities in tables


class Backend(Protocol):
    """What computes: from the encoder's vectors to prototypes and probabilities."""

    @property
    def facts(self) -> ModelFacts:
        """What is known of the model."""

    def read(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> Reading:
        """Match sentences to prototypes and read documents of these lengths, at least one each."""

    def leave_one_out(self, reading: Reading, embeddings: Embeddings) -> NDArray[np.float32]:
        """Return, per sentence, the fall of the leading class's probability without it."""


class TorchBackend:
    """A model computed by torch."""

    def __init__(self, model: Model) -> None:
        self.model = self.facts = model

    def read(self, embeddings: Embeddings, lengths: NDArray[np.int64]) -> Reading:
        """Match and read documents."""
        return self.model.read(self.model.match(embeddings, lengths))

    def leave_one_out(self, reading: Reading, embeddings: Embeddings) -> NDArray[np.float32]:
        """Return the effect of every sentence."""
        from protorynet.explain import leave_one_out_effects

        return leave_one_out_effects(self.model, reading)


def torch_model(predictor: Predictor) -> Model:
    """Return the model that torch computes; an exported one has none."""
    if not isinstance(predictor.backend, TorchBackend):
        raise InputError(
            "the model is exported, and this needs torch; use the model that it was made of."
        )
    return predictor.backend.model


class Predictor:
    """A model ready for documents: what computes it, its encoder, splitter and labels.

    Without an encoder, (T, d) arrays are given in place of texts. The cache keeps embeddings on
    disk between runs.

    Examples
    --------
    >>> from protorynet import ProtoryNetClassifier
    >>> texts = ["I loved it. Great film!", "Awful. I hated every minute."] * 10
    >>> predictor = ProtoryNetClassifier().fit(texts, ["good", "bad"] * 10).predictor
    >>> predictor.predict(["What a film. Great!"]).tolist()
    ['good']
    """

    def __init__(
        self,
        backend: Backend,
        encoder: Encoder | None,
        *,
        cache: bool = True,
        progress: bool = False,
    ) -> None:
        self.backend = backend
        self.facts, self.labels = backend.facts, backend.facts.labels
        self.encoder = encoder
        # Then other work can be done while sentences are encoded.
        self.is_on_gpu = bool(getattr(encoder, "is_on_gpu", False))
        self._cache = EmbeddingCache() if cache else None
        self._progress = progress

    def prepare(
        self, documents: Sequence[Any], *, on_empty: OnEmpty = "skip"
    ) -> tuple[Sentences, Embeddings]:
        """Split documents and encode their sentences, as the model reads them."""
        if self.encoder is None and not any(isinstance(document, str) for document in documents):
            return prepare_vectors(documents)
        return prepare_documents(
            documents,
            self._text_encoder(),
            splitter=self.facts.splitter,
            on_empty=on_empty,
            cache=self._cache,
            progress=self._progress,
            words=self.facts.words,
        )

    def split(self, texts: Sequence[str], *, on_empty: OnEmpty = "skip") -> Sentences:
        """Split texts into sentences that fit the encoder."""
        encoder = self._text_encoder()
        return split_for(encoder, texts, splitter=self.facts.splitter, on_empty=on_empty)

    def _text_encoder(self) -> Encoder:
        if self.encoder is None:
            raise InputError(
                "the model comes without an encoder, so it cannot read texts. Give arrays of its "
                "vectors, or its encoder with encoder=…."
            )
        return self.encoder

    def encode(self, sentences: Sentences) -> Embeddings:
        """Encode what `split` returned, or a part of it."""
        encoder = self._text_encoder()
        found = encode_corpus(encoder, sentences.texts, cache=self._cache, progress=self._progress)
        return add_words(sentences, found, self.facts.words)

    def read(self, documents: Sequence[Any], *, on_empty: OnEmpty = "skip") -> Reading:
        """Match and read documents; those without a sentence are counted in `Reading.empty`."""
        if not len(documents):
            nothing = np.zeros(0, np.int64)
            return self.backend.read(Embeddings(np.zeros((0, 0), np.float32), nothing), nothing)
        return self.read_prepared(*self.prepare(documents, on_empty=on_empty))

    def read_prepared(self, sentences: Sentences, embeddings: Embeddings) -> Reading:
        """Match and read what `prepare` returned."""
        filled = sentences.filled
        reading = self.backend.read(embeddings, sentences.lengths[filled])
        return reading if filled.all() else replace(reading, empty=np.flatnonzero(~filled))

    def predict_proba(
        self, documents: Sequence[Any], *, on_empty: OnEmpty = "skip"
    ) -> NDArray[np.float32]:
        """Return the probability of each class; that of the training data for no sentence."""
        reading = self.read(documents, on_empty=on_empty)
        frequencies = np.array(self.facts.class_frequencies, np.float32)
        result = np.tile(frequencies, (len(reading.filled), 1))
        result[reading.filled] = reading.probabilities
        return result

    def predict(self, documents: Sequence[Any], *, on_empty: OnEmpty = "skip") -> NDArray[Any]:
        """Return the class of each document, or a 0/1 matrix for several labels."""
        return self.labels.decode(self.predict_proba(documents, on_empty=on_empty))

    def explain(self, documents: Sequence[Any], *, words: bool = False) -> list[Explanation]:
        """Explain the prediction for each document; one without a sentence is refused.

        With `words`, also say which words make each sentence like its prototype (slower); only
        torch computes that.
        """
        if not len(documents):
            return []
        sentences, embeddings = self.prepare(documents, on_empty="error")
        texts = [doc if isinstance(doc, str) else sequence_text(len(doc)) for doc in documents]
        return self.explain_prepared(texts, sentences, embeddings, words=words)

    def explain_prepared(
        self,
        texts: Sequence[str],
        sentences: Sentences,
        embeddings: Embeddings,
        *,
        words: bool = False,
    ) -> list[Explanation]:
        """Explain what `prepare` returned for texts, each with a sentence."""
        reading = self.read_prepared(sentences, embeddings)
        effects = self.backend.leave_one_out(reading, embeddings)
        explanations = explain_reading(self.facts, texts, sentences, reading, effects)
        if not words:
            return explanations
        from protorynet.explain import explain_words

        return explain_words(torch_model(self), self.encoder, explanations)

    def prepare_batch(self, batch: pa.RecordBatch, *, text: str) -> tuple[Sentences, Embeddings]:
        """Split the texts of a batch and encode their sentences."""
        return self.prepare(column_texts(batch.column(text), text))

    def score_batch(
        self,
        batch: pa.RecordBatch,
        *,
        text: str,
        skip_empty: bool = False,
        prepared: tuple[Sentences, Embeddings] | None = None,
    ) -> pa.RecordBatch:
        """Return the rows of a batch with their predictions; the step that every engine runs.

        A text that is missing or holds no sentence is left out with `skip_empty`; else it is an
        `EmptyDocumentError` with the positions in the batch. `prepared` is what `prepare_batch`
        returned for the batch, if it was called before.
        """
        self.output_schema(batch.schema, text=text)
        if prepared is None:
            reading = self.read(column_texts(batch.column(text), text))
        else:
            reading = self.read_prepared(*prepared)
        if len(reading.empty) and not skip_empty:
            raise EmptyDocumentError(reading.empty.tolist())
        return self.label_batch(batch, reading, text=text)

    def label_batch(self, batch: pa.RecordBatch, reading: Reading, *, text: str) -> pa.RecordBatch:
        """Return the rows of a batch whose texts hold a sentence, with what was read in them."""
        schema = self.output_schema(batch.schema, text=text)
        kept = batch.filter(pa.array(reading.filled)) if len(reading.empty) else batch
        columns = [*kept.columns, *self._prediction_columns(reading).values()]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def output_schema(self, given: pa.Schema, *, text: str) -> pa.Schema:
        """Return the schema of the rows with predictions, known before any row is scored."""
        if text not in given.names:
            raise TableError(
                f"there is no column {text!r}; the columns are {', '.join(map(repr, given.names))}."
            )
        added = pa.table(self._prediction_columns(self.read([]))).schema
        if taken := [name for name in added.names if name in given.names]:
            raise InputError(
                f"the table has the column(s) {', '.join(map(repr, taken))} already, which "
                "predict would write. Rename or remove them."
            )
        return pa.schema([*given, *added], metadata=given.metadata)

    def count_unfamiliar(self, labelled: pa.RecordBatch) -> int:
        """Return how many of some rows with predictions are mostly unlike the training data."""
        if not self.facts.familiar:
            return 0
        return int((labelled.column(_UNFAMILIAR).to_numpy() > _MOSTLY).sum())

    def _prediction_columns(self, reading: Reading) -> dict[str, pa.Array]:
        rounded = np.round(reading.probabilities.astype(np.float64), _DECIMALS)
        ids = [str(prototype.id) for prototype in self.facts.prototypes]
        paths = [" ".join(path) for path in reading.paths(ids)] if len(reading.lengths) else []
        if self.labels.task == "multilabel":
            predicted: list[Any] = [self.labels.name_of(each) for each in reading.probabilities]
            kind = pa.string()
        else:
            labels = self.labels.decide(reading.probabilities).argmax(axis=1)
            predicted = [self.labels.written[label] for label in labels]
            kind = pa.array(self.labels.written).type
        columns = {
            "prediction": pa.array(predicted, kind),
            "probability": pa.array(rounded.max(axis=1, initial=0.0)),
            **{f"p_{name}": pa.array(rounded[:, n]) for n, name in enumerate(self.labels.names)},
            "trajectory": pa.array(paths, pa.string()),
        }
        if self.facts.familiar:
            columns[_UNFAMILIAR] = pa.array(np.round(reading.unfamiliar_share, _DECIMALS))
        return columns


def column_texts(column: pa.Array | pa.ChunkedArray, name: str) -> list[str]:
    """Return the texts of a column, "" for missing ones; a column of other values is refused."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (is_text(kind) or pa.types.is_null(kind)):
        raise TableError(f"column {name!r} holds {kind}, not text; choose the column of texts.")
    return [text or "" for text in column.to_pylist()]


def open_predictor(
    model: str | Path,
    *,
    encoder: str | Path | Encoder | None = None,
    runtime: Runtime = "torch",
    device: str = "auto",
    cache: bool = True,
    progress: bool = False,
) -> Predictor:
    """Open a model for predictions and explanations.

    - `model`, `runtime`: a model directory, for torch; or one made by ``protorynet export``, which
      ONNX Runtime opens whatever the runtime says, without torch.
    - `encoder`, `device`: the encoder, where it lies elsewhere than in training; ``"auto"``,
      ``"cpu"`` or ``"cuda"``, for torch.
    - `cache`, `progress`: keep embeddings on disk between runs; show progress while encoding.
    """
    model = Path(model)
    if is_exported(model):
        if isinstance(encoder, str | Path):
            raise InputError(
                f"{model} holds its encoder, so --encoder {encoder} has nothing to say; leave it "
                "out."
            )
        from protorynet.inference.onnx_backend import open_export

        backend, own = open_export(model, encoder)
        return Predictor(backend, own, cache=cache, progress=progress)
    if runtime == "onnx" and model.is_dir():
        raise ModelFormatError(
            f"{model} is not exported, so ONNX Runtime cannot open it. Export it first with: "
            f"protorynet export {model} --format onnx -o EXPORTED"
        )
    opened, loaded = open_model(model, encoder=encoder, device=device)
    return Predictor(TorchBackend(opened), loaded, cache=cache, progress=progress)


def open_model(
    path: Path, *, encoder: str | Path | Encoder | None = None, device: str = "auto"
) -> tuple[Model, Encoder | None]:
    """Read a model directory and load its encoder; a tuned one lies in the directory itself."""
    from protorynet.encoders import choose_device, suit_machine
    from protorynet.model import PRECOMPUTED
    from protorynet.storage import load_model

    model, folder = load_model(path, device=str(choose_device(device)))
    named = suit_machine(model.encoder.name, device) if encoder is None else encoder
    loaded = None
    if not (isinstance(named, str) and named == PRECOMPUTED):
        loaded = load_encoder(folder or named, device=device, fetch=False)
    model.encoder.check(loaded)
    return model, loaded
