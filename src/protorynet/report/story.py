"""What the page of a model tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protorynet.explain import Evaluation, Explanation
    from protorynet.prototypes import Prototypes

__all__ = ["ModelStory"]


@dataclass(frozen=True)
class ModelStory:
    """A model, its prototypes, how well it does and some texts it has read.

    Parameters
    ----------
    title, subtitle
        Headline of the page and the line beneath it.
    facts
        Names and values of the headline facts, such as ``("Accuracy", "91.4%")``.
    prototypes
        The model's prototypes.
    evaluation
        Accuracy and faithfulness; None leaves the section out.
    examples
        Captions and explanations of single texts.
    """

    title: str
    subtitle: str
    facts: tuple[tuple[str, str], ...]
    prototypes: Prototypes
    evaluation: Evaluation | None
    examples: tuple[tuple[str, Explanation], ...]
