"""Curves, heat maps and the plot of accuracy against faithfulness, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

from protorynet.report import printable, shorten
from protorynet_lab.bench.bench_jobs import MODELS, TEMPLATES, ModelKind, find_data_set
from protorynet_lab.bench.bench_results import Group, format_figure
from protorynet_lab.presentation import FAINT, INK, RULE, chart_style, chart_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curves = dict[str, dict[float, float]]
"""Accuracies by some number, by the name of the curve."""

_LOOK = TEMPLATES / "bench.mplstyle"
# Accuracies that hardly differ must not look as if they did.
_LEAST_SPAN, _LEAST_SHADES = 0.02, 0.05
# In the frontier, dark circles are ours, squares ours of single sentences, diamonds the paper's.
_FILLS = {
    "full": "#123f68",
    "adapter": "#8fb6d8",
    "none": "#ffffff",
    "single-full": "#5d8a5a",
    "single": "#b9d4b6",
    "single-none": "#ffffff",
    "paper-full": "#f4bd80",
    "paper": "#ffffff",
}
_EDGES = {"ours": "#123f68", "single": "#33602f", "paper": "#a8601a"}
_SHAPES = {"ours": "o", "single": "s", "paper": "D"}
_FRONTIER = {
    "ids_only_gap": "accuracy lost with ids only",
    "usage_perplexity": "usage perplexity",
    "n_prototypes": "number of prototypes",
    "match_quality": "match quality",
}


def _format_accuracies(axes: Axes) -> None:
    axes.yaxis.set_major_formatter(lambda value, _: format_figure(value))


def draw_curves(across: str, panels: Mapping[str, Curves]) -> str:
    """Return one panel per data set, with all its curves, over the logarithm of the numbers."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    # The fullest panel says in which order the names come.
    fullest_first = sorted(panels.values(), key=len, reverse=True)
    names = list(dict.fromkeys(name for curves in fullest_first for name in curves))
    with chart_style(_LOOK):
        figure = Figure(figsize=(3.9 * len(panels), 3.1), layout="constrained")
        handles: dict[str, Any] = {}
        for axes, (title, curves) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
        ):
            for name, look in zip(names, cycle(rcParams["axes.prop_cycle"])):
                if name in curves:
                    points = sorted(curves[name].items())
                    numbers, accuracies = [n for n, _ in points], [a for _, a in points]
                    (handles[name],) = axes.plot(numbers, accuracies, **look)
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.xaxis.set_minor_locator(NullLocator())
            low, high = axes.get_ylim()
            axes.set_ylim(min(low, high - 1.15 * _LEAST_SPAN), high)
            axes.set(xlabel=across, title=shorten(printable(title), 40))
            axes.grid(True)
            _format_accuracies(axes)
        figure.legend(
            [handles[name] for name in names],
            [shorten(printable(name), 40) for name in names],
            loc="outside upper left",
            ncols=min(len(names), 2 * len(panels)),
        )
        return chart_svg(figure, {}, bbox_inches="tight")


def draw_heat_map(
    down: tuple[str, Sequence[float]],
    across: tuple[str, Sequence[float]],
    values: Mapping[tuple[float, float], float],
) -> str:
    """Return accuracies by two settings, each with its name and values; the darker, the better."""
    import numpy as np
    from matplotlib.figure import Figure

    cells = np.array([[values.get((a, b), np.nan) for b in across[1]] for a in down[1]])
    high = max(values.values(), default=1.0)
    low = min([*values.values(), high - _LEAST_SHADES])
    with chart_style(_LOOK):
        figure = Figure(figsize=(1 + 0.8 * len(across[1]), 0.8 + 0.45 * len(down[1])))
        axes = figure.subplots()
        span = high - low
        axes.pcolormesh(
            cells, cmap="Blues", vmin=low - 0.1 * span, vmax=high + 0.1 * span, edgecolor="white"
        )
        for (y, x), value in np.ndenumerate(cells):
            colour = "white" if value > low + 0.6 * span else INK
            text = format_figure(None if np.isnan(value) else float(value))
            axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", color=colour)
        axes.set_xticks(np.arange(len(across[1])) + 0.5, [f"{value:g}" for value in across[1]])
        axes.set_yticks(np.arange(len(down[1])) + 0.5, [f"{value:g}" for value in down[1]])
        axes.set_xlabel(across[0])
        axes.set_ylabel(down[0], rotation=0)
        axes.xaxis.set_label_position("top")
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        axes.spines[:].set_visible(False)
        axes.invert_yaxis()
        return chart_svg(figure, {}, bbox_inches="tight")


