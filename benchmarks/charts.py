"""How the benchmarks show what they measured: as JSON, and as bars beside it.

Machines to measure on often have no matplotlib: there the figures are written without pictures.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Picture = Any  # a Figure of matplotlib, or None


def new_picture(width: float, height: float) -> Picture:
    """Return an empty figure; None without matplotlib."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        return None
    # Text stays text, and the same figures give the same file.
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "protorynet", "font.size": 9}
    return Figure(figsize=(width, height), layout="constrained")


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its value, and what stands at its end."""

    name: str
    value: float
    label: str


def draw_bars(title: str, bars: Sequence[Bar], *, logarithmic: bool = False) -> Picture:
    """Draw bars below each other; on a logarithmic axis where they lie too far apart."""
    if (figure := new_picture(7, 0.27 * len(bars) + 0.6)) is None:
        return None
    axes = figure.subplots()
    names, values = [bar.name for bar in bars], [bar.value for bar in bars]
    drawn = axes.barh(range(len(bars)), values, tick_label=names)
    axes.bar_label(drawn, [bar.label for bar in bars], padding=4)
    axes.set_title(title, loc="left")
    if logarithmic:
        axes.set(xscale="log", xlim=(1, None))
    axes.margins(x=0.25)
    axes.invert_yaxis()
    axes.xaxis.set_visible(False)
    axes.spines[:].set_visible(False)
    return figure


def write_figure(path: Path, result: dict[str, Any], figure: Picture) -> None:
    """Write what was measured as JSON, and its picture beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if figure is not None:
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def report(
    result: dict[str, Any],
    path: Path | None,
    title: str,
    bars: Sequence[Bar],
    *,
    logarithmic: bool = False,
) -> None:
    """Print what was measured; where a file is named, write it there with its bars as a picture."""
    print(json.dumps(result, indent=2))
    if path is not None:
        write_figure(path, result, draw_bars(title, bars, logarithmic=logarithmic))
