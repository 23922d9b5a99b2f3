"""How right a model is, and how faithful its explanations are: always told together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Evaluation", "Measure"]


@dataclass(frozen=True)
class Measure:
    """One figure about the faithfulness of a model's explanations.

    Parameters
    ----------
    name
        Its key in JSON, such as ``"ids_only_accuracy"``.
    value
        The figure; None where it cannot be computed (a single prototype has no calibration).
    meaning
        A plain sentence saying what it measures and what would be bad.
    """

    name: str
    value: float | None
    meaning: str


@dataclass(frozen=True)
class Evaluation:
    """Accuracy and faithfulness of a model on a set of labelled documents.

    Parameters
    ----------
    accuracy, macro_f1
        Share of documents labelled rightly; mean over classes of the F1 score.
    n_documents, n_prototypes
        How many documents were read, and with how many prototypes.
    measures
        The faithfulness measures.
    """

    accuracy: float
    macro_f1: float
    n_documents: int
    n_prototypes: int
    measures: tuple[Measure, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet evaluate --json` prints them."""
        return {
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "n_documents": self.n_documents,
            "n_prototypes": self.n_prototypes,
            "faithfulness": {measure.name: measure.value for measure in self.measures},
        }
