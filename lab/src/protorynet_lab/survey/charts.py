"""The paper's figures of the study as SVG: bars with standard errors, dark on white."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from protorynet.report import HUES, clean, element, line_path, picture, shorten, text
from protorynet_lab.survey.figures import AUTOMATIC, EVERYONE, Analysis

__all__ = ["Bar", "Group", "analysis_charts", "bars_svg"]

_LEFT, _TOP, _HEIGHT, _BAR, _SPACE, _GAP = 52.0, 84.0, 200.0, 40.0, 10.0, 44.0
_INK, _FAINT, _RULE = "#1f2328", "#59636e", "#dde1e6"


@dataclass(frozen=True)
class Bar:
    """A mean with its standard error."""

    mean: float
    error: float | None
    n: int


@dataclass(frozen=True)
class Group:
    """Bars side by side, one of each model (None where there is none), and a note above them."""

    name: str
    bars: tuple[Bar | None, ...]
    note: str = ""


def analysis_charts(analysis: Analysis) -> dict[str, str]:
    """Return the figures that the answers allow, as SVG by name of the file."""
    charts = {}
    titles = {
        "agreement": "Agreement with the model’s prototypes",
        "ease": "How easy it was to choose, 1 to 5",
        "diagnosis": "Mistakes diagnosed rightly",
    }
    for measure, title in titles.items():
        if groups := _groups(analysis, measure):
            share = measure != "ease"
            chances = {each.chance for each in analysis.means if each.measure == measure}
            chance = chances.pop() if len(chances) == 1 else None
            charts[f"{measure}.svg"] = bars_svg(
                title, analysis.models, groups, is_share=share, chance=chance
            )
    if groups := _by_question(analysis):
        title = "Trajectories chosen as the model does, by question"
        charts["trajectories.svg"] = bars_svg(
            title, analysis.models, groups, is_share=True, chance=0.25
        )
    return charts


def bars_svg(
    title: str,
    models: Sequence[str],
    groups: Sequence[Group],
    *,
    is_share: bool,
    chance: float | None = None,
) -> str:
    """Return groups of bars.

    Parameters
    ----------
    title
        What is shown.
    models
        What the bars of every group stand for.
    groups
        The groups, from left to right.
    is_share
        Whether the values are shares between 0 and 1; else ratings between 1 and 5.
    chance
        What blind guessing would give, drawn as a broken line.
    """
    inner = len(models) * _BAR + (len(models) - 1) * _SPACE
    breadth = max(inner, 76.0)
    room = _GAP + len(groups) * (breadth + _GAP)
    right = 16.0 if chance is None else 56.0
    width = max(_LEFT + room + right, 24 + 8.2 * len(title), 24.0 + 160 * len(models))
    room = width - _LEFT - right
    low, high = (0.0, 1.0) if is_share else (1.0, 5.0)

    def y(value: float) -> float:
        share = min(max((value - low) / (high - low), 0.0), 1.0)
        return _TOP + _HEIGHT * (1 - share)

    parts = [text(title, 16, 26, font_weight=700, font_size=14), *_legend(models)]
    for value in (0, 0.25, 0.5, 0.75, 1) if is_share else (1, 2, 3, 4, 5):
        line = line_path([(_LEFT, y(value)), (_LEFT + room, y(value))])
        parts.append(element("path", d=line, stroke=_RULE))
        words = f"{100 * value:.0f}%" if is_share else str(value)
        parts.append(text(words, _LEFT - 8, y(value) + 4, text_anchor="end", fill_opacity=0.75))
    step = room / len(groups)
    for place, group in enumerate(groups):
        middle = _LEFT + step * (place + 0.5)
        parts += _group(group, models, middle, inner, y, is_share=is_share)
    if chance is not None:
        line = line_path([(_LEFT, y(chance)), (_LEFT + room, y(chance))])
        parts.append(element("path", d=line, stroke=_FAINT, stroke_dasharray="4 3"))
        parts.append(text("chance", _LEFT + room + 6, y(chance) + 4, fill_opacity=0.75))
    return picture(title, parts, width, _TOP + _HEIGHT + 44)


def _group(
    group: Group,
    models: Sequence[str],
    middle: float,
    inner: float,
    y: object,
    *,
    is_share: bool,
) -> Iterator[str]:
    assert callable(y)
    base = _TOP + _HEIGHT
    look = {"text_anchor": "middle"}
    yield text(shorten(group.name, 24), middle, base + 20, font_weight=600, **look)
    if group.note:
        yield text(group.note, middle, _TOP - 12, fill_opacity=0.75, **look)
    for place, (model, bar) in enumerate(zip(models, group.bars, strict=True)):
        if bar is None:
            continue
        x = middle - inner / 2 + place * (_BAR + _SPACE)
        top, centre = y(bar.mean), x + _BAR / 2
        shown = f"{100 * bar.mean:.0f}%" if is_share else f"{bar.mean:.1f}"
        told = element("title", escape(clean(f"{group.name}, {model}: {shown}, n = {bar.n}")))
        yield element(
            "rect", told, x=x, y=top, width=_BAR, height=base - top, fill=HUES[place % len(HUES)]
        )
        reach = bar.error or 0.0
        upper, lower = y(bar.mean + reach), y(bar.mean - reach)
        if bar.error is not None:
            whisker = line_path([(centre, upper), (centre, lower)])
            caps = "".join(line_path([(centre - 6, at), (centre + 6, at)]) for at in (upper, lower))
            yield element("path", d=whisker + caps, stroke=_INK, stroke_width=1.5, fill="none")
        yield text(shown, centre, upper - 5, font_weight=600, font_size=11, **look)
        yield text(f"n={bar.n}", centre, base + 36, font_size=10, fill_opacity=0.75, **look)


def _groups(analysis: Analysis, measure: str) -> list[Group]:
    found = (
        _group_of(analysis, measure, name, name)
        for name in ("technical", "non-technical", AUTOMATIC)
    )
    return [group for group in found if group is not None]


def _by_question(analysis: Analysis) -> list[Group]:
    asked = [each for each in analysis.questions if each.task == "trajectory"]
    by_model = {model: [q for q in asked if q.model == model] for model in analysis.models}
    most = max(map(len, by_model.values()), default=0)
    groups = []
    for place in range(most):
        found = [by_model[model][place : place + 1] for model in analysis.models]
        bars = tuple(Bar(q[0].agreement, q[0].error, q[0].n) if q else None for q in found)
        groups.append(Group(f"question {place + 1}", bars))
    for name, words in ((EVERYONE, "all"), (AUTOMATIC, AUTOMATIC)):
        if (group := _group_of(analysis, "trajectory", name, words)) is not None:
            groups.append(group)
    return groups


def _group_of(analysis: Analysis, measure: str, group: str, words: str) -> Group | None:
    means = [analysis.mean(measure, model, group) for model in analysis.models]
    if not any(means):
        return None
    bars = tuple(Bar(m.mean, m.error, m.n) if m else None for m in means)
    return Group(words, bars, _p_value(analysis, measure, group))


def _p_value(analysis: Analysis, measure: str, group: str) -> str:
    """Return the p-value of two models; three or more have no one such value."""
    found = [
        each.p for each in analysis.comparisons if each.measure == measure and each.within == group
    ]
    if len(found) != 1 or found[0] is None:
        return ""
    return "p < .001" if found[0] < 0.001 else f"p = {found[0]:.3f}".replace("0.", ".")


def _legend(models: Sequence[str]) -> Iterator[str]:
    for place, model in enumerate(models):
        x = 16 + 160.0 * place
        yield element("rect", x=x, y=40, width=12, height=12, fill=HUES[place % len(HUES)])
        yield text(shorten(model, 20), x + 19, 50)
