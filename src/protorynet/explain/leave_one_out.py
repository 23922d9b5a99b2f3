"""What a document loses without each of its sentences, and a match without each of its words."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protorynet.data import paper_reading
from protorynet.encoders import Encoder
from protorynet.errors import InputError
from protorynet.explain.explanation import Explanation, WordEffect, falls_without_each
from protorynet.explain.likeness import Encode
from protorynet.model import Model
from protorynet.network import pairwise_distance, similarity
from protorynet.reading import Reading
from protorynet.threads import one_thread

Span = tuple[int, int]  # start and end of a word, or of a group of words, in its text

# Scripts written without spaces, and how many characters make about a word of each.
_SPACELESS = (
    (0x0E00, 0x0EFF, 4),  # Thai, Lao
    (0x1000, 0x109F, 4),  # Myanmar
    (0x1780, 0x17FF, 4),  # Khmer
    (0x3040, 0x309F, 3),  # Hiragana
    (0x30A0, 0x30FF, 8),  # Katakana: mostly one foreign word
    (0x3400, 0x9FFF, 2),  # Han
    (0xF900, 0xFAFF, 2),
    (0x20000, 0x3FFFF, 2),
)
# Between two letters these belong to the word: don’t, well-known, 3.5.
_INNER = frozenset("'’-‐‑.·_@&/")
_JOINERS = "\u200c\u200d"  # hold the parts of an emoji, or of a Persian word, together
# A word in what `_kind` makes of a text: letters, with marks on them and single characters that
# belong inside; symbols together; or as many characters of a script as make about a word.
_WORD = re.compile(
    "|".join(
        ["l[lm]*(?:il[lm]*)*", "s[sm]*"]
        + [f"(?:{number}m*){{1,{size}}}" for number, (_, _, size) in enumerate(_SPACELESS)]
    )
)
_MOST_WORDS = 40  # of one text; the words of a longer one are left out in groups


@one_thread()
def leave_one_out_effects(
    model: Model, reading: Reading, classes: NDArray[np.int64] | None = None
) -> NDArray[np.float32]:
    """Return, per sentence, the fall of a class's probability as `falls_without_each` says."""

    def read(sentences: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        return model.read(reading.take(sentences, lengths)).probabilities

    return falls_without_each(reading, model.class_frequencies, read, classes)


class Rationale(NamedTuple):
    """How alike a sentence and a member are, and what the words of both do for that."""

    similarity: float
    words: tuple[WordEffect, ...]
    prototype_words: tuple[WordEffect, ...]


def explain_matches(
    model: Model, encode: Encode, matches: Sequence[tuple[str, int]]
) -> list[Rationale]:
    """Find the words that make sentences and members of prototypes, by their ids, alike.

    Each word in turn is left out of the sentence, and of the member's sentence, and what
    remains is compared again. So the effects are the model's own, whatever the encoder; they need
    not add up, since words that say the same can each be spared. All texts go through the encoder
    in one call, each distinct one once.
    """
    members = model.prototypes.members
    positions = {member.id: position for position, member in enumerate(members)}
    pairs = [(sentence, positions[number]) for sentence, number in matches]
    texts = dict.fromkeys(text for one, at in pairs for text in (one, members[at].sentence))
    spans = {text: word_spans(text, _MOST_WORDS) for text in texts}
    # What is read of each text, and of what is left without each word: "" where there is nothing.
    variants = {
        text: [
            _as_encoded(model, variant)
            for variant in (text, *(leave_out(text, span) for span in spans[text]))
        ]
        for text in texts
    }
    points = _embed(model, encode, filter(None, chain.from_iterable(variants.values())))

    @torch.inference_mode()
    def effects(text: str, target: Tensor) -> tuple[float, tuple[WordEffect, ...]]:
        """Return how similar a text is to a point, and what each of its words does for that."""
        known = torch.stack([points[variant] for variant in variants[text] if variant])
        distances = pairwise_distance(known, target.double()[None], model.settings.distance)
        near = iter(similarity(distances[:, 0], model.settings.psi_squared).tolist())
        whole, *without = (next(near) if variant else 0.0 for variant in variants[text])
        words = (
            WordEffect(text[start:end], start, end, whole - less)
            for (start, end), less in zip(spans[text], without, strict=True)
        )
        return whole, tuple(words)

    found = []
    for sentence, position in pairs:
        likeness, words = effects(sentence, model.network.members[position])
        # The paper's variant shows sentences that are only near its prototypes, so the effects
        # of their words are measured from the sentence shown.
        _, others = effects(members[position].sentence, points[variants[sentence][0]])
        found.append(Rationale(likeness, words, others))
    return found


def _embed(model: Model, encode: Encode, texts: Iterable[str]) -> dict[str, Tensor]:
    """Return the point of each distinct text."""
    read = list(dict.fromkeys(texts))
    if not read:
        return {}
    vectors = model.add_words(np.asarray(encode(read), np.float32), read)
    return dict(zip(read, model.embed(vectors).double(), strict=True))


def explain_words(
    model: Model, encoder: Encoder | None, explanations: Sequence[Explanation]
) -> list[Explanation]:
    """Return explanations with the words that make each sentence like its prototype."""
    if encoder is None:
        raise InputError(
            "a model of precomputed vectors knows no words: it cannot say which of them make a "
            "sentence like its prototype. Explain without words."
        )
    steps = [step for explanation in explanations for step in explanation.sentences]
    matches = list(dict.fromkeys((step.text, step.member) for step in steps))
    found = dict(zip(matches, explain_matches(model, encoder.encode, matches), strict=True))
    explained = []
    for explanation in explanations:
        reasons = [found[step.text, step.member] for step in explanation.sentences]
        sentences = tuple(
            replace(step, words=why.words, prototype_words=why.prototype_words)
            for step, why in zip(explanation.sentences, reasons, strict=True)
        )
        explained.append(replace(explanation, sentences=sentences))
    return explained


def _as_encoded(model: Model, text: str) -> str:
    """Return what the encoder reads of a text."""
    return paper_reading(text) if model.splitter.rule == "paper" else text


def word_spans(text: str, most: int) -> list[Span]:
    """Return where words are, punctuation only if alone; more than `most` are grouped."""
    words = [word.span() for word in _WORD.finditer("".join(map(_kind, text)))]
    if not words:
        start, end = len(text) - len(text.lstrip()), len(text.rstrip())
        return [(start, end)] if start < end else []
    size = -(-len(words) // most)
    groups = [words[first : first + size] for first in range(0, len(words), size)]
    return [(group[0][0], group[-1][1]) for group in groups]


def leave_out(text: str, span: Span) -> str:
    """Return the text without a span, and without the gap that this would leave."""
    before, after = text[: span[0]], text[span[1] :]
    if before[-1:].isspace():
        after = after.lstrip()
        if after and unicodedata.category(after[0])[0] == "P" and not text[span[1]].isspace():
            before = before.rstrip()
    return (before + after).strip()


def _kind(mark: str) -> str:
    """Return what a character is by a letter of its own, for `_WORD`."""
    category = unicodedata.category(mark)[0]
    if mark in _JOINERS or category == "M":
        return "m"
    if category in "LN":
        for number, (low, high, _) in enumerate(_SPACELESS):
            if low <= ord(mark) <= high:
                return str(number)
        return "l"
    if mark in _INNER:
        return "i"
    return "s" if category == "S" else " "
