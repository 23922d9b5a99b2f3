"""Which training sentences may become prototypes, complete and readable ones, and which do."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from protorynet.network import pairwise_distance
from protorynet.settings import Distance
from protorynet.threads import map_in_processes

_MAX_CHARACTERS = 200
_READABLE_WORDS, _COMPLETE_WORDS = range(3, 31), range(4, 26)
# Scripts written without spaces have no word count: letters are counted instead.
_MIN_READABLE_LETTERS, _COMPLETE_LETTERS = 6, range(7, 61)
_MAX_CAPITAL_SHARE = 0.3
# With fewer complete sentences than this, and this share, too little of a corpus could be shown.
_MIN_COMPLETE, _MIN_COMPLETE_SHARE = 200, 0.1
_MIN_READABLE = 2
# Words that mark a group of sentences: how many, how sure, in what share of it, and of how many.
_MARKING_WORDS, _BEYOND_CHANCE, _HELD_SHARE, _COUNTED_SENTENCES = 5, 3.5, 0.01, 50_000
_SENTENCES_AT_ONCE = 4_096  # looked at by one core
_NIL = 1e-12
# What a typical member loses of its likeness: per word too few or too many, and by rare words.
_HEADLINE_WORDS, _TOO_SHORT, _TOO_LONG, _RARE = range(4, 11), 0.1, 0.02, 0.06
_CONTENT_WORDS = 2  # of a headline, at least

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# Neither numbers nor pieces of "don't" and "I'll".
_WHOLE_WORD = r"(?<![\w'’])[^\W\d_]{2,}(?![\w'’])"
_DECORATION = re.compile(r"[\W_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_OPENING_QUOTES = "\"'“„”«»‘「『¡"
_END = re.compile("[.!?？؟。！．｡।॥۔።։။។][\"'”’»“«)）」』]*$")
# Lists, markup, smileys and addresses; the end of another sentence within.
# Every alternative begins with a set of characters, so that the search skips all others quickly.
_UNFIT = re.compile(
    "[;՞…<>{}\\[\\]|*_~#@=\\\\^`\u2600-\u27bf\U0001f000-\U0001faff]"
    r"|[:：](?!\d)|[ ][.,/)]|[(] |[-](?<=\w-) |[']'|[&][a-z]+;|[.](?<=www.)|[.] ?[.]|[!,-]{3}"
    r"|[.,!](?<=[a-z]{2}.)[A-Za-z]|[A-Z](?<=[a-z]{3}.)|[.!](?<=[^\W\d_]{4}.)[\"'”’»)]* "
    "|[?？؟](?!$)|[。！].*[。！]"
)
_STAMMER = re.compile(r"([^\W\d_I])\1\1")
_FALSE_END = re.compile(r"\b(?:[^\W\d_]|No|St|Mr|Mrs|Ms|Dr|Prof|vs|Inc|Jr|Sr|\d\d?)[.]$")
_TOKEN = re.compile(r"'?[^\W_]+(?:'[^\W_]+)?|,")
_CONTRACTION = re.compile(r"'(?:ve|re|m|ll|d)\b|(?:(?<=\bit)|(?<=here)|(?<=\bhe)|(?<=\bshe))'s")


_LISTED = tomllib.loads(Path(__file__).with_name("sentence_words.toml").read_text(encoding="utf-8"))
_WORDS = {kind: frozenset(words.split()) for kind, words in _LISTED.items()}
_AUXILIARIES, _DETERMINERS = _WORDS["auxiliaries"], _WORDS["determiners"]
_SUBJECTS, _RELATIVES = _WORDS["subjects"], _WORDS["relatives"]
_SUBORDINATORS = _RELATIVES | _WORDS["subordinators"]
_CLAUSE_BEGINS = _SUBORDINATORS | {",", "and", "but", "so", "or"}
_NO_VERB_BEGINS = _CLAUSE_BEGINS | _WORDS["prepositions"]
_NO_VERBS = _SUBJECTS | _DETERMINERS | {"it", "this", "you", "there"}
_NO_VERB_AFTER = _AUXILIARIES | _DETERMINERS | {"to", "of"}
_PAST = re.compile("[a-z]{3,}ed$")
_DANGLING_OPENINGS = re.compile(
    "(?:after (?:all|that)|at least|for (?:example|instance)|in (?:addition|fact)"
    "|of course|on the other hand|on top of|once again|this time)\\b"
    "|但|而且|所以|因为|しかし|そして|でも|だから"
)


def is_readable(sentence: str) -> bool:
    """Say whether a sentence has the length and the letters of one; `is_complete` asks for more."""
    if len(sentence) > _MAX_CHARACTERS or "<" in sentence or "http" in sentence:
        return False
    words = _WORD.findall(sentence)
    letters = sum(len(word) for word in words)
    if letters < 0.6 * len(sentence.replace(" ", "")):
        return False
    if len(words) >= _READABLE_WORDS.start:
        return len(words) in _READABLE_WORDS
    return not sentence.isascii() and letters >= _MIN_READABLE_LETTERS


def is_complete(sentence: str) -> bool:
    """Say whether a sentence is whole and clear by itself.

    It begins and ends as a sentence does, and does not hang on the one before it. English needs
    a verb besides those of its subordinate clauses. Boilerplate passes, so that leaks stay visible.
    """
    text = sentence.strip()
    first = text.lstrip(_OPENING_QUOTES)[:1]
    # The title case of a letter without capitals is the letter itself.
    if not (first.isalpha() and first.title() == first and _END.search(text)):
        return False
    if text.count("(") != text.count(")") or len(re.findall('["“”„«»]', text)) % 2:
        return False
    if not (is_readable(text) and _has_the_form_of_a_statement(text)):
        return False
    if any(fault.search(text) for fault in (_UNFIT, _STAMMER, _FALSE_END)):
        return False
    words = _TOKEN.findall(_CONTRACTION.sub(r" \g<0>", text.replace("’", "'").lower()))
    if words[0] in _WORDS["dangling_starts"] or _DANGLING_OPENINGS.match(text.lower()):
        return False
    english, foreign = (
        len(some.intersection(words)) for some in (_WORDS["english"], _WORDS["foreign"])
    )
    is_english = english > foreign if english or foreign else text.isascii()
    if text.endswith("?"):
        return " i " not in text
    return not is_english or (" i " not in text and _states_something(words))


def distinct_candidates(sentences: Sequence[str]) -> NDArray[np.int64]:
    """Return positions of the sentences that may become prototypes.

    Of sentences that differ only in case, spacing or punctuation, one stays: the first that is
    complete, else the first. The complete ones are candidates if they are at least 200 and 10 %
    of the distinct ones; else the readable ones, if there are two; else all distinct ones. So
    small corpora, and those in lower case or without full stops, have candidates too.
    """
    first: dict[str, int] = {}
    complete: dict[str, int] = {}
    starts = range(0, len(sentences), _SENTENCES_AT_ONCE)
    blocks = [sentences[at : at + _SENTENCES_AT_ONCE] for at in starts]
    looked_at = chain.from_iterable(map_in_processes(_look_at, blocks))
    for position, (bare, is_whole) in enumerate(looked_at):
        first.setdefault(bare, position)
        if is_whole:
            complete.setdefault(bare, position)
    if len(complete) >= max(_MIN_COMPLETE, _MIN_COMPLETE_SHARE * len(first)):
        return np.array(sorted(complete.values()), dtype=np.int64)
    distinct = sorted(first.values())
    readable = [position for position in distinct if is_readable(sentences[position])]
    return np.array(readable if len(readable) >= _MIN_READABLE else distinct, dtype=np.int64)


def _look_at(sentences: Sequence[str]) -> list[tuple[str, bool]]:
    """Return each sentence without case, spacing and punctuation, and whether it is complete."""
    return [
        (_DECORATION.sub("", sentence.casefold()) or sentence, is_complete(sentence))
        for sentence in sentences
    ]


def _has_the_form_of_a_statement(text: str) -> bool:
    """Say whether a text is neither too short nor too long, nor a heading, nor shouted."""
    if 2 * len(_UNSPACED.findall(text)) > len(text):
        return len(text) - 1 in _COMPLETE_LETTERS
    words = text.split()
    long = [word for word in words[1:] if len(word) > 3]
    if len(long) > 2 and all(word[0].isupper() for word in long):
        return False
    shouts = sum(map(str.isupper, text)) > _MAX_CAPITAL_SHARE * len(text)
    return not shouts and len(words) in _COMPLETE_WORDS


def _states_something(words: Sequence[str]) -> bool:
    if words[0] in ("thank", "thanks"):
        return "for" in words
    if (
        words[-1] in _WORDS["dangling_ends"]
        or _points_back(words)
        or not _WORDS["careless"].isdisjoint(words)
    ):
        return False
    words = [word for word in words if word not in _WORDS["adverbs"]]
    # A verb comes first in commands and in sentences without their subject.
    if not words or _is_verb(words[0]) or _leaves_out_its_verb(words):
        return False
    return _has_main_verb(words)


def _points_back(words: Sequence[str]) -> bool:
    """Say whether much of what a sentence speaks of was named before it."""
    if words[0] in ("this", "that", "these", "those", "all"):
        return words[1:2] not in (["is"], ["was"]) and any(map(_is_verb, words[1:2]))
    pointers = (words[0] in ("he", "she", "they"), *map(words[1:].count, ("him", "them", "it")))
    return len(words) < _COMPLETE_WORDS.start + 2 * sum(pointers)


def _leaves_out_its_verb(words: Sequence[str]) -> bool:
    """Say whether the first verb is in the sentence before, as in "You won't by the end of it."."""
    pairs = zip(words, [*words[1:], ","], strict=True)
    word, following = next((pair for pair in pairs if _is_verb(pair[0])), ("", ""))
    return word in _WORDS["modals"] and following in _NO_VERB_BEGINS


def _is_verb(word: str) -> bool:
    if word in _AUXILIARIES or word.endswith("n't") or _PAST.match(word):
        return True
    return word in _WORDS["verbs"] or word.removesuffix("s") in _WORDS["verbs"]


def _has_main_verb(words: Sequence[str]) -> bool:
    """Say whether a verb is left when every subordinate clause has had one.

    In "The best room we had" the subject within begins a clause, which takes the only verb.
    """
    verbs = clauses = 0
    for before, word in zip([",", *words], words, strict=False):
        clauses += word in _SUBORDINATORS or (word in _SUBJECTS and before not in _CLAUSE_BEGINS)
        if before in _SUBJECTS:
            verbs += 1
        elif before in _RELATIVES:
            verbs += word not in _NO_VERBS
        elif before not in _NO_VERB_AFTER and before[-3:] != "n't":
            # "A film directed by …" names a thing.
            names = words[0] in ("a", "an") and _PAST.match(word)
            verbs += _is_verb(word) and not names
    return verbs > clauses


def marking_words(
    sentences: Sequence[str], groups: NDArray[np.int64], count: int
) -> list[tuple[str, ...]]:
    """Return the words that mark each of `count` groups of sentences, the most telling first.

    A word marks a group where it is far more frequent there than elsewhere, beyond what chance
    does to the luckiest of thousands of words: by the root of the likelihood ratio (Dunning's G²).
    One that hardly any of its sentences hold says nothing of the group, however telling.

    Examples
    --------
    >>> texts = ["The soup was cold."] * 9 + ["The room was small."] * 9
    >>> marking_words(texts, np.repeat([0, 1], 9), 2)
    [('cold', 'soup'), ('room', 'small')]
    """
    from scipy.special import xlogy
    from sklearn.feature_extraction.text import CountVectorizer

    step = -(-len(sentences) // _COUNTED_SENTENCES)
    sentences, groups = sentences[::step], groups[::step]
    vectorizer = CountVectorizer(
        binary=True,
        stop_words="english",
        min_df=min(5, len(sentences)),
        max_features=20_000,
        token_pattern=_WHOLE_WORD,
    )
    try:
        counted = vectorizer.fit_transform(sentences)
    except ValueError:  # no word is left, as in a script without spaces
        return [()] * count
    words = vectorizer.get_feature_names_out()
    member = np.zeros((count, len(sentences)), np.float32)
    member[groups, np.arange(len(sentences))] = 1
    held = np.asarray((counted.T @ member.T).T, np.float64)
    size, total = member.sum(axis=1)[:, None], np.asarray(counted.sum(axis=0), np.float64)
    n = len(sentences)
    expected = size * total / n
    # Of the table with and without the group, with and without the word.
    excess = held - expected
    rest = n - size - total + expected
    cells = ((expected, 1), (size - expected, -1), (total - expected, -1), (rest, 1))
    seen = [(np.maximum(usual + sign * excess, 0), usual) for usual, sign in cells]
    ratio = 2 * sum(xlogy(count, (count + _NIL) / (usual + _NIL)) for count, usual in seen)
    telling = np.sqrt(np.maximum(ratio, 0)) * (excess > 0) * (held >= _HELD_SHARE * size)
    best = np.argsort(-telling, axis=1, kind="stable")[:, :_MARKING_WORDS]
    return [
        tuple(str(words[word]) for word in row if telling[group, word] > _BEYOND_CHANCE)
        for group, row in enumerate(best)
    ]


def typical_first(
    members: Sequence[str],
    groups: NDArray[np.int64],
    likeness: NDArray[np.float64],
    sentences: Sequence[str],
) -> NDArray[np.int64]:
    """Return the positions of members by group, the most typical of each first.

    Typical is what is like the sentences of its group, and plain: short, of words that are common
    in all sentences, so that names and odd phrases come late. It says something, too: "It is that
    and more." has function words only.

    Examples
    --------
    >>> members = ["Mr Smith was rude to us.", "The staff were rude to us.", "A fine view it was."]
    >>> texts = ["The staff were kind to us.", "The view was fine."] * 9
    >>> typical_first(members, np.array([1, 1, 0]), np.array([0.6, 0.6, 0.7]), texts)
    array([2, 1, 0])
    >>> members = ["It is that and more.", "The staff were rude."]
    >>> texts = ["The staff.", "It is that and more."] * 9
    >>> typical_first(members, np.array([0, 0]), np.array([0.6, 0.6]), texts)
    array([1, 0])
    """
    from sklearn.feature_extraction.text import CountVectorizer

    lengths = np.array([len(text.split()) for text in members])
    shortage = np.maximum(_HEADLINE_WORDS.start - lengths, 0)
    excess = np.maximum(lengths - _HEADLINE_WORDS.stop + 1, 0)
    score = likeness - _TOO_SHORT * shortage - _TOO_LONG * excess
    vectorizer = CountVectorizer(binary=True, stop_words="english")
    counted = sentences[:: -(-len(sentences) // _COUNTED_SENTENCES)]
    try:
        words = vectorizer.fit_transform(members)
    except ValueError:  # there is no word
        return np.lexsort((-score, groups))
    frequency = np.asarray(vectorizer.transform(counted).sum(axis=0)).ravel() + 1
    content = words.getnnz(axis=1)
    missing = np.maximum(_CONTENT_WORDS - content, 0)  # counted as the rarest that can be
    rarity = words @ np.log(len(counted) / frequency) + missing * np.log(len(counted))
    score -= _RARE * rarity / (content + missing)
    return np.lexsort((-score, groups))


_SENTENCES_PER_BLOCK = 16_384  # compared with all prototypes at once


@torch.inference_mode()
def project(
    prototypes: Tensor, sentences: Tensor | Iterable[Tensor], *, distance: Distance = "euclidean"
) -> NDArray[np.int64]:
    """Return the position of the nearest sentence for each prototype, never one sentence for two.

    Where two prototypes want the same sentence, the closer one gets it and the other its next
    nearest. Sentences (n, d), no two of the same text, may come in blocks, one after the other.
    """
    # K nearest sentences are enough: the other K − 1 prototypes can take at most K − 1 of them.
    k, start = len(prototypes), 0
    values = prototypes.new_empty((k, 0))
    positions = torch.empty((k, 0), dtype=torch.long, device=prototypes.device)
    for block in (
        torch.split(sentences, _SENTENCES_PER_BLOCK) if isinstance(sentences, Tensor) else sentences
    ):
        distances = pairwise_distance(prototypes, block, distance)
        here = torch.arange(start, start + len(block), device=prototypes.device)
        values = torch.cat([values, distances], dim=1)
        positions = torch.cat([positions, here.expand(k, -1)], dim=1)
        values, nearest = values.topk(min(k, values.shape[1]), largest=False)
        positions = positions.gather(1, nearest)
        start += len(block)
    return _assign_closest_first(values.cpu().numpy(), positions.cpu().numpy())


@torch.inference_mode()
def cluster_means(
    base: Tensor,
    embedded: Tensor,
    prototypes: Tensor,
    distance: Distance = "euclidean",
    *,
    index: Tensor | None = None,
) -> Tensor:
    """Return the mean direction, in the space of `base`, of the sentences nearest to each one.

    Sentences (n, d) and prototypes (K, d) are matched in their own space; `index` says where the
    sentences stand in `base`, if not all do. The mean of no sentence is zero.
    """
    k = len(prototypes)
    sums = base.new_zeros(k, base.shape[1])
    for start in range(0, len(embedded), _SENTENCES_PER_BLOCK):
        block = slice(start, start + _SENTENCES_PER_BLOCK)
        nearest = pairwise_distance(embedded[block], prototypes, distance).argmin(dim=1)
        here = base[block] if index is None else base[index[block]]
        # A product with one-hot vectors: the same sum in the same order on every device.
        sums += functional.one_hot(nearest, k).to(base.dtype).T @ here
    return functional.normalize(sums, dim=1)


def _assign_closest_first(
    values: NDArray[np.float32], positions: NDArray[np.int64]
) -> NDArray[np.int64]:
    k = len(values)
    chosen = np.full(k, -1, dtype=np.int64)
    taken: set[int] = set()
    for flat in np.argsort(values, axis=None, kind="stable"):
        prototype, rank = divmod(int(flat), values.shape[1])
        position = int(positions[prototype, rank])
        if chosen[prototype] < 0 and position not in taken:
            chosen[prototype] = position
            taken.add(position)
            if len(taken) == k:
                break
    return chosen
