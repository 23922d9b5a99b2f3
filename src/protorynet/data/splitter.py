"""How documents are split into sentences: what a model keeps of it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any, Literal, get_args

from protorynet.errors import InputError
from protorynet.records import read_record

Rule = Literal["sentencex", "lines", "paper"]

# The languages whose abbreviations or signs sentencex knows, itself or as those of a relative.
LANGUAGES = {
    "am": "Amharic", "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan",
    "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fi": "Finnish", "fr": "French", "gl": "Galician", "gu": "Gujarati",
    "hi": "Hindi", "hy": "Armenian", "it": "Italian", "ja": "Japanese", "kk": "Kazakh",
    "kn": "Kannada", "ml": "Malayalam", "mr": "Marathi", "my": "Burmese", "nl": "Dutch",
    "pa": "Punjabi", "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "sk": "Slovak",
    "ta": "Tamil", "te": "Telugu", "uk": "Ukrainian", "ur": "Urdu", "zh": "Chinese",
}  # fmt: skip


@dataclass(frozen=True)
class Splitter:
    """How documents are split into sentences.

    - `rule`: ``"sentencex"`` knows abbreviations, numbers and quotations, joins wrapped lines, and
      removes marks of quoted lines (``>``) and markup; apart from these, sentences stay as written.
      ``"lines"`` ends a sentence at every line end as well, and removes nothing. ``"paper"`` ends
      one at every '.', '?', '!' and line end, and gives the encoder lower-case text without
      punctuation.
    - `language`: the code of the language, one of `LANGUAGES`.
    """

    rule: Rule = "sentencex"
    language: str = "en"

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            listed = ", ".join(map(repr, get_args(Rule)))
            raise InputError(f"splitter={str(self.rule)[:40]!r} is not one of {listed}.")
        if not isinstance(self.language, str) or self.language not in LANGUAGES:
            raise InputError(_unknown_language(self.language))

    @classmethod
    def read(cls, value: Any) -> Splitter:
        """Return the splitter that a model's file names; older ones name a rule alone.

        Their ``"sentencex"`` ended a sentence at every line end.
        """
        if isinstance(value, str):
            value = {"rule": {"sentencex": "lines"}.get(value, value)}
        return read_record(cls, value)


def _unknown_language(language: Any) -> str:
    codes = {name.lower(): code for code, name in LANGUAGES.items()} | {c: c for c in LANGUAGES}
    given = str(language)[:40]
    near = difflib.get_close_matches(given.lower().split("-")[0], codes, n=1)
    hint = f"did you mean {codes[near[0]]!r}? " if near else ""
    return (
        f"language={given!r} is not one of the {len(LANGUAGES)} that are known, such as 'de'; "
        f"{hint}'en' does for others: it knows the signs that end a sentence in every script."
    )
