"""What commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["error_line", "note", "print_json", "print_json_line", "result_console"]


def result_console() -> Console:
    """Return the console for results: coloured in a terminal, plain in a pipe."""
    from rich.console import Console

    return Console(highlight=False)


def note(message: str) -> None:
    """Print a remark on standard error."""
    _remark(message, lead="", style="dim")


def error_line(message: str) -> None:
    """Print what went wrong, as one line on standard error."""
    _remark(message, lead="error: ", style="")


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object, indented for people; programs do not mind."""
    print(_json(value, indent=2))


def print_json_line(value: Mapping[str, Any]) -> None:
    """Print one JSON object on a line of its own."""
    print(_json(value, indent=None))


def _json(value: Mapping[str, Any], indent: int | None) -> str:
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, indent=indent, ensure_ascii=not is_unicode, allow_nan=False)


def _remark(message: str, lead: str, style: str) -> None:
    from rich.console import Console
    from rich.text import Text

    # A name of a file or a column may hold anything, line breaks and escapes included.
    line = "".join(c if c.isprintable() else "�" for c in " ".join(message.split()))
    text = Text.assemble((lead, "bold red"), (line, style))
    Console(stderr=True, highlight=False).print(text, soft_wrap=True)
