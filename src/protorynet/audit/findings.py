"""What an audit finds: findings, each a plain sentence with its evidence."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, StrictUndefined

Severity = Literal["note", "warning", "serious"]

_QUOTED_CHARACTERS = 120
_WORDS = tomllib.loads(Path(__file__).with_name("findings.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Finding:
    """One thing to know before trusting a model.

    It is ``"serious"`` if figures cannot be trusted before it is repaired, a ``"warning"`` to look
    at, or a ``"note"`` that is good to know.
    """

    kind: str  # its key in JSON, such as "shared_texts"
    severity: Severity
    message: str  # plain sentences: what was found, why it matters and what to do
    evidence: dict[str, Any]  # the figures; "examples" name sentences, rows (from 0), prototypes

    @property
    def title(self) -> str:
        """What it is called."""
        return str(_WORDS[self.kind]["title"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet audit --json` prints them."""
        return dict(vars(self))


@dataclass(frozen=True)
class Audit:
    """What a careful colleague would say about a model and its data, most serious first."""

    findings: tuple[Finding, ...]
    n_train: int
    n_test: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet audit --json` prints them."""
        return {**vars(self), "findings": [finding.to_dict() for finding in self.findings]}

    def _repr_html_(self) -> str:
        from protorynet.report import audit_fragment

        return audit_fragment(self)


def describe(kind: str, severity: Severity, evidence: dict[str, Any], **facts: Any) -> Finding:
    """Return a finding in the words of findings.toml, which tell the evidence and other facts."""
    message = _template(kind).render(evidence, evidence=evidence, **facts)
    return Finding(kind, severity, message, evidence)


@cache
def _template(kind: str) -> Any:
    words = Environment(undefined=StrictUndefined)  # noqa: S701 - no HTML
    words.globals |= {"counted": counted, "quote": quote, "share_of": share_of}
    words.globals["thousands"] = "{:,}".format
    return words.from_string(_WORDS[kind]["message"])


def share_of(part: float, whole: float) -> str:
    """Return a share for reading; small ones keep a decimal, and none is rounded to all.

    Examples
    --------
    >>> share_of(567, 3606), share_of(16, 902), share_of(1, 5000), share_of(566, 567)
    ('16%', '1.8%', '0.02%', '>99%')
    """
    value = 100 * part / whole if whole else 0.0
    if 99.5 <= value < 100:
        return ">99%"
    if value >= 9.95 or value == 0:
        return f"{value:.0f}%"
    return f"{value:.1f}%" if value >= 0.095 else f"{value:.1g}%"


def counted(count: int, thing: str, things: str | None = None) -> str:
    """Return a number with its noun: ``1 text``, ``1,200 texts``, ``2 classes``."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def quote(text: str, limit: int = _QUOTED_CHARACTERS) -> str:
    """Return the beginning of a text on one line."""
    # A very long text is cut first, so that little of it is read.
    line = " ".join(text[: 4 * limit].split())
    if len(line) <= limit and len(text) <= 4 * limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
