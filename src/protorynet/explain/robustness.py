"""How a model holds under noise: typing errors, case, punctuation and synonyms."""

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from protorynet.errors import InputError
from protorynet.model import Model
from protorynet.reading import Reading

_SHARE = 0.2  # of the words that are changed, where they can be
_LONG_WORD, _ANY_WORD = re.compile(r"[^\W\d_]{4,}"), re.compile(r"[^\W\d_]+")
_MARKS = re.compile(r"[.!?]+|[,;:()\"'-]")
_SYNONYMS = """
good fine nice; great excellent superb; bad poor; awful terrible horrible; movie film picture
big large huge; small little tiny; quick fast rapid; slow sluggish; funny amusing hilarious
boring dull tedious; beautiful lovely gorgeous; ugly hideous; sad unhappy; happy glad pleased
begin start; end finish; buy purchase; help assist; say state; think believe; show display
very really extremely; often frequently; almost nearly; also too; but however; maybe perhaps
story plot tale; actor performer; room chamber; staff personnel; price cost; food meal; people folks
clean spotless; dirty filthy; broken defective; noisy loud; friendly kind; rude impolite
new recent; old aged; smart clever; stupid foolish; important significant; strange odd weird
"""
_GROUPS = [group.split() for group in re.split(r"[;\n]", _SYNONYMS) if group.strip()]
_OTHERS = {word: [other for other in group if other != word] for group in _GROUPS for word in group}


@dataclass(frozen=True)
class Robustness:
    """What a perturbation does to a model.

    - `accuracy`: share of the documents labelled correctly; `words_accuracy`: the same by the words
      that the model carries alone, a bag of words, None where it carries none.
    - `same_label`, `same_trajectory`: share of documents labelled as without noise, and of their
      sentences that are matched to the same prototypes in the same order, the mean of documents.
    """

    perturbation: str
    accuracy: float
    same_label: float
    same_trajectory: float
    words_accuracy: float | None


def measure_robustness(
    model: Model,
    read: Callable[[Sequence[str]], Reading],
    texts: Sequence[str],
    targets: NDArray[np.float32],
    perturbations: Iterable[str],
    *,
    seed: int = 0,
) -> list[Robustness]:
    """Measure a model on documents, none empty, as they are and under each kind of noise."""
    truth, before, found = model.labels.decide(targets), read(texts), []
    for name in ["none", *perturbations]:
        noisy = [perturb(text, name, seed) for text in texts]
        after = before if name == "none" else read(noisy)
        labels = model.labels.decide(after.probabilities)
        words = None if model.words is None else model.words.read(noisy)
        same = labels == model.labels.decide(before.probabilities)
        found.append(
            Robustness(
                name,
                float((labels == truth).all(axis=1).mean()),
                float(same.all(axis=1).mean()),
                _like_trajectories(before, after),
                None if words is None else model.labels.share_equal(expit(words), targets),
            )
        )
    return found


def parse_perturbations(listed: str) -> list[str]:
    """Return the kinds of noise that a list such as ``"typos,case"`` names."""
    wanted = list(dict.fromkeys(listed.split(",")))
    for name in wanted:
        if name not in PERTURBATIONS:
            known = ", ".join(PERTURBATIONS)
            raise InputError(f"there is no perturbation {name!r}; there are {known}.")
    return wanted


def perturb(text: str, name: str, seed: int = 0) -> str:
    """Return a text with noise, the same for the same seed.

    Examples
    --------
    >>> perturb("The film was good. The staff was friendly.", "synonyms")
    'The picture was nice. The personnel was kind.'
    """
    if name == "none":
        return text
    return PERTURBATIONS[name](text, random.Random(f"{seed} {name} {text}"))  # noqa: S311


def _add_typos(text: str, draw: random.Random) -> str:
    def mistype(found: re.Match[str]) -> str:
        word = found[0]
        if draw.random() > _SHARE:
            return word
        at = draw.randrange(1, len(word) - 2)
        swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        return draw.choice([swapped, word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]])

    return _LONG_WORD.sub(mistype, text)


def _change_case(text: str, draw: random.Random) -> str:
    return draw.choice([str.lower, str.upper])(text)


def _change_punctuation(text: str, draw: random.Random) -> str:
    # A sentence still ends where it ended.
    return _MARKS.sub(
        lambda found: draw.choice([".", "!", ".."] if found[0][0] in ".!?" else ["", found[0] * 2]),
        text,
    )


def _change_words(text: str, draw: random.Random) -> str:
    def exchange(found: re.Match[str]) -> str:
        others = _OTHERS.get(found[0].lower())
        if not others:
            return found[0]
        other = draw.choice(others)
        return other.capitalize() if found[0][0].isupper() else other

    return _ANY_WORD.sub(exchange, text)


PERTURBATIONS: dict[str, Callable[[str, random.Random], str]] = {
    "typos": _add_typos,
    "case": _change_case,
    "punctuation": _change_punctuation,
    "synonyms": _change_words,
}


def _like_trajectories(before: Reading, after: Reading) -> float:
    ids = range(int(max(before.prototypes.max(), after.prototypes.max())) + 1)
    pairs = zip(before.paths(ids), after.paths(ids), strict=True)
    matchers = (SequenceMatcher(None, a.tolist(), b.tolist(), autojunk=False) for a, b in pairs)
    return float(np.mean([matcher.ratio() for matcher in matchers]))
