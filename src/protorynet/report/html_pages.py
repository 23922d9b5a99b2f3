"""Templates filled in: fragments for notebooks and self-contained pages, without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from protorynet.encoders import hub_name
from protorynet.errors import InputError
from protorynet.report import conventions
from protorynet.report.trajectory_drawing import trajectory_svg, write_view

if TYPE_CHECKING:
    from protorynet.explain import Evaluation, Explanation
    from protorynet.model import Model
    from protorynet.prototypes import Prototypes

_MARKDOWN = re.compile(r"([\\`*_\[\]|~$#])")
_CELL = re.compile(r"([\\|<>\[\]`*_])")


@dataclass(frozen=True)
class ModelStory:
    """A model, its prototypes, how well it does and some texts it has read, with captions.

    The headline `facts` are names and values, such as ``("Accuracy", "91.4%")``.
    """

    title: str
    subtitle: str
    facts: tuple[tuple[str, str], ...]
    prototypes: Prototypes
    evaluation: Evaluation
    examples: tuple[tuple[str, Explanation], ...]


def explanation_page(explanations: Sequence[Explanation], path: Path) -> None:
    """Write a self-contained page with the trajectories of one or more documents."""
    if not explanations:
        raise InputError("there is no explanation to show; give at least one document.")
    page = render("explanation_page.html", explanations=list(explanations))
    write_view(path, page, "page")


def prototypes_page(prototypes: Prototypes, path: Path, *, members: bool = False) -> None:
    """Write a self-contained page with the prototypes of a model; `members`: all unfolded."""
    page = render("prototypes_page.html", prototypes=prototypes, members=members)
    write_view(path, page, "page")


def model_page(story: ModelStory, path: Path) -> None:
    """Write a self-contained page that tells a whole model: prototypes, examples, measures."""
    write_view(path, render("model_page.html", story=story), "page")


def model_card(model: Model) -> str:
    """Return the model card, what a model is in words, as Markdown."""
    base = hub_name(model.encoder.name)
    return render("model_card.txt", model=model, base_model=base, cell=_escape_cell)


def render(template: str, **values: Any) -> str:
    """Return a template filled in, such as a fragment for a notebook.

    Its suffix says how: HTML escapes every value that is no markup, Markdown every value, plain
    text none.
    """
    return _environment(Path(template).suffix).get_template(template).render(**values)


@cache
def _environment(suffix: str) -> Environment:
    environment = Environment(
        loader=PackageLoader("protorynet.report"),
        autoescape=suffix in (".html", ".css"),  # noqa: S701 - the others are no HTML
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize={".md": _escape_markdown, ".txt": None}.get(suffix, _keep_writable),
    )
    environment.globals.update(
        {name: value for name, value in vars(conventions).items() if not name.startswith("_")}
    )
    # Every text in the picture was escaped when it was drawn.
    environment.globals["trajectory"] = lambda explanation, width, height: Markup(  # noqa: S704
        trajectory_svg(explanation, width=width, height=height)
    )
    environment.tests["is_member"] = conventions.is_member
    environment.filters.update(
        agreement=conventions.describe_agreement,
        breakable=_breakable,
        measure_title=conventions.measure_title,
        measure_value=conventions.format_measure,
        percent=_or_dash(conventions.format_percent),
        points=lambda effect: conventions.format_points(effect).replace("-", "\N{MINUS SIGN}"),
        score=_or_dash("{:.2f}".format),
        share=_or_dash("{:.1%}".format),
        signed=lambda effect: conventions.format_signed(effect).replace("-", "\N{MINUS SIGN}"),
        thousands="{:,}".format,
    )
    return environment


def _or_dash(write: Callable[[float], str]) -> Callable[[float | None], str]:
    """Return a filter that writes a figure, and a dash where there is none."""
    return lambda value: "–" if value is None else write(value)


def _breakable(name: str) -> Markup:
    """Return a name of a class, comp.sys.mac.hardware, that a line may end within at its dots."""
    safe = escape(conventions.clean(name))
    return Markup(re.sub(r"(?<=[._/])(?=\w)", "<wbr>", safe))  # noqa: S704


def _keep_writable(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return conventions.clean(value)
    return value


def _escape_markdown(value: object) -> str:
    """Return a value as one line that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", escape(conventions.printable(str(value)), quote=False))


def _escape_cell(text: str) -> str:
    """Keep text from breaking out of a Markdown table or becoming markup."""
    return _CELL.sub(r"\\\1", " ".join(text.split()))
