"""The scikit-learn estimator: it wires the rooms together and does no work of its own."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError as SklearnNotFittedError

from protorynet.data import OnEmpty, Rule, Sentences, Splitter, document_list
from protorynet.encoders import (
    EmbeddingCache,
    Embeddings,
    Encoder,
    choose_device,
    load_encoder,
    make_variant,
)
from protorynet.errors import InputError, ProtoryNetError
from protorynet.explain import (
    Automaton,
    Evaluation,
    choose_judge,
    evaluate_model,
    learn_automata,
    learn_automaton,
    pretrained_encode,
    stored_automaton,
)
from protorynet.hub import HubMixin
from protorynet.inference import Predictor, TorchBackend, open_model
from protorynet.labels import check_labels, learn_labels
from protorynet.model import PRECOMPUTED, EncoderRecord, Model
from protorynet.preparation import prepare_documents
from protorynet.prototypes import Prototypes
from protorynet.reading import Reading
from protorynet.settings import ClassWeight, EncoderTraining, Settings, load_settings
from protorynet.storage import save_model
from protorynet.threads import threads_for_training
from protorynet.training import (
    EditableMixin,
    Fitted,
    Labelled,
    check_weights,
    fit_model,
    read_floor,
    tunable_encoder,
)


class NotFittedError(ProtoryNetError, SklearnNotFittedError):  # type: ignore[misc]
    """The classifier was asked for results before `fit` or `load`."""


class ProtoryNetClassifier(HubMixin, EditableMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Text classifier whose every decision can be read.

    Each sentence of a document is matched to one prototype, a real training sentence; an LSTM
    reads the sequence of prototypes and gives the label.

    Parameters
    ----------
    encoder
        ``"minilm"`` (comes with the package), the name or folder of any sentence-transformers
        model, each also with ``":bf16"``, ``":int8"`` or ``":static"``; ``"auto"`` for minilm, in
        bfloat16 where that is faster; an object with `name`, `fingerprint` and `encode`; or
        ``"precomputed"`` to pass (T, d) arrays as texts.
    settings
        ``"default"``, ``"paper"``, a TOML or JSON file, or a `Settings`.
    n_prototypes, max_prototypes, encoder_training
        The settings people change most; None leaves what `settings` says.
    class_weight
        ``"auto"`` (only rare classes count more), ``"balanced"``, ``"none"``, or a mapping from
        class to weight; None leaves what `settings` says, ``"auto"`` by default.
    splitter
        ``"sentencex"``, ``"lines"`` where every line end ends a sentence, or ``"paper"`` for the
        paper's rule.
    language
        Code of the language by whose rules sentences are split.
    on_empty
        What to do with a document that holds no sentence: ``"error"``, or ``"skip"`` (left out of
        training; predicted by the class frequencies).
    class_names
        What to call the classes wherever people read them, such as ``{0: "bad", 1: "good"}``;
        `predict` returns the labels themselves.
    random_state
        Seed. The same seed on the same machine gives the same model.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    cache
        Keep embeddings on disk between runs.
    verbose
        Show progress on standard error.

    Attributes
    ----------
    classes_
        The classes, in the order of the columns of `predict_proba`.
    prototypes_
        The prototypes.
    model_
        The trained model.
    n_skipped_
        Training documents left out because they held no sentence.

    Examples
    --------
    >>> texts = ["I loved it. Great film!", "Awful. I hated every minute."] * 10
    >>> clf = ProtoryNetClassifier().fit(texts, ["good", "bad"] * 10)
    >>> clf.predict(["What a great film."]).tolist()
    ['good']
    """

    def __init__(
        self,
        encoder: str | Path | Encoder = "auto",
        *,
        settings: str | Path | Settings = "default",
        n_prototypes: int | None = None,
        max_prototypes: int | None = None,
        encoder_training: EncoderTraining | None = None,
        class_weight: ClassWeight | Mapping[Any, float] | None = None,
        splitter: Rule = "sentencex",
        language: str = "en",
        on_empty: OnEmpty = "error",
        class_names: Mapping[Any, str] | None = None,
        random_state: int = 0,
        device: str = "auto",
        cache: bool = True,
        verbose: bool = False,
    ) -> None:
        self.encoder = encoder
        self.settings = settings
        self.n_prototypes = n_prototypes
        self.max_prototypes = max_prototypes
        self.encoder_training = encoder_training
        self.class_weight = class_weight
        self.splitter = splitter
        self.language = language
        self.on_empty = on_empty
        self.class_names = class_names
        self.random_state = random_state
        self.device = device
        self.cache = cache
        self.verbose = verbose

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        *,
        sample_weight: Any = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> ProtoryNetClassifier:
        """Train on documents and their labels.

        Parameters
        ----------
        X
            Texts: a list, a pandas Series or a NumPy array of strings. With
            ``encoder="precomputed"``, a list of (T, d) arrays.
        y
            One label per document, or a 0/1 matrix for several labels at once.
        sample_weight
            What each document counts in training; all alike by default.
        checkpoint
            Folder in which the state after each epoch is kept.
        resume
            Resume from that state, if there is one, with the same result.
        """
        settings, splitter = self._settings(), Splitter(self.splitter, self.language)
        if resume and checkpoint is None:
            raise InputError("resume=True needs checkpoint=…, the folder to resume from.")
        documents = self._documents(X)
        check_labels(y, len(documents))
        if len(documents) == 0:
            raise InputError("there are no documents to train on.")
        labels = learn_labels(y).with_names(self.class_names)
        targets = labels.encode(y)
        weights = check_weights(labels, targets, sample_weight, self.class_weight)
        encoder = self._load_encoder(settings)
        tunable = tunable_encoder(encoder) if settings.encoder_training == "full" else None
        beginning = encoder
        if tunable is not None and tunable.is_on_gpu:
            # What training only begins with need not be exact to the last bit.
            beginning = make_variant(copy.deepcopy(tunable), "bf16")
        sentences, embeddings = prepare_documents(
            documents,
            beginning,
            splitter=splitter,
            on_empty=self.on_empty,
            cache=EmbeddingCache() if self.cache else None,
            progress=self.verbose,
        )
        filled = sentences.filled
        weights = None if weights is None else weights[filled]
        device = str(choose_device(self.device))
        with threads_for_training(device, full=tunable is not None):
            fitted = fit_model(
                Labelled(sentences.without_empty(), embeddings, targets[filled], weights),
                labels,
                settings=settings,
                encoder=EncoderRecord.of(encoder, tuned=tunable is not None),
                splitter=splitter,
                seed=self._seed(),
                unit_length=encoder is not None,
                tunable=tunable,
                device=device,
                checkpoint=Path(checkpoint) if checkpoint else None,
                resume=resume,
                progress=self.verbose,
            )
            begin = time.perf_counter()
            model = self._summarised(fitted)
        model.training.seconds["automata"] = time.perf_counter() - begin
        prototypes = model.prototypes.with_rows(np.flatnonzero(filled))
        self._install(replace(model, prototypes=prototypes), encoder, tuned=tunable)
        self.n_skipped_ = int((~filled).sum())
        return self

    def set_params(self, **params: Any) -> ProtoryNetClassifier:
        """Set parameters; ``settings__NAME`` sets one of `Settings`, as grid searches do."""
        own: dict[str, Any] = {}
        of_settings: dict[str, Any] = {}
        for name, value in params.items():
            setting = name.removeprefix("settings__")
            (own if setting == name else of_settings)[setting] = value
        super().set_params(**own)
        if of_settings:
            self.settings = load_settings(self.settings).replace(**of_settings)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float32]:  # noqa: N803
        """Return the probability of each class for each document."""
        return self.predictor.predict_proba(self._documents(X), on_empty=self.on_empty)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the most probable class of each document, or a 0/1 matrix for several labels."""
        return self.predictor.predict(self._documents(X), on_empty=self.on_empty)

    def read(self, X: Any) -> Reading:  # noqa: N803
        """Return what the model does with documents: trajectories and probabilities."""
        return self.predictor.read(self._documents(X), on_empty=self.on_empty)

    def explain(self, X: Any, *, words: bool = False) -> Any:  # noqa: N803
        """Explain the prediction for one document, or for each of several.

        With `words`, also say which words make each sentence like its prototype (slower).

        Returns
        -------
        An `Explanation` for a single text, a list of them for a sequence.
        """
        single = isinstance(X, str) or (self._precomputed() and getattr(X, "ndim", 0) == 2)
        documents = self._documents([X] if single else X)
        explanations = self.predictor.explain(documents, words=words)
        return explanations[0] if single else explanations

    def automaton(self, label: Any, X: Any = None, *, held_out: Any = None) -> Automaton:  # noqa: N803
        """Summarise what the model does for one class as an automaton.

        Parameters
        ----------
        label
            The class.
        X
            Documents to learn it from. Without them it is the one of the training, measured on
            the documents held out then.
        held_out
            Other documents to measure its fidelity on.
        """
        if X is None:
            if held_out is not None:
                raise InputError("held_out=… needs X, the documents to learn an automaton from.")
            return stored_automaton(self._fitted(), label)
        other = None if held_out is None else self.read(held_out)
        return learn_automaton(self._fitted(), self.read(X), label, held_out=other)

    def evaluate(
        self,
        X: Any,  # noqa: N803
        y: Any,
        *,
        judge: str | Encoder | None = None,
        train: tuple[Any, Any] | None = None,
    ) -> Evaluation:
        """Measure accuracy and the faithfulness of the explanations together.

        Parameters
        ----------
        X, y
            Labelled documents, best unseen in training.
        judge
            An encoder that judges how well sentences and prototypes match. By default the
            embedded one, or word pieces (TF-IDF) for a model made with the embedded one.
        train
            Training texts and their labels: with them, a bag of words is measured beside.
        """
        model, labelled = self._fitted(), self.labelled(X, y)
        encoder = self.encoder_
        judging, name = choose_judge(model.encoder, judge, device=self.device)
        floor = None
        if train is not None and encoder is not None:
            part = (labelled.sentences.texts, labelled.sentences.lengths, labelled.targets)
            floor = read_floor(model, self._documents(train[0]), train[1], part)
        return evaluate_model(
            model,
            labelled.sentences,
            labelled.embeddings,
            labelled.targets,
            encode=None if encoder is None else encoder.encode,
            pretrained=pretrained_encode(model.encoder, self.encoder, device=self.device),
            judge=judging,
            judge_name=name,
            floor=floor,
        )

    @property
    def predictor(self) -> Predictor:
        """The fitted model with its encoder, as everything that predicts or explains uses it."""
        backend = TorchBackend(self._fitted())
        return Predictor(backend, self.encoder_, cache=self.cache, progress=self.verbose)

    def prepare(self, X: Any, *, on_empty: OnEmpty | None = None) -> tuple[Sentences, Embeddings]:  # noqa: N803
        """Split documents and encode their sentences, as the fitted model reads them."""
        return self.predictor.prepare(self._documents(X), on_empty=on_empty or self.on_empty)

    def labelled(self, X: Any, y: Any) -> Labelled:  # noqa: N803
        """Prepare documents that hold a sentence, with their labels in the model's numbers."""
        check_labels(y, len(self._documents(X)))
        targets = self._fitted().labels.encode(y)
        sentences, embeddings = self.prepare(X)
        filled = sentences.filled
        if not filled.any():
            raise InputError("there are no documents with a sentence.")
        return Labelled(sentences.without_empty(), embeddings, targets[filled])

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of `predict_proba`."""
        return self._fitted().labels.array()

    @property
    def prototypes_(self) -> Prototypes:
        """The prototypes of the fitted model."""
        return self._fitted().prototypes

    def save(self, path: str | Path) -> None:
        """Write the model directory; see `protorynet.storage`."""
        save_model(self._fitted(), Path(path), tuned=self._tuned)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        encoder: str | Path | Encoder | None = None,
        device: str = "auto",
        cache: bool = True,
        verbose: bool = False,
    ) -> ProtoryNetClassifier:
        """Read a model directory.

        Parameters
        ----------
        path
            The directory.
        encoder
            The encoder, where it lies elsewhere than when the model was made; its fingerprint
            must be the same.
        device, cache, verbose
            As for the class.
        """
        opened = open_model(Path(path), encoder=encoder, device=device)
        return cls.of_model(*opened, spec=encoder, device=device, cache=cache, verbose=verbose)

    @classmethod
    def of_model(
        cls,
        model: Model,
        loaded: Encoder | None,
        *,
        spec: str | Path | Encoder | None = None,
        device: str = "auto",
        cache: bool = True,
        verbose: bool = False,
    ) -> ProtoryNetClassifier:
        """Return a classifier around a model and its encoder; `spec` is what that was loaded by."""
        self = cls(
            model.encoder.name if spec is None else spec,
            settings=model.settings,
            splitter=model.splitter.rule,
            language=model.splitter.language,
            class_names=dict(zip(model.labels.classes, model.labels.called, strict=False)) or None,
            random_state=model.training.seed,
            device=device,
            cache=cache,
            verbose=verbose,
        )
        self._install(model, loaded, tuned=loaded if model.encoder.tuned else None)
        return self

    def _install(self, model: Model, encoder: Encoder | None, *, tuned: Any) -> None:
        self.model_ = model
        self.encoder_ = encoder
        self._tuned = tuned

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedError("this ProtoryNetClassifier is not fitted; call fit or load first.")
        return self.model_

    def _settings(self) -> Settings:
        changes = {
            name: getattr(self, name)
            for name in ("n_prototypes", "max_prototypes", "encoder_training", "class_weight")
            if getattr(self, name) is not None
        }
        if isinstance(self.class_weight, Mapping):
            changes["class_weight"] = "none"  # they are weights of documents then
        return load_settings(self.settings).replace(**changes)

    def _seed(self) -> int:
        seed = self.random_state
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"random_state={seed!r} should be a whole number of at least 0.")
        return int(seed)

    def _precomputed(self) -> bool:
        return isinstance(self.encoder, str) and self.encoder == PRECOMPUTED

    def _documents(self, X: Any) -> list[Any]:  # noqa: N803
        return document_list(X, are_texts=not self._precomputed())

    def _load_encoder(self, settings: Settings) -> Encoder | None:
        if self._precomputed():
            return None
        full = settings.encoder_training == "full"
        # Full training changes the weights; an encoder that the user holds must stay as it is.
        spec = "minilm" if full and self.encoder == "auto" else self.encoder
        encoder = load_encoder(spec, device=self.device, fetch=True)
        return copy.deepcopy(tunable_encoder(encoder)) if full else encoder

    def _summarised(self, fitted: Fitted) -> Model:
        automata = learn_automata(
            fitted.model, fitted.train, held_out=fitted.held_out, progress=self.verbose
        )
        return replace(fitted.model, automata=automata)
