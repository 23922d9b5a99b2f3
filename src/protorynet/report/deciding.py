"""What decided, in words: a pattern, or that there is none; and whether to believe it yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rich.text import Text

from protorynet.report.console import print_hanging
from protorynet.report.wording import percent, printable, shorten

if TYPE_CHECKING:
    from rich.console import Console

    from protorynet.explain import DecidingPattern, Explanation

__all__ = ["BEHIND", "Deciding", "deciding", "print_deciding"]

BEHIND = (
    "Prototypes were edited by hand after the reader was last trained, so it decides with "
    "prototypes that it has not learnt to use."
)
"""What every view says of an explanation whose `reader_is_behind`."""

Deciding = Literal["pattern", "whole", "differs"]
_QUOTED = 80


def deciding(explanation: Explanation) -> Deciding | None:
    """Say what a view tells of the decision; None where it has nothing to tell.

    Either a pattern decides, or the whole document does, or the automaton differs from the model
    and so explains nothing.
    """
    reading = explanation.automaton
    if reading is None:
        return None
    if not reading.agrees:
        return "differs"
    if reading.pattern is not None:
        return "pattern"
    return "whole" if reading.accepts else None


def print_deciding(explanation: Explanation, console: Console) -> None:
    """Print the pattern that decided, or that none did, and a warning if the reader is behind.

    Examples
    --------
    >>> from rich.console import Console
    >>> from protorynet.explain import AutomatonReading, DecidingPattern, Explanation
    >>> pattern = DecidingPattern("positive", (7, 4), ("I love it.", "Great food."), 212, 0.97)
    >>> reading = AutomatonReading("positive", (2, 3, 3), True, True, 0.96, pattern)
    >>> sure = {"negative": 0.07, "positive": 0.93}
    >>> print_deciding(Explanation("…", "positive", sure, (), reading), Console(width=90))
    Pattern: the model gives “positive” to 97% of the texts that begin with #7 “I love it.” →
             #4 “Great food.” (212 texts)
    """
    if explanation.reader_is_behind:
        told = f"{BEHIND} Train it again with: protorynet edit MODEL --retrain DATA"
        print_hanging(console, Text("Warning: ", style="bold"), Text(told))
    kind, reading = deciding(explanation), explanation.automaton
    if kind is None or reading is None:
        return
    label = _quoted(reading.label, console)
    if reading.pattern is not None:
        print_hanging(console, Text("Pattern: ", style="bold"), _told(reading.pattern, console))
        return
    told = f"No beginning gives {label} away here: the text as a whole decides."
    if kind == "differs":
        told = (
            f"The automaton of {label} differs from the model on this text, as on "
            f"{percent(1 - reading.fidelity)} of the texts it was measured on: no pattern explains "
            "this verdict."
        )
    print_hanging(console, Text(), Text(told, style="dim"))


def _told(pattern: DecidingPattern, console: Console) -> Text:
    arrow = " -> " if console.options.ascii_only else " → "
    label, share = _quoted(pattern.label, console), percent(pattern.purity)
    told = Text(f"the model gives {label} to {share} of the texts that begin with")
    for place, number in enumerate(pattern.prototypes):
        told.append(f"{arrow if place else ' '}#{number} ", style="dim")
        told.append(_quoted(pattern.sentences[place], console))
    told.append(f" ({pattern.support:,} texts)", style="dim")
    return told


def _quoted(text: str, console: Console) -> str:
    shown = shorten(printable(text, console.encoding), _QUOTED)
    return f'"{shown}"' if console.options.ascii_only else f"“{shown}”"
