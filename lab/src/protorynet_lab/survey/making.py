"""A survey from trained models and a table of labelled texts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from protorynet.errors import EmptyDocumentError, InputError
from protorynet.model import PRECOMPUTED
from protorynet_lab.survey.questions import Counts, ReadModel, make_survey
from protorynet_lab.survey.survey import Survey

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier

__all__ = ["survey_of_models"]

_MOST_READ = 600


def survey_of_models(
    models: Mapping[str, ProtoryNetClassifier],
    texts: Sequence[str],
    labels: Sequence[Any],
    *,
    rows: Sequence[int] | None = None,
    title: str = "How does a program read?",
    seed: int = 0,
    counts: Counts = Counts(),  # noqa: B008
    names: Mapping[str, str] | None = None,
) -> tuple[Survey, list[str]]:
    """Let models read some of the documents, and ask people about what they make of them.

    Parameters
    ----------
    models
        The models by name; participants are assigned to one of them.
    texts, labels
        Labelled documents, best unseen in training.
    rows
        Where the documents stand in their table.
    title
        What participants see as the survey's name.
    seed
        The same seed makes the same survey.
    counts
        How many questions of each kind to make.
    names
        What participants read in place of labels such as ``"0"`` and ``"1"``.

    Returns
    -------
    The survey, and remarks on what there is less of than wished.
    """
    places = range(len(texts)) if rows is None else rows
    chosen = _sample(len(texts), seed)
    while True:
        try:
            read = [_read(name, model, texts, labels, chosen) for name, model in models.items()]
            break
        except EmptyDocumentError as error:
            empty = {chosen[place] for place in error.rows}
            chosen = [at for at in chosen if at not in empty]
    kept = [int(places[at]) for at in chosen]
    return make_survey(title, read, kept, seed=seed, counts=counts, names=names)


def _read(
    name: str,
    model: ProtoryNetClassifier,
    texts: Sequence[str],
    labels: Sequence[Any],
    chosen: Sequence[int],
) -> ReadModel:
    if model.model_.encoder.name == PRECOMPUTED:
        raise InputError(
            f"the model {name!r} reads vectors, not texts, so people cannot be asked about it."
        )
    code = model.model_.labels
    targets = code.encode([labels[at] for at in chosen])
    return ReadModel(
        name,
        model.model_.encoder.name,
        model.prototypes_,
        model.explain([texts[at] for at in chosen]),
        [code.name_of(target) for target in targets],
    )


def _sample(count: int, seed: int) -> list[int]:
    """Draw so many documents as are enough to choose from."""
    draw = random.Random(f"documents {seed}")  # noqa: S311
    return sorted(draw.sample(range(count), min(count, _MOST_READ)))
