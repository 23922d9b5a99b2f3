"""An automaton in words: its patterns as sentences, and how far it can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from protorynet.report.console import print_hanging
from protorynet.report.wording import percent, printable, shorten

if TYPE_CHECKING:
    from rich.console import Console

    from protorynet.automaton import Automaton, Pattern
    from protorynet.prototypes import Prototypes

__all__ = ["pattern_sentence", "print_automaton"]

_QUOTED = 80
_SHOWN = 12


def pattern_sentence(pattern: Pattern, prototypes: Prototypes) -> str:
    """Return a pattern as a plain sentence.

    Examples
    --------
    >>> from protorynet.automaton import Pattern
    >>> from protorynet.prototypes import Prototype, Prototypes
    >>> loved = Prototype(7, "I love this place.", 12, 0.08, {"good": 0.9}, {"good": 0.9})
    >>> pattern_sentence(Pattern((7, 7), 31, 0.97), Prototypes((loved,), ("good",)))
    'starts with “I love this place.”, then “I love this place.”, then anything'
    """
    sentences = {item.id: item.caption for item in prototypes}
    quoted = [f"“{shorten(sentences[number], _QUOTED)}”" for number in pattern.prototypes]
    return f"starts with {', then '.join(quoted)}, then anything"


def print_automaton(automaton: Automaton, prototypes: Prototypes, console: Console) -> None:
    """Print how faithful an automaton is, then its patterns as sentences."""
    encoding = console.encoding
    label = printable(automaton.label, encoding)
    n = len(automaton.states)
    headline = Text.assemble(
        "Fidelity ",
        (f"{100 * automaton.fidelity:.1f}%", "bold"),
        f"  with {n} state{'s' * (n != 1)} and {automaton.n_transitions:,} transitions",
    )
    console.print(headline, soft_wrap=True)
    print_hanging(console, Text(), Text(_trust(automaton, label), style="dim"))
    console.print()
    if not automaton.patterns:
        print_hanging(console, Text(), Text(f"No beginning gives {label} away by itself."))
        return
    print_hanging(console, Text(), Text(f"A text is nearly always judged {label} if it"))
    for pattern in automaton.patterns[:_SHOWN]:
        told = printable(pattern_sentence(pattern, prototypes), encoding)
        share = f"  ({percent(pattern.purity)} of {pattern.support:,})"
        print_hanging(console, Text("- "), Text.assemble(told, (share, "dim")))
    more = len(automaton.patterns) - _SHOWN
    if more > 0:
        console.print(Text(f"and {more} more (see --json)", style="dim"))


def _trust(automaton: Automaton, label: str) -> str:
    held_out = automaton.fidelity_held_out
    on = (
        f"{automaton.n_train:,} texts it was learnt from"
        if held_out is None
        else f"{automaton.n_held_out:,} texts it was not learnt from"
    )
    beside = "" if held_out is None else f"; {100 * automaton.fidelity_train:.1f}% on the others"
    return (
        f"Share of {on} that the automaton and the model agree on, {label} or not{beside}. "
        f"With the reader that sees prototype ids alone it agrees on "
        f"{100 * automaton.fidelity_ids_only:.1f}%."
    )
