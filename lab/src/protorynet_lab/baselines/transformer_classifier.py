"""Any transformer fine-tuned on whole documents: the strongest rival, and a black box."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from protorynet.encoders import (
    Encoder,
    SentenceNetwork,
    TransformerEncoder,
    choose_device,
    load_encoder,
)
from protorynet.errors import InputError, ProtoryNetError
from protorynet.training import derive_seed
from protorynet_lab.baselines.contract import Evidence, Part, Rival
from protorynet_lab.baselines.document_tokens import DocumentTokens, Long, cut_document
from protorynet_lab.baselines.fine_tuning import (
    FineTuning,
    LabelledTokens,
    document_logits,
    fine_tune,
)
from protorynet_lab.baselines.leaving_out import leave_one_out

__all__ = ["TransformerClassifier"]

Pooling = Literal["mean", "cls"]
_Result = TypeVar("_Result")
_DROPOUT = 0.1
_READ_AT_ONCE = 16_384  # documents
_LEAST = {"max_tokens": 8, "epochs": 1, "patience": 1, "batch_size": 1}


class TransformerClassifier(Rival):
    """A pre-trained transformer and a linear layer, fine-tuned on whole documents.

    On a GPU it computes in bfloat16. The epoch with the best validation accuracy is kept.

    Parameters
    ----------
    encoder
        ``"minilm"`` (comes with the package), the folder or Hugging Face name of any encoder, or a
        `TransformerEncoder`, which stays as it is.
    pooling
        What the linear layer reads: the mean of the token vectors, or the first (``"cls"``).
    long, max_tokens
        What is read of a document of more than `max_tokens`: its beginning and its end
        (``"head+tail"``), or all of it in windows whose logits are averaged (``"windows"``).
    epochs, patience
        Most epochs, and most epochs in a row without improvement.
    batch_size, learning_rate
        Most documents per step, and the highest learning rate of the transformer.
    random_state, device, verbose
        As for `ProtoryNetClassifier`.

    Attributes
    ----------
    network_
        The fine-tuned transformer and the linear layer, which give logits.

    Examples
    --------
    >>> texts = ["I loved it. Great film!", "Awful. I hated every minute."] * 10
    >>> rival = TransformerClassifier(epochs=1, device="cpu").fit(texts, ["good", "bad"] * 10)
    >>> rival.predict(["What a great film."]).tolist()
    ['good']
    """

    def __init__(
        self,
        encoder: str | Path | Encoder = "minilm",
        *,
        pooling: Pooling = "mean",
        long: Long = "head+tail",
        max_tokens: int = 512,
        epochs: int = 3,
        patience: int = 2,
        batch_size: int = 32,
        learning_rate: float = 5e-5,
        random_state: int = 0,
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.encoder = encoder
        self.pooling = pooling
        self.long = long
        self.max_tokens = max_tokens
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def _learn(self, train: Part, validation: Part) -> float:
        how = self._fine_tuning()
        device = choose_device(self.device)
        given = load_encoder(self.encoder, device=self.device)
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(how.seed, "initialise"))
            self._install(given)
            network = self.network_.to(device).eval()
            learnt, held_out = (
                LabelledTokens(self._tokens(part.texts), torch.from_numpy(part.targets).to(device))
                for part in (train, validation)
            )
            remedy = (
                "long='head+tail', which reads less of long documents"
                if self.long == "windows"
                else f"a lower batch_size (now {self.batch_size}) or max_tokens (now "
                f"{self.max_tokens})"
            )
            accuracy = self._within_memory(
                partial(fine_tune, network, learnt, held_out, how), remedy
            )
        network.requires_grad_(False)
        return accuracy

    def _install(self, given: Encoder) -> None:
        """Make a network that ends in logits, and a tokenizer that cuts nothing."""
        if not isinstance(given, TransformerEncoder):
            raise InputError(
                f"the encoder {given.name!r} is no transformer that can be fine-tuned; give the "
                "name or folder of one, such as 'minilm'."
            )
        backbone: Any = copy.deepcopy(given.network.backbone)
        head = nn.Linear(backbone.config.hidden_size, len(self._code().classes))
        self.network_ = SentenceNetwork(backbone, (self.pooling,), [nn.Dropout(_DROPOUT), head])
        self._tokenizer = replace(given.tokenizer, window=sys.maxsize)
        # Sentence encoders often ask for less than their transformer can read. Of its position
        # embeddings, where it has any, two may hold no token.
        positions: Any = getattr(backbone.config, "max_position_embeddings", None)
        is_bounded = isinstance(positions, int) and positions > 0
        limit = max(given.window, positions - 2) if is_bounded else sys.maxsize
        self._window = min(self.max_tokens, limit)

    def _tokens(self, texts: Sequence[str]) -> DocumentTokens:
        tokenizer = self._tokenizer
        bare = tokenizer.tokenize([""])[0]
        # A text without a single token still needs a place to look at.
        return DocumentTokens(
            [
                cut_document(ids or [tokenizer.pad_token_id], self._window, self.long, bare)
                for ids in tokenizer.tokenize(texts)
            ]
        )

    def _probabilities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        result = np.empty((len(texts), len(self._code().classes)), np.float32)
        device = choose_device(self.device)
        for start in range(0, len(texts), _READ_AT_ONCE):
            tokens = self._tokens(texts[start : start + _READ_AT_ONCE])
            logits = self._within_memory(
                partial(document_logits, self.network_, tokens, device),
                "device='cpu', or free some of it",
            )
            powers = np.exp(logits - logits.max(axis=1, keepdims=True))
            result[start : start + len(tokens)] = powers / powers.sum(axis=1, keepdims=True)
        return result

    def _within_memory(self, work: Callable[[], _Result], remedy: str) -> _Result:
        """Do something on the device, and say what to try where its memory is too small."""
        try:
            return work()
        except torch.OutOfMemoryError:
            raise ProtoryNetError(
                f"the device {self.device!r} has too little memory; try {remedy}."
            ) from None

    def _evidence(self, text: str, place: int) -> tuple[Sequence[Evidence], str]:
        return leave_one_out(text, place, self._probabilities)

    def _fine_tuning(self) -> FineTuning:
        """Return the hyper-parameters, all of them checked."""
        for name, choices in (("pooling", get_args(Pooling)), ("long", get_args(Long))):
            if getattr(self, name) not in choices:
                listed = ", ".join(map(repr, choices))
                raise InputError(f"{name}={getattr(self, name)!r} is not one of {listed}.")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise InputError(f"{name}={value!r} should be a whole number of at least {least}.")
        rate = self.learning_rate
        if not isinstance(rate, Real) or not 0 < rate < 1:
            raise InputError(f"learning_rate={rate!r} should be a number between 0 and 1.")
        return FineTuning(
            epochs=self.epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            learning_rate=rate,
            seed=self._seed(),
            progress=self.verbose,
        )
