"""Which sentences are complete: they state something and make sense away from their document.

Linguists call a sentence prototypical if it is declarative, active and indicative, with its
subject in the nominative. What the characters tell is asked of every language; English sentences
are read more closely.
"""

from __future__ import annotations

import re

from protorynet.prototypes.english import is_english, stands_alone, words_of

__all__ = ["is_complete"]

_MIN_WORDS, _MAX_WORDS = 4, 25
_MAX_CHARACTERS = 200
# Scripts without spaces have no word count: letters are counted instead.
_MIN_UNSPACED, _MAX_UNSPACED = 7, 60
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")

# Vowel signs and accents of their own belong to words, though Python does not call them letters.
_NO_LETTER = re.compile(
    "[\\s\\d\x00-\x40\x5b-\x60\x7b-\xbf\u2000-\u2bff\u3000-\u303f\uff00-\uff20\U0001f000-\U0001ffff]"
)
_MIN_LETTER_SHARE = 0.75
_MAX_CAPITAL_SHARE = 0.3

_END = re.compile("[.!。！．｡।॥۔።։။។][\"'”’»“«)）」』]*$")
# Questions, lists, markup, smileys and addresses; the end of another sentence within. Every
# alternative begins with a set of characters, which lets the search skip all others quickly.
_UNFIT = re.compile(
    "[?？؟;՞…<>{}\\[\\]|*_~#@=\\\\^`\u2600-\u27bf\U0001f000-\U0001faff]"
    r"|[:：](?!\d)|[ ](?:[.,/)]|n't|'[a-z]{1,2} )|[(] |[-](?<=\w-) |[']'|[&](?:amp|quot|lt|gt|nbsp)"
    r"|[.] ?[.]|[.](?<=www.)|[.,!](?<=[a-z]{2}.)[A-Za-z]|[。！].*[。！]"
    r"|[.!](?:(?<=[^\W\d_]{4}.)|(?<=[ -][a-z]{2}.)|(?<=[ -][a-z]{3}.))[\"'”’»)]* "
)
# The splitter may take an abbreviation or the number of the next item for an end.
_FALSE_END = re.compile(
    r"(?:\b(?:[^\W\d_]|no|st|mr|mrs|ms|dr|prof|gen|vs|approx|inc|jr|sr)|[ ).]\d\d?)[.]$",
    re.IGNORECASE,
)
_REPEATED = re.compile(r"([^\W\d_I]|[!,-])\1\1")
_RUN_TOGETHER = re.compile(r"[A-Z](?<=[a-z]{3}.)[a-z]")
_CAPITAL = re.compile("[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]")
_QUOTES = re.compile('["“”„«»]')
_OPENING_QUOTES = "\"'“„”«»‘「『¡"
_CLOSED_SINGLE_QUOTE = re.compile(r"^['‘].*['’](?!\w)")
_CONNECTIVES = frozenset(
    (
        "und", "aber", "oder", "denn", "weil", "sondern", "außerdem", "deshalb", "trotzdem",
        "et", "mais", "ou", "car", "donc", "puis", "parce", "pero", "porque", "además", "sino",
        "aunque", "ma", "però", "perché", "inoltre", "mas", "então", "maar", "want", "omdat",
        "dus", "och", "men", "eller", "og", "ale", "или", "и", "но", "а", "потому", "зато",
        "также", "그리고", "그러나", "하지만", "그래서", "لكن",
    )
)  # fmt: skip
_UNSPACED_CONNECTIVES = ("但", "而且", "所以", "因为", "しかし", "そして", "でも", "だから")


def is_complete(sentence: str) -> bool:
    """Say whether a sentence is whole, declarative and clear by itself.

    English sentences also need a finite verb in their main clause, and may not hang on a sentence
    before them. Sentences of courtesy and boilerplate do pass, so that a leak stays visible.

    Examples
    --------
    >>> is_complete("The room was clean and quiet.")
    True
    >>> is_complete("Das Zimmer war sauber und ruhig.")
    True
    >>> is_complete("No more, no less.")
    False
    >>> is_complete("And, of course, someone does get shot.")
    False
    """
    text = sentence.strip()
    if len(text) > _MAX_CHARACTERS or not _END.search(text) or not _begins_well(text):
        return False
    if not _is_in_words(text) or _UNFIT.search(text) or not _is_balanced(text):
        return False
    words = words_of(text)
    if not (stands_alone(text, words) if is_english(words) else _has_no_connective(text)):
        return False
    return not (_FALSE_END.search(text) or _REPEATED.search(text) or _RUN_TOGETHER.search(text))


def _begins_well(text: str) -> bool:
    if text[0] in "'‘" and not _CLOSED_SINGLE_QUOTE.match(text):
        return False
    first = text.lstrip(_OPENING_QUOTES)[:1]
    # The title case of a letter without capitals is the letter itself.
    return first.isalpha() and first.title() == first


def _is_balanced(text: str) -> bool:
    if len(_QUOTES.findall(text)) % 2:
        return False
    depth = 0
    for character in re.findall("[()（）「」『』]", text):
        depth += 1 if character in "(（「『" else -1
        if depth < 0:
            return False
    return depth == 0


def _is_in_words(text: str) -> bool:
    """Say whether a text has the length of a sentence, and is words rather than numbers."""
    n_words = len(text.split())
    if n_words > _MAX_WORDS:
        return False
    letters = len(_NO_LETTER.sub("", text))
    if letters < _MIN_LETTER_SHARE * (len(text) - text.count(" ")):
        return False
    if len(_CAPITAL.findall(text)) > _MAX_CAPITAL_SHARE * letters:
        return False
    if not text.isascii() and len(_UNSPACED.findall(text)) > letters / 2:
        return _MIN_UNSPACED <= letters <= _MAX_UNSPACED
    return n_words >= _MIN_WORDS


def _has_no_connective(text: str) -> bool:
    first = text.split(maxsplit=1)[0].strip(_OPENING_QUOTES + ",").casefold()
    return first not in _CONNECTIVES and not first.startswith(_UNSPACED_CONNECTIVES)
