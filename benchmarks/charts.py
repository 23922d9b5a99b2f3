"""What the benchmarks share: a figure's file, and its bars."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protorynet.report import element, fill, picture, text


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its value, and what stands at its end."""

    name: str
    value: float
    label: str


def bars_svg(title: str, bars: Sequence[Bar], *, logarithmic: bool = False) -> str:
    """Draw bars below each other; by their logarithms where they lie too far apart."""
    scale = (lambda value: math.log(max(value, 1.0) + 1)) if logarithmic else float
    most = max(scale(bar.value) for bar in bars) or 1.0
    parts = [text(title, 12, 20, font_weight=600)]
    for row, bar in enumerate(bars):
        length, y = 270 * scale(bar.value) / most, 26 * row + 34
        parts += [
            text(bar.name, 250, y + 12, text_anchor="end"),
            element("rect", x=260, y=y, width=length, height=16, rx=2, **fill(0)),
            text(bar.label, 266 + length, y + 12),
        ]
    return picture(title, parts, 680, 26 * len(bars) + 44)


def write_figure(path: Path, result: dict[str, Any], svg: str) -> None:
    """Write what was measured as JSON, and its picture beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    path.with_suffix(".svg").write_text(svg + "\n", encoding="utf-8")