def draw_frontier(groups: Sequence[Group]) -> str:
    """Return accuracy against four measures of faithfulness, one line of panels per encoder."""
    from matplotlib.figure import Figure

    encoders = sorted({group.encoder for group in groups})
    with chart_style(_LOOK):
        figure = Figure(figsize=(11, 3 * len(encoders) + 0.4), layout="constrained")
        panels = figure.subplots(
            len(encoders), len(_FRONTIER), sharex="col", sharey=True, squeeze=False
        )
        handles: dict[str, Any] = {}
        for line, encoder in zip(panels, encoders, strict=True):
            line[0].set_ylabel("accuracy")
            line[0].annotate(
                shorten(printable(encoder), 40),
                (0, 1),
                xytext=(0, 24),
                xycoords="axes fraction",
                textcoords="offset points",
                fontsize="large",
                fontweight="bold",
            )
            own = [group for group in groups if group.encoder == encoder]
            for axes, (measure, title) in zip(line, _FRONTIER.items(), strict=True):
                axes.set_title(title)
                axes.tick_params(labelbottom=True)
                _format_accuracies(axes)
                handles |= _mark_models(axes, own, measure)
        for line, encoder in zip(panels, encoders, strict=True):
            _name_sets(line, [group for group in groups if group.encoder == encoder])
        titles = [kind.title for kind in MODELS if kind.title in handles]
        figure.legend(
            [handles[title] for title in titles], titles, loc="outside upper left", ncols=5
        )
        return chart_svg(figure, {}, bbox_inches="tight")


def _mark_models(axes: Axes, groups: Sequence[Group], measure: str) -> dict[str, Any]:
    """Draw a mark per model and data set, and lines to ours from what it is compared with."""
    points: dict[ModelKind, list[tuple[float, float]]] = {}
    ends: dict[tuple[str, str], tuple[float, float]] = {}
    for group in groups:
        value, accuracy = group.mean(measure), group.mean("accuracy")
        if value is not None and accuracy is not None:
            points.setdefault(group.kind, []).append((value, accuracy))
            # Of several models of a family, the line is about the first, which is that in full.
            ends.setdefault((group.set, group.kind.family), (value, accuracy))
    for name, family in ends:
        if family != "ours" and (name, "ours") in ends:
            line = zip(ends[name, family], ends[name, "ours"], strict=True)
            axes.plot(*line, "-", marker="", color=FAINT, lw=0.7, alpha=0.6)
    # The darkest last, so that ours in full lies on top.
    return {
        kind.title: axes.scatter(
            [value for value, _ in points[kind]],
            [accuracy for _, accuracy in points[kind]],
            s=34 if kind.family == "ours" else 28,
            marker=_SHAPES[kind.family],
            facecolor=_FILLS[kind.name],
            edgecolor=_EDGES[kind.family],
            zorder=3,
        )
        for kind in reversed(MODELS)
        if kind in points
    }


def _name_sets(line: Sequence[Axes], groups: Sequence[Group]) -> None:
    """Draw a thin line per data set through all panels, at our accuracy, with its name."""
    heights: dict[str, float] = {}
    for group in sorted(groups, key=lambda group: group.kind.family != "ours"):
        heights.setdefault(group.set, group.mean("accuracy") or 0.0)
    low, high = line[-1].get_ylim()
    gap, highest = (high - low) / 16, high
    names = sorted(heights, key=lambda name: heights[name], reverse=True)
    for name in names:
        for axes in line:
            axes.axhline(heights[name], color=RULE, lw=0.8, zorder=0)
        height = min(heights[name], highest)
        highest = height - gap
        line[-1].annotate(
            shorten(printable(find_data_set(name).title), 17),
            (1, heights[name]),
            xytext=(1.08, height),
            xycoords=("axes fraction", "data"),
            textcoords=("axes fraction", "data"),
            va="center",
            arrowprops={"arrowstyle": "-", "color": FAINT, "lw": 0.5, "relpos": (0, 0.5)},
            annotation_clip=False,
        )
