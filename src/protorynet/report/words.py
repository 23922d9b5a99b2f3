"""Why a sentence is like a prototype, word by word, in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from protorynet.report.console import print_hanging
from protorynet.report.marking import Match, marked, strongest_words
from protorynet.report.wording import printable, score, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from protorynet.explain import Rationale, WordEffect

__all__ = ["marked_line", "print_rationale", "print_words"]

_STYLES = ("", "underline", "bold underline", "bold underline")


def print_rationale(rationale: Rationale, console: Console) -> None:
    """Print a sentence and a prototype with the words marked that make them alike.

    Examples
    --------
    >>> from rich.console import Console
    >>> from protorynet.explain import Rationale, WordEffect
    >>> print_rationale(Rationale(
    ...     "A joy!", 7, "What a joy.", 0.8,
    ...     (WordEffect("A", 0, 1, -0.01), WordEffect("joy", 2, 5, 0.31)),
    ...     (WordEffect("joy", 7, 10, 0.28),)), Console(width=70))
    A joy!
    like prototype 7: What a joy. (similarity 0.80)
    words: joy +0.31; in the prototype: joy +0.28
    """
    sentence = marked_line(rationale.sentence, rationale.words, rationale, console)
    print_hanging(console, Text(), sentence)
    like = Text(f"like prototype {rationale.prototype}: ", style="dim")
    shown, words = rationale.prototype_sentence, rationale.prototype_words
    like.append_text(marked_line(shown, words, rationale, console))
    like.append(f" (similarity {score(rationale.similarity)})", style="dim")
    print_hanging(console, Text(), like)
    print_words(rationale, Text(), console)


def marked_line(
    text: str, words: Sequence[WordEffect], match: Match, console: Console, style: str = ""
) -> Text:
    """Return a sentence on one line, its marked words underlined, the strong ones bold."""
    line = Text(style=style)
    for piece in marked(text, words, match):
        # A space at either end of a piece would be lost with the line breaks.
        lead, trail = (" " if end.isspace() else "" for end in (piece.text[:1], piece.text[-1:]))
        shown = printable(piece.text, console.encoding)
        line.append(f"{lead}{shown}{trail if shown else ''}", style=_STYLES[piece.strength])
    return line


def print_words(match: Match, indent: Text, console: Console) -> None:
    """Print the strongest words of both sentences with their effects, for pipes and the blind."""

    def listed(words: Sequence[WordEffect]) -> str:
        chosen = strongest_words(words, match)
        named = [
            f"{printable(word.text, console.encoding)} {signed(word.effect)}" for word in chosen
        ]
        return ", ".join(named) or "none stands out"

    line = f"words: {listed(match.words)}; in the prototype: {listed(match.prototype_words)}"
    print_hanging(console, indent, Text(line, style="dim"))
