"""Tables in Markdown, and texts that cannot break them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from protorynet.report import printable

__all__ = ["escaped", "provenance", "table"]

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")


def escaped(text: str) -> str:
    r"""Return a text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> print(escaped("5 * <b>"))
    5 \* &lt;b&gt;
    """
    return _SPECIAL.sub(r"\\\1", escape(printable(text), quote=False))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; cells are Markdown already.

    Examples
    --------
    >>> print(table(["data", "accuracy"], [["IMDB", ".934"]]))
    | data | accuracy |
    |---|---|
    | IMDB | .934 |
    """
    lines = [_row(header), "|" + "---|" * len(header), *(_row(row) for row in rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def provenance(seeds: str, commands: Sequence[str]) -> str:
    """Return how many seeds a table has, and which commands give it.

    Examples
    --------
    >>> print(provenance("3 seeds", ["protorynet bench table1 --data DATA"]))
    3 seeds. `protorynet bench table1 --data DATA`
    """
    code = [f"`{printable(command).replace('`', '')}`" for command in commands]
    if len(code) == 1:
        return f"{escaped(seeds)}. {code[0]}"
    return "\n".join([f"{escaped(seeds)}.", "", *(f"- {each}" for each in code)])
