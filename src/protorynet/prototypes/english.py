"""Whether an English sentence states something by itself, judged by its frequent words.

A sentence states something if a finite verb is left over after every subordinate clause has had
its own: "The room we had was small." does, "The best room we ever had." does not. Of all that a
parser would know, only lists of frequent words and a few endings are used. The rules err towards
no: a corpus has sentences enough.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from protorynet.prototypes import english_words as en

__all__ = ["is_english", "stands_alone", "words_of"]

_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[,;]")
_CARELESS = re.compile(r"[ ](?:[iu]|[Ii]ts (?:a|an|the|not|just|very|so)) ")
_LOOSE_WORDS = en.CARELESS | en.LOOSE_LINKS
_POINTERS = frozenset(("him", "them", "it"))
_ENDINGS = ("ing", "ly", "ful", "ness", "'s")
_CONTRACTED = frozenset(("s", "re", "m", "ve", "ll", "d"))
# How many words of its own a sentence needs; those that begin by pointing back need more.
_MIN_CONTENT = 2
_MIN_CONTENT_AFTER = {
    **dict.fromkeys(("i", "we"), 1),
    **dict.fromkeys(("he", "she", "his", "her", "their"), 4),
    **dict.fromkeys(("they", "these", "those", "that"), 3),
}


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case, with its numbers, commas and semicolons."""
    return _TOKEN.findall(sentence.replace("’", "'").lower())


def is_english(words: Sequence[str]) -> bool:
    """Say whether words are English: more of them are only English than only of other languages.

    Where none is either, a frequent English word or ending decides.

    Examples
    --------
    >>> is_english(words_of("The room was clean.")), is_english(words_of("Das Bad war sauber."))
    (True, False)
    """
    english = len(en.ENGLISH_ONLY.intersection(words))
    foreign = len(en.OTHER_LANGUAGES.intersection(words))
    if english or foreign:
        return english > foreign
    if not "".join(words).isascii():
        return False
    return any(word in _KINDS or word.endswith(_ENDINGS) for word in words if word != ",")


def stands_alone(sentence: str, words: Sequence[str]) -> bool:
    """Say whether an English sentence states something, and needs no sentence before it.

    Parameters
    ----------
    sentence, words
        The sentence, and what `words_of` makes of it.

    Examples
    --------
    >>> whole, fragment = "The room we had was small.", "The best room we ever had."
    >>> stands_alone(whole, words_of(whole)), stands_alone(fragment, words_of(fragment))
    (True, False)
    """
    if not words:
        return False
    # A leak such as the host's reply must stay visible, though "Thank you" has no subject.
    if words[0] in ("thank", "thanks"):
        return "for" in words
    if words[0] in en.DANGLING_STARTS or words[-1] in en.DANGLING_ENDS:
        return False
    if sentence.lower().startswith(en.DANGLING_OPENINGS):
        return False
    if _CARELESS.search(" " + sentence) or not _LOOSE_WORDS.isdisjoint(words):
        return False
    return _says_enough(words) and not _is_heading(sentence) and _has_main_verb(words)


def _is_heading(sentence: str) -> bool:
    long = [word for word in sentence.split()[1:] if len(word) > 3]
    return len(long) > 2 and all(word[0].isupper() for word in long)


def _says_enough(words: Sequence[str]) -> bool:
    first = words[0].partition("'")[0]
    pointers = len(_POINTERS.intersection(words[1:]))
    if pointers and first in ("he", "she", "they"):
        return False
    content = len(set(words).difference(en.FUNCTION_WORDS, (",", ";")))
    needed = _MIN_CONTENT_AFTER.get(first, _MIN_CONTENT)
    return content >= (max(needed, _MIN_CONTENT) + pointers if pointers else needed)


