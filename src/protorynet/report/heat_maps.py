"""Heat maps: which classes are taken for which, and which prototype follows which."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from protorynet.report.charts import picture
from protorynet.report.svg import element, fill, stroke, text
from protorynet.report.wording import clean, columns, percent, printable, shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from protorynet.prototypes import Prototype

__all__ = ["MOST_CLASSES", "confusion_chart", "transitions_chart"]

MOST_CLASSES = 12
"""With more classes than this a confusion matrix cannot be read."""

_COLUMN = 6.6  # width of a character of the font, on average and generously
_MOST_PROTOTYPES = 30
_ON_DARK = "fill:var(--pn-panel,var(--pn-paper,Canvas))"


def confusion_chart(classes: Sequence[str], counts: NDArray[np.int64], *, width: int = 340) -> str:
    """Return the confusion matrix: true classes down, predicted classes across.

    Every cell tells its count, and its strength the share of the true class; what is right lies
    on the diagonal and has another hue than mistakes.
    """
    n = len(classes)
    names = [printable(name) for name in classes]
    label = min(max(columns(name) for name in names) * _COLUMN + 14, width * 0.3)
    left = label + 18
    cell = (width - left - 2) / n
    # Names that are too wide stand on two lines by turns, and so have twice the room.
    in_turns = any(columns(name) * _COLUMN > cell - 4 for name in names)
    top = 66.0 if in_turns else 54.0
    tall = min(max(cell, 26.0), 64.0)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    parts = [
        text("↓ label", 2, 14, font_weight=600),
        text("the model’s answer →", width - 2, 14, text_anchor="end", font_weight=600),
    ]
    for place, name in enumerate(names):
        across = shorten(name, max(int((cell * (1 + in_turns) - 4) / _COLUMN), 2))
        centre = left + cell * (place + 0.5)
        y = top - 8 - 14 * (in_turns and place % 2 == 0)
        anchor = "end" if in_turns and place == n - 1 else "middle"
        x = centre + cell / 2 if anchor == "end" else centre
        parts.append(text(across, x, y, text_anchor=anchor))
        room = max(int((label + 6) / _COLUMN), 2)
        down = [shorten(line, room) for line in _halves(name, room)]
        y = top + tall * (place + 0.5) + 4 - 7 * (len(down) - 1)
        for number, line in enumerate(down):
            parts.append(text(line, left - 8, y + 14 * number, text_anchor="end"))
    said = []
    for row in range(n):
        for column in range(n):
            count = int(counts[row, column])
            note = f"labelled {names[row]}, answered {names[column]}: {count:,}"
            said.append(note)
            box = (left + cell * column, top + tall * row, cell, tall)
            hue = 0 if row == column else 1
            # A few mistakes must be seen beside hundreds of right answers.
            strength = float(shares[row, column]) ** 0.6
            parts += _cell(box, strength, hue, f"{note} ({percent(shares[row, column])})")
            if columns(f"{count}") * _COLUMN <= cell - 4 and count:
                parts.append(_figure(f"{count}", box, strength))
    height = top + tall * n + 4
    return picture("Confusion matrix", "; ".join(said) + ".", parts, width, height)


def transitions_chart(
    prototypes: Sequence[Prototype], counts: NDArray[np.int64], *, width: int
) -> str:
    """Return how often each prototype is followed by each other, in percent of the row.

    Of many prototypes the most frequent are shown.
    """
    busy = np.argsort(-(counts.sum(axis=0) + counts.sum(axis=1)), kind="stable")
    kept = np.sort(busy[:_MOST_PROTOTYPES])
    shown = [prototypes[place] for place in kept.tolist()]
    sums = counts.sum(axis=1, keepdims=True)
    shares = (counts / np.maximum(sums, 1))[np.ix_(kept, kept)]
    strongest = float(shares.max()) or 1.0
    n, left, top = len(shown), 30.0, 44.0
    cell = (width - left - 2) / n
    tall = min(cell, 34.0)
    font = min(11.0, max(cell * 0.55, 7.0))
    parts = [text("↓ after this prototype, the next sentence is like →", 2, 14, font_weight=600)]
    for place, item in enumerate(shown):
        centre = left + cell * (place + 0.5)
        look = {"font_size": font, "fill_opacity": 0.8}
        parts.append(text(str(item.id), centre, top - 6, text_anchor="middle", **look))
        y = top + tall * (place + 0.5) + font * 0.35
        parts.append(text(str(item.id), left - 6, y, text_anchor="end", **look))
    for row, column in np.ndindex(n, n):
        share = float(shares[row, column])
        if not share:
            continue
        box = (left + cell * column, top + tall * row, cell, tall)
        before, after = (shorten(printable(shown[i].caption), 70) for i in (row, column))
        note = f"{percent(share)} of {int(sums[kept[row], 0]):,}\n{before}\nthen: {after}"
        parts += _cell(box, share / strongest, 0, note)
        written = f"{100 * share:.0f}"
        if cell >= 24 and written != "0":
            parts.append(_figure(written, box, share / strongest, size=min(font, 10)))
    height = top + tall * n + 4
    return picture(
        "Which prototype follows which", _most_frequent(shown, shares), parts, width, height
    )


def _halves(name: str, room: int) -> list[str]:
    """Return a name on one line, or on two where it is too long for one and has a space."""
    if columns(name) <= room or " " not in name:
        return [name]
    spaces = [place for place, letter in enumerate(name) if letter == " "]
    middle = min(spaces, key=lambda place: abs(2 * place - len(name)))
    return [name[:middle], name[middle + 1 :]]


def _most_frequent(shown: Sequence[Prototype], shares: NDArray[np.float64]) -> str:
    n = len(shown)
    first = np.argsort(-shares, axis=None, kind="stable")[:8]
    said = (
        f"{shown[place // n].id} is followed by {shown[place % n].id} in "
        f"{percent(float(shares[place // n, place % n]))}"
        for place in first.tolist()
    )
    return f"The most frequent: {'; '.join(said)} of the cases."


def _cell(
    box: tuple[float, float, float, float], strength: float, hue: int, note: str
) -> list[str]:
    x, y, wide, tall = box
    return [
        element(
            "rect",
            element("title", escape(clean(note))),
            x=x + 0.5,
            y=y + 0.5,
            width=max(wide - 1, 1.0),
            height=max(tall - 1, 1.0),
            **fill(hue),
            fill_opacity=0.04 + 0.9 * strength,
        ),
        element(
            "rect",
            x=x + 0.5,
            y=y + 0.5,
            width=max(wide - 1, 1.0),
            height=max(tall - 1, 1.0),
            **stroke(None),
            stroke_opacity=0.15,
            pointer_events="none",
        ),
    ]


def _figure(
    written: str, box: tuple[float, float, float, float], strength: float, size: float = 12.0
) -> str:
    x, y, wide, tall = box
    return text(
        written,
        x + wide / 2,
        y + tall / 2 + size * 0.35,
        text_anchor="middle",
        font_size=size,
        font_weight=600,
        pointer_events="none",
        style=_ON_DARK if strength > 0.55 else "",
    )
