"""Static HTML: fragments for notebooks and self-contained pages, without a line of JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from protorynet.errors import InputError
from protorynet.files import write_atomically
from protorynet.report import wording
from protorynet.report.deciding import BEHIND, deciding
from protorynet.report.marking import marked
from protorynet.report.scale import HUES, ranked, scale_of_explanation, scale_of_prototypes
from protorynet.report.trajectory import trajectory_svg, verdict_reading

if TYPE_CHECKING:
    from protorynet.explain import Explanation, Rationale
    from protorynet.prototypes import Prototypes
    from protorynet.report.story import ModelStory

__all__ = [
    "explanation_fragment",
    "explanation_page",
    "model_page",
    "prototypes_fragment",
    "prototypes_page",
    "rationale_fragment",
    "render",
    "write_page",
]


def explanation_fragment(explanation: Explanation) -> str:
    """Return the trajectory as static HTML for a notebook; its styles touch nothing else.

    Examples
    --------
    >>> from protorynet.explain import Explanation, SentenceExplanation
    >>> sure = {"negative": 0.07, "positive": 0.93}
    >>> step = SentenceExplanation(
    ...     "A joy!", 0, 6, 7, "What a delight.", 0.8, None, None, sure, sure, effect=0.43)
    >>> "What a delight." in explanation_fragment(
    ...     Explanation("A joy!", "positive", sure, (step,)))
    True
    """
    return render("explanation_fragment.html", explanation=explanation)


def explanation_page(explanations: Sequence[Explanation], path: Path) -> None:
    """Write a self-contained page with the trajectories of one or more documents."""
    if not explanations:
        raise InputError("there is no explanation to show; give at least one document.")
    write_page(path, render("explanation_page.html", explanations=list(explanations)))


def rationale_fragment(rationale: Rationale) -> str:
    """Return a sentence and a prototype with the words marked that make them alike.

    Examples
    --------
    >>> from protorynet.explain import Rationale, WordEffect
    >>> words = (WordEffect("joy", 2, 5, 0.31),)
    >>> ">joy</mark>" in rationale_fragment(Rationale("A joy!", 7, "Joyful.", 0.8, words, ()))
    True
    """
    return render("rationale_fragment.html", rationale=rationale)


def prototypes_fragment(prototypes: Prototypes) -> str:
    """Return the table of prototypes as static HTML for a notebook.

    Examples
    --------
    >>> from protorynet.prototypes import Prototype, Prototypes
    >>> sure = {"negative": 0.03, "positive": 0.97}
    >>> loved = Prototype(1, "I love this place", 12, 0.08, sure, sure)
    >>> "I love this place" in prototypes_fragment(Prototypes((loved,), ("negative", "positive")))
    True
    """
    return render("prototypes_fragment.html", prototypes=prototypes)


def prototypes_page(prototypes: Prototypes, path: Path) -> None:
    """Write a self-contained page with the prototypes of a model."""
    write_page(path, render("prototypes_page.html", prototypes=prototypes))


def model_page(story: ModelStory, path: Path) -> None:
    """Write a self-contained page that tells a whole model: prototypes, examples, measures."""
    write_page(path, render("model_page.html", story=story))


def write_page(path: Path, page: str) -> None:
    """Write a page to a file, or say why that cannot be done."""
    try:
        write_atomically(path, page)
    except OSError as error:
        raise InputError(
            f"the page {path} cannot be written: {error.strerror or error}. "
            "Give the name of a file in a folder you may write to."
        ) from None


def render(template: str, **values: Any) -> str:
    """Return a template filled in; every value that is no markup is escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("protorynet.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_writable,
    )
    environment.globals.update(
        behind=BEHIND,
        deciding=deciding,
        hues=HUES,
        marked=marked,
        ranked=ranked,
        scale_of_explanation=scale_of_explanation,
        scale_of_prototypes=scale_of_prototypes,
        trajectory=_trajectory,
        verdict_reading=verdict_reading,
    )
    environment.filters.update(
        measure_title=wording.measure_title,
        measure_value=wording.measure_value,
        percent=wording.percent,
        points=_points,
        score=wording.score,
        signed=_signed,
    )
    return environment


def _trajectory(explanation: Explanation, width: int, height: int) -> Markup:
    # Every text in the picture was escaped when it was drawn.
    return Markup(trajectory_svg(explanation, width=width, height=height))  # noqa: S704


def _points(effect: float) -> str:
    return wording.points(effect).replace("-", "\N{MINUS SIGN}")


def _signed(effect: float) -> str:
    return wording.signed(effect).replace("-", "\N{MINUS SIGN}")


def _writable(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return wording.clean(value)
    return value
