"""The analysis of a survey for a terminal, as the paper's figures, and as a page with both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup
from rich.console import Console
from rich.table import Table
from rich.text import Text

from protorynet.files import write_atomically
from protorynet.report import HUES, clean, printable, shorten
from protorynet_lab.presentation import FAINT, INK, RULE, chart_style, chart_svg
from protorynet_lab.survey.survey_analysis import (
    AUTOMATIC,
    EVERYONE,
    TASK_OF_MEASURE,
    Analysis,
    Comparison,
    Mean,
)
from protorynet_lab.survey.survey_pages import render

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLES = {
    "agreement": "Prototype chosen as by the model",
    "ease": "Ease of choosing (1–5)",
    "diagnosis": "Mistake diagnosed correctly",
    "trajectory": "Trajectory chosen as by the model",
}
_CHART_TITLES = {
    "agreement": "Agreement with the model’s prototypes",
    "ease": "How easy it was to choose, 1 to 5",
    "diagnosis": "Mistakes diagnosed correctly",
}
_LOOK = {"font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"]}


class _BarGroup(NamedTuple):
    """Bars side by side, one of each model (None where there is none), and a note above them."""

    name: str
    bars: tuple[Mean | None, ...]
    note: str = ""


def print_analysis(analysis: Analysis, console: Console) -> None:
    """Print means, tests and agreement."""
    console.print(_summarise(analysis), soft_wrap=True)
    for measure in TASK_OF_MEASURE:
        means = [mean for mean in analysis.means if mean.measure == measure]
        if not means:
            continue
        table = Table(title=_TITLES[measure], title_justify="left", title_style="bold")
        for column in ("model", "group", "n", "mean ± error", "chance"):
            table.add_column(column, justify="left" if column in ("model", "group") else "right")
        for mean in means:
            chance = "–" if mean.chance is None else f"{100 * mean.chance:.0f}%"
            name = Text(printable(mean.model))
            table.add_row(name, mean.group, str(mean.n), _format_mean(mean), chance)
        console.print()
        console.print(table)
        for test in analysis.comparisons:
            if test.measure == measure:
                console.print(Text(_format_test(test)), soft_wrap=True)
        for alpha in analysis.alphas:
            if alpha.measure == measure:
                value = "not defined" if alpha.alpha is None else f"{alpha.alpha:.3f}"
                words = f"Krippendorff’s alpha ({alpha.level}), {printable(alpha.model)}: {value}"
                console.print(Text(words), soft_wrap=True)


def write_analysis(analysis: Analysis, folder: Path, *, title: str) -> Sequence[Path]:
    """Write ``index.html``, ``analysis.json`` and an SVG for each figure; return the files."""
    charts = analysis_charts(analysis)
    page = render(
        "analysis.html",
        title=title,
        analysis=analysis,
        summary=_summarise(analysis),
        # Every text in the figures was escaped when they were drawn.
        charts=[Markup(chart) for chart in charts.values()],  # noqa: S704
        titles=_TITLES,
        format_mean=_format_mean,
        format_p=_format_p,
    )
    numbers = json.dumps(analysis.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    contents = {"index.html": page, "analysis.json": numbers + "\n", **charts}
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return [folder / name for name in contents]


def analysis_charts(analysis: Analysis) -> dict[str, str]:
    """Return the figures that the answers allow, as SVG by name of the file."""
    charts = {}
    for measure, title in _CHART_TITLES.items():
        names = ("technical", "non-technical", AUTOMATIC)
        groups = [group for name in names for group in _group_bars(analysis, measure, name)]
        if groups:
            chances = {each.chance for each in analysis.means if each.measure == measure}
            chance = chances.pop() if len(chances) == 1 else None
            charts[f"{measure}.svg"] = _draw_bars(title, analysis.models, groups, chance)
    groups = [
        *_group_by_question(analysis),
        *(group._replace(name="all") for group in _group_bars(analysis, "trajectory", EVERYONE)),
        *_group_bars(analysis, "trajectory", AUTOMATIC),
    ]
    if groups:
        title = "Trajectories chosen as the model does, by question"
        charts["trajectories.svg"] = _draw_bars(title, analysis.models, groups, 0.25)
    return charts


def _group_bars(analysis: Analysis, measure: str, group: str) -> list[_BarGroup]:
    """Return the bars of a group of participants; none where nobody of them was asked."""
    bars = tuple(analysis.mean(measure, model, group) for model in analysis.models)
    if not any(bars):
        return []
    tests = [
        test for test in analysis.comparisons if (test.measure, test.within) == (measure, group)
    ]
    # Three models or more have no one such value.
    is_tested = len(tests) == 1 and tests[0].p is not None
    return [_BarGroup(group, bars, _format_p(tests[0].p) if is_tested else "")]


def _group_by_question(analysis: Analysis) -> Iterator[_BarGroup]:
    bars = {
        model: [
            Mean("trajectory", model, EVERYONE, each.n, each.agreement, each.error, None)
            for each in analysis.questions
            if each.task == "trajectory" and each.model == model
        ]
        for model in analysis.models
    }
    for number, of_models in enumerate(zip_longest(*bars.values()), 1):
        yield _BarGroup(f"question {number}", of_models)


def _draw_bars(
    title: str, models: Sequence[str], groups: Sequence[_BarGroup], chance: float | None
) -> str:
    """Return groups of bars with standard errors as SVG, dark on white; chance is a broken line."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    is_share = all(bar.measure != "ease" for group in groups for bar in group.bars if bar)
    bar_width = 0.8 / len(models)
    colours = [HUES[number % len(HUES)] for number in range(len(models))]
    inches = max(5.0, 1.2 + len(groups) * max(1.2, 0.58 * len(models)), 1.8 * len(models))
    with chart_style(_LOOK):
        figure = Figure(figsize=(inches, 3.8), layout="constrained")
        axes = figure.add_subplot()
        _draw_scale(axes, groups, chance, is_share=is_share)
        for at, group in enumerate(groups):
            for number, bar in enumerate(group.bars):
                if bar is not None:
                    x = at + (number - (len(models) - 1) / 2) * bar_width
                    _draw_bar(axes, bar, x, bar_width, colours[number])
        handles = [Patch(color=colour) for colour in colours]
        names = [shorten(clean(model), 20) for model in models]
        figure.legend(
            handles,
            names,
            title=title,
            title_fontproperties={"size": 11, "weight": "bold"},
            alignment="left",
            loc="outside upper left",
            ncols=len(models),
            frameon=False,
        )
        nothing = dict.fromkeys(("Creator", "Format", "Type"))
        content = chart_svg(figure, {"Title": title, **nothing})
    # Within a page there is neither a declaration nor an id that stands in the other figures too.
    content = content[content.index("<svg") :].replace("<svg ", '<svg role="img" ', 1)
    return re.sub(r' id="[\w.]+_\d+"', "", content)


