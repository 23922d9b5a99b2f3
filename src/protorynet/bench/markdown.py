"""Tables in Markdown, and texts that cannot break them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from protorynet.bench.results import Group, seeds_of
from protorynet.report.wording import printable

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


def provenance(groups: Sequence[Group]) -> str:
    """Return the line that says how many seeds a table has, and which command gives it."""
    if not groups:
        return "Nothing was measured yet."
    seeds = sorted({record.seed for group in groups for record in group.records})
    encoders = sorted({group.encoder for group in groups if group.encoder})
    judges = sorted({record.judge for group in groups for record in group.records} - _NO_ENCODER)
    options = {
        "sets": list(dict.fromkeys(group.set for group in groups)),
        "encoders": encoders,
        "models": list(dict.fromkeys(group.kind.name for group in groups)),
        "seeds": [str(seed) for seed in seeds],
        "judge": judges,
    }
    given = " ".join(f"--{name} {','.join(values)}" for name, values in options.items() if values)
    command = printable(f"protorynet bench recipe --data DATA {given} --out docs/results")
    return f"{escaped(seeds_of(groups))}. `{command.replace('`', '')}`"


_NO_ENCODER = {"", "word pieces"}
