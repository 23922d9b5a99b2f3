"""The model card: what a model is, in words, beside its files."""

from __future__ import annotations

from protorynet.model import Model

__all__ = ["model_card"]


def model_card(model: Model) -> str:
    """Return the model card as Markdown."""
    from protorynet.report import render

    return render("model_card.txt", model=model, cell=_escape_cell)


def _escape_cell(text: str) -> str:
    """Keep text from breaking out of a Markdown table or becoming markup."""
    flat = " ".join(text.split())
    for character in "\\|<>[]`*_":
        flat = flat.replace(character, "\\" + character)
    return flat