def _draw_scale(
    axes: Axes, groups: Sequence[_BarGroup], chance: float | None, *, is_share: bool
) -> None:
    low, high = (0, 1) if is_share else (1, 5)
    ticks = np.linspace(low, high, 5)
    axes.set(ylim=(low, high), xlim=(-0.55, len(groups) - 0.45))
    axes.set_yticks(ticks, [f"{100 * tick:.0f}%" if is_share else f"{tick:.0f}" for tick in ticks])
    axes.set_xticks(range(len(groups)), [group.name for group in groups])
    axes.tick_params(axis="y", length=0, labelcolor=FAINT)
    axes.tick_params(axis="x", length=0, pad=18)
    axes.grid(axis="y", color=RULE)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    beside: dict[str, Any] = {"textcoords": "offset points", "color": FAINT}
    if chance is not None:
        axes.axhline(chance, color=FAINT, linestyle=(0, (4, 3)), linewidth=1)
        side = axes.get_yaxis_transform()
        axes.annotate("chance", (1, chance), (5, 0), xycoords=side, va="center", **beside)
    for at, group in enumerate(groups):
        axes.annotate(group.note, (at, high), (0, 16), ha="center", **beside)


def _draw_bar(axes: Axes, bar: Mean, x: float, width: float, colour: str) -> None:
    low, high = axes.get_ylim()
    axes.bar(x, bar.mean - low, 0.85 * width, bottom=low, color=colour)
    error = bar.error or 0.0
    # A whisker ends where the scale does.
    bottom, top = max(bar.mean - error, low), min(bar.mean + error, high)
    if bar.error is not None:
        reach = [[bar.mean - bottom], [top - bar.mean]]
        axes.errorbar(x, bar.mean, reach, color=INK, linewidth=1.5, capsize=5, clip_on=False)
    near: dict[str, Any] = {"textcoords": "offset points", "ha": "center"}
    shown = f"{bar.mean:.1f}" if bar.measure == "ease" else f"{100 * bar.mean:.0f}%"
    axes.annotate(shown, (x, top), (0, 4), size=9, weight="bold", **near)
    axes.annotate(f"n={bar.n}", (x, low), (0, -12), size=8, color=FAINT, **near)


def _summarise(analysis: Analysis) -> str:
    """Return who was analysed, and who was not and why, in a sentence."""
    reasons = [f"{count} {reason}" for reason, count in analysis.left_out.items() if count]
    left_out = f"; left out: {', '.join(reasons)}" if reasons else ""
    machines = (
        f" {analysis.n_automatic} automatic participants are shown as a group of their own; they "
        "are no people."
        if analysis.n_automatic
        else ""
    )
    return f"{analysis.n_analysed} of {analysis.n_people} people analysed{left_out}.{machines}"


def _format_mean(mean: Mean) -> str:
    """Return a mean with its error, as a share or as a rating: ``71% ± 3``, ``4.00``."""
    if mean.measure == "ease":
        return f"{mean.mean:.2f}" + ("" if mean.error is None else f" ± {mean.error:.2f}")
    error = "" if mean.error is None else f" ± {100 * mean.error:.0f}"
    return f"{100 * mean.mean:.0f}%{error}"


def _format_p(p: float | None) -> str:
    """Return a probability as papers print it: ``p = .262``, ``p < .001``."""
    if p is None:
        return "no test: too few or equal answers"
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".")


def _format_test(test: Comparison) -> str:
    figures = "" if test.t is None else f"t = {test.t:.2f}, df = {test.df:.1f}, "
    sides = f"{printable(test.left)} against {printable(test.right)}"
    return f"{printable(test.within)}: {sides}: {figures}{_format_p(test.p)}"