def _third_person(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeou" else verb + "s"


# One letter per kind of word, so that regular expressions can find the clauses.
_KINDS: dict[str, str] = {
    word: kind
    for kind, words in (
        ("h", map(_third_person, en.VERBS)),
        ("b", en.VERBS),
        ("f", en.PAST_FORMS),
        ("g", en.PASTS_AND_PARTICIPLES),
        ("x", en.PARTICIPLES),
        ("j", en.ADJECTIVES),
        ("s", en.PLURAL_NOUNS),
        ("r", en.ADVERBS),
        ("p", en.PREPOSITIONS),
        ("d", en.DETERMINERS),
        ("o", en.OBJECTS),
        ("t", en.OTHER_SUBJECTS),
        ("N", en.NOMINATIVE),
        ("Y", ("you",)),
        ("S", en.SUBORDINATORS),
        ("A", en.AUXILIARIES),
        ("H", ("have", "do")),
        ("B", en.BE_FORMS),
        ("&", en.CONJUNCTIONS),
        ("!", ("but",)),
        ("T", ("to",)),
        ("q", ("by",)),
        (",", (",", ";")),
    )
    for word in words
}

# A verb form is finite where its neighbours say so: "the film works for", "many scenes work".
_FINITE = re.compile(
    r"A|f"
    r"|(?:(?<=[xstS])|(?<=[xstS]r))h(?![&!,])"
    r"|(?:(?<=[sYS])|(?<=[sYS]r))b"
    r"|(?<=t)[eg]|(?:(?<=[xsS])|(?<=[xsS]r))e(?=[dpotTrNj])"
    r"|(?:(?<=[xsS])|(?<=[xsS]r))g(?=[dotNYrj])"
)
# Commands, and sentences without their subject or with as little as "All were".
_NO_SUBJECT = re.compile(r"[r,]*[AHBbfgeh]|d[AHfhr]")
_PARTICIPLE_AFTER_INDEFINITE = re.compile(r"(?<=[xs])[eg](?=[pTr])")
_VERB_GROUP = re.compile(r"[VH](?:r*[HBbeg])*")
_PRONOUN_CLAUSE = re.compile(r"Nr*[^,&!]|^Y.|Yr*V|(?<=&)r*tV|C(?:r*[VHBeg])?")
# "Overall, we", and "After two days we" if there is more to come than in "For the price we paid".
_PRONOUN_FIRST = re.compile(r"[r,]*K|p[^SKV,]{1,4}K...")
_SUBORDINATE = re.compile(r"S[^SKV]*[KV]")
_CLAUSE_AFTER_COMMA = re.compile(r",r*K")
_MAIN_VERB = re.compile(r"[^&!r,]r*V|,[^,]*,V")


def _has_main_verb(words: Sequence[str]) -> bool:
    kinds = "".join(map(_kind, words))
    if _NO_SUBJECT.match(kinds):
        return False
    if words[0] in ("a", "an"):
        kinds = _PARTICIPLE_AFTER_INDEFINITE.sub("x", kinds)
    if words[0] in ("this", "that"):
        if _points_back(words, kinds):
            return False
        kinds = "t" + kinds[1:]
    kinds = _VERB_GROUP.sub("V", _FINITE.sub("V", kinds))
    kinds = _PRONOUN_CLAUSE.sub("K", kinds)
    if _PRONOUN_FIRST.match(kinds):
        return True
    main = _without_subordinates(kinds)
    if kinds[0] == "S":
        main = "," + main.partition(",")[2]
    else:
        main = main.partition("!")[0].partition(",&")[0]
    adverbial = kinds[0] in "prS" or words[0].endswith("ing")
    return bool(_MAIN_VERB.search(main) or (adverbial and _CLAUSE_AFTER_COMMA.search(main)))


def _points_back(words: Sequence[str], kinds: str) -> bool:
    """Say whether "this" or "that" is all the subject there is, unless something is said to be it.

    "This is a bad hotel." says what it speaks of; "This cost us a day." does not.
    """
    if words[1] in ("is", "was", "isn't", "wasn't"):
        return kinds[2:3] == "S"
    return kinds[1] in "AHfghTr" or (kinds[1] == "e" and kinds[2:3] in "dotp")


def _without_subordinates(kinds: str) -> str:
    found = 1
    while found:
        kinds, found = _SUBORDINATE.subn("", kinds)
    return kinds


@lru_cache(maxsize=100_000)
def _kind(word: str) -> str:
    if word in _KINDS:
        return _KINDS[word]
    subject, apostrophe, ending = word.partition("'")
    if apostrophe:
        if ending in _CONTRACTED and _KINDS.get(subject, "x") in "NYtSr":
            return "SV" if subject in ("who", "what") else "C"
        return "d"
    if word.endswith("ly"):
        return "r"
    if word.endswith("ed") and len(word) > 4 and word[-3] != "e":
        return "e"
    if word.isdigit():
        return "d"
    return "s" if word.endswith("s") and word[-2:-1] not in "sui" else "x"
