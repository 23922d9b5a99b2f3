"""Editing a trained model by hand: the prototypes, then the reader."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from protorynet.data import Splitter, split_documents
from protorynet.encoders import Encoder, WindowedEncoder
from protorynet.errors import InputError
from protorynet.model import Model
from protorynet.prototypes import EditEntry, Edits
from protorynet.training.fitted import Fitted
from protorynet.training.retraining import Labelled, retrain_reader

__all__ = ["EditableMixin", "edit_model"]


class EditableMixin(ABC):
    """What makes a classifier's prototypes editable."""

    model_: Model
    verbose: bool
    encoder_: Encoder | None

    @abstractmethod
    def _fitted(self) -> Model:
        """Return the model, or raise that there is none."""

    @abstractmethod
    def labelled(self, X: Any, y: Any) -> Labelled:  # noqa: N803
        """Split and encode labelled documents, without those that hold no sentence."""

    @abstractmethod
    def _summarised(self, fitted: Fitted) -> Model:
        """Return a model that was just trained with its automata."""

    def edit(
        self,
        X: Any = None,  # noqa: N803
        y: Any = None,
        *,
        drop: Iterable[int] = (),
        merge: Iterable[Iterable[int]] = (),
        replace: Mapping[int, str] | Iterable[tuple[int, str]] = (),
        rename: Mapping[int, str] | Iterable[tuple[int, str]] = (),
    ) -> EditEntry:
        """Edit prototypes by hand; with documents, also train the reader again on them.

        Parameters
        ----------
        X, y
            Labelled documents, best those of the training. Some are held out, to stop and to
            measure accuracy before and after. Without them the reader stays as it is, usage and
            class rates are those from before the edit, and the model has no automata until the
            reader is trained again, unless only names change.
        drop
            Ids of prototypes to remove; their sentences go to the nearest that remain.
        merge
            Groups of ids: the first stays and speaks for all, the others are removed.
        replace
            Ids with the sentences that are to take their place.
        rename
            Ids with names to show; an empty one takes the name away.

        Returns
        -------
        The entry in the log: what changed, and the accuracies if the reader was trained again.

        Examples
        --------
        ``clf.edit(texts, labels, drop=[7], rename={3: "slow service"})``
        """
        before, edits = self._fitted(), Edits.of(drop, merge, replace, rename)
        if not edits and X is None:
            raise InputError("there is nothing to do: name an edit, or documents to retrain on.")
        # Edited first, so that a wrong id is told before documents are encoded.
        edited = edit_model(before, edits, self.encoder_)
        if X is not None:
            documents = self.labelled(X, y)
            retrained = retrain_reader(before, edited, documents, progress=self.verbose)
            edited = self._summarised(retrained)
        self.model_ = edited
        return edited.edits.entries[-1]

    def undo_edit(self) -> EditEntry:
        """Undo the last edit that stands, exactly; the last ten can be undone.

        Returns
        -------
        The entry of the edit that is undone.
        """
        standing = self._fitted().edits.standing
        self.model_ = self.model_.undone()
        return self.model_.edits.entries[standing[-1].number - 1]


def edit_model(model: Model, edits: Edits, encoder: Encoder | None) -> Model:
    """Return the model with its prototypes edited and its reader as it was; the log tells it.

    Parameters
    ----------
    model
        The model; it stays as it is.
    edits
        What to do.
    encoder
        The model's encoder; None where users give vectors in place of texts.
    """
    sentences = [_as_read(text, number, model.splitter, encoder) for number, text in edits.replace]
    vectors = np.zeros((0, 0), np.float32)
    if sentences and encoder is not None:
        vectors = encoder.encode(sentences)
    ids = [number for number, _ in edits.replace]
    edits = replace(edits, replace=tuple(zip(ids, sentences, strict=True)))
    return model.edited(edits, vectors)


def _as_read(text: str, number: int, splitter: Splitter, encoder: Encoder | None) -> str:
    """Return a typed sentence as the encoder reads it; it must be one, and fit."""
    if encoder is None:
        raise InputError(
            f"prototype {number} cannot be replaced by a sentence: the model was trained on "
            "vectors, not on texts."
        )
    found = split_documents([text], splitter=splitter, on_empty="skip").texts
    if len(found) != 1:
        parts = " and ".join(f"“{part}”" for part in found[:3]) or "none"
        raise InputError(
            f"the text for prototype {number} should be one sentence, but {len(found)} are read: "
            f"{parts}."
        )
    if isinstance(encoder, WindowedEncoder):
        tokens = int(encoder.count_tokens(list(found))[0])
        if tokens > encoder.window:
            raise InputError(
                f"the sentence for prototype {number} is too long: it has {tokens} tokens, but "
                f"the encoder reads {encoder.window}."
            )
    return found[0]
