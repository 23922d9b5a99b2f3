"""How right a model is, and how far its explanations can be trusted: always reported together."""

import random
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from protorynet.data import Sentences
from protorynet.encoders import Embeddings
from protorynet.errors import InputError
from protorynet.explain.leave_one_out import leave_one_out_effects
from protorynet.explain.likeness import (
    Encode,
    Judge,
    compare_before_training,
    measure_coherence,
    measure_duplicates,
    measure_match_quality,
    measure_semantics,
)
from protorynet.explain.quotient import grow_tree
from protorynet.figures import Figures, measure_figures
from protorynet.model import Model
from protorynet.reading import Reading

# Each sentence is left out in turn, so the work grows with the square of a document's length.
_ERASURE_DOCUMENTS = 500
_ERASURE_SENTENCES = 60
_IMPORTANT_ONE_IN = 5
_NOT_RECORDED = " It was not recorded for this model."

Answer = Literal["yes", "mostly", "no"]
# Measure, claim, the best value (None: the accuracy), and how far from it is yes, or mostly.
_CLAIMS: tuple[tuple[str, str, float | None, float, float], ...] = (
    ("ids_only_accuracy", "matches carry the decision", None, 0.01, 0.03),
    ("substitution_agreement", "prototypes stand for the sentences matched to them", 1, 0.05, 0.15),
    ("match_quality", "sentences are like what they are matched to", 1, 0.2, 0.4),
    ("score_error", "scores are what the labels say", 0, 0.05, 0.1),
    ("unfamiliar_sentences", "the texts are of the kind it was trained on", 0, 0.05, 0.15),
)

_MEANINGS = tomllib.loads(Path(__file__).with_name("measures.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Measure:
    """One figure about the faithfulness of a model's explanations; None where there is none.

    The `meaning` is a plain sentence saying what it measures and what would be bad.
    """

    name: str
    value: float | None
    meaning: str


@dataclass(frozen=True)
class Verdict:
    """What a measure of faithfulness comes to, in words."""

    claim: str
    answer: Answer
    measure: Measure


@dataclass(frozen=True)
class Evaluation(Figures):
    """How right a model is on labelled documents, and how faithful its explanations are.

    The `measures` of faithfulness come each with its meaning; `n_members` is how many sentences
    the prototypes have.
    """

    measures: tuple[Measure, ...] = ()
    n_prototypes: int = 0
    n_members: int = 0

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the measures come to, in words."""
        known = {each.name: each for each in self.measures if each.value is not None}
        found: list[Verdict] = []
        for name, claim, best, enough, most in _CLAIMS:
            if measure := known.get(name):
                value = cast("float", measure.value)
                away = value if best == 0 else (best or self.accuracy) - value
                answer: Answer = "yes" if away <= enough else "mostly" if away <= most else "no"
                found.append(Verdict(claim, answer, measure))
        return tuple(found)

    @property
    def warnings(self) -> list[str]:
        """What accuracy hides; and texts of another kind than the model learned from."""
        strange = [
            f"{each.measure.value:.0%} of the sentences are unlike anything the model learned from "
            "(another subject, another language?), so its answers to such texts say little."
            for each in self.verdicts
            if (each.measure.name, each.answer) == ("unfamiliar_sentences", "no")
        ]
        return super().warnings + strange

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet evaluate --json` prints them."""
        return {
            **super().to_dict(),
            "n_prototypes": self.n_prototypes,
            "n_members": self.n_members,
            "verdicts": [{**vars(each), "measure": each.measure.name} for each in self.verdicts],
            "faithfulness": {each.name: each.value for each in self.measures},
        }

    def _repr_html_(self) -> str:
        from protorynet.report import render

        return render("evaluation_fragment.html", evaluation=self)

    def __str__(self) -> str:
        from protorynet.report import print_evaluation, printed

        return printed(print_evaluation, self)


def evaluate_model(
    model: Model,
    sentences: Sentences,
    embeddings: Embeddings,
    targets: NDArray[np.float32],
    *,
    encode: Encode | None,
    pretrained: Encode | None = None,
    judge: Judge | None,
    judge_name: str = "",
    floor: float | None = None,
) -> Evaluation:
    """Measure accuracy and faithfulness on labelled documents, none empty.

    `encode` is the model's encoder, None for vectors that the user gave; `pretrained` a fine-tuned
    one as it was before training, without which what needs it is not known. The `judge` of likeness
    is independent of both; the `floor` is what a bag of words reaches on these documents.
    """
    reading = model.read(model.match(embeddings, sentences.lengths))
    predicted = model.labels.decide(reading.probabilities)
    truth = model.labels.decide(targets)
    space, has_families = None, len(model.prototypes.members) > len(model.prototypes)
    # A text in place of a figure says why there is none.
    found: dict[str, float | str] = {}
    found["ids_only_accuracy"] = _agreement(model, reading.with_ids_only(), truth)
    if encode is not None:
        texts = [member.sentence for member in model.prototypes.members]
        shown = model.add_words(encode(texts), texts)
        space = compare_before_training(model, sentences, embeddings, shown, pretrained=pretrained)
        again = model.match(Embeddings(shown, np.arange(len(shown))), np.ones(len(shown), np.int64))
        replaced = again.take(reading.members, reading.lengths)
        found["substitution_agreement"] = _agreement(model, replaced, predicted)
        error = (model.embed(shown) - model.network.members).abs().max()
        found["prototype_error"] = float(error)
        found["duplicate_prototypes"] = measure_duplicates(model, space)
        found |= measure_semantics(space, reading)
    if judge is not None:
        found |= measure_match_quality(model, sentences, reading, space, judge)
        if has_families:
            found["family_coherence"] = measure_coherence(model, judge)
    if has_families:
        found["family_spread"] = _spread(model, reading, targets)
    if model.familiar:
        found["unfamiliar_sentences"] = float(reading.unfamiliar.mean())
    free, kept = model.training.free_accuracy, model.training.validation_accuracy
    found["projection_drop"] = _NOT_RECORDED if free is None else free - kept
    found |= _calibration(model, reading, targets)
    found |= _erasure(model, reading)
    found["shuffled_accuracy"] = _agreement(model, reading.shuffle(seed=0), truth)
    found |= _usage(model, reading)
    found |= _automata(model, reading, predicted)
    return Evaluation(
        **vars(measure_figures(model.labels, targets, reading.probabilities, floor)),
        n_prototypes=len(model.prototypes),
        n_members=len(model.prototypes.members),
        measures=tuple(_measure(name, value, judge_name) for name, value in found.items()),
    )


def _measure(name: str, value: float | str, judge_name: str) -> Measure:
    meaning = _MEANINGS[name].replace("{judge}", f" ({judge_name})" if judge_name else "")
    if isinstance(value, str):
        return Measure(name, None, meaning + value)
    return Measure(name, value, meaning)


def _agreement(model: Model, reading: Reading, labels: NDArray[np.bool_]) -> float:
    """Read documents again, and return the share that are given exactly these labels."""
    decided = model.labels.decide(model.read(reading).probabilities)
    return float((decided == labels).all(axis=1).mean())


def _calibration(
    model: Model, reading: Reading, targets: NDArray[np.float32]
) -> dict[str, float | str]:
    """Compare scores with class rates: as a correlation, and as a mean difference by use."""
    counts, rates = reading.class_rates(targets, len(model.prototypes))
    scores = model.prototypes.scores
    first = 1 if rates.shape[1] == 2 and model.labels.task == "multiclass" else 0
    used = counts > 0
    counts, rates, scores = counts[used], rates[used, first:], scores[used, first:]
    error = float(counts @ np.abs(rates - scores).mean(axis=1) / counts.sum())
    rates, scores = rates.ravel(), scores.ravel()
    correlation: float | str = ""
    if len(rates) >= 3 and rates.std() > 0 and scores.std() > 0:
        correlation = float(np.corrcoef(rates, scores)[0, 1])
    return {"score_calibration": correlation, "score_error": error}


def _spread(model: Model, reading: Reading, targets: NDArray[np.float32]) -> float | str:
    """Return how far the class rates of a family's members lie apart, the mean of all families.

    In each it is their standard deviation, by use, without what chance adds to rates of so few
    documents, each of which counts once for a member.
    """
    document, family = reading.documents, model.prototypes.families
    _, first = np.unique(np.stack([document, reading.members]), axis=1, return_index=True)
    once = reading.take(np.sort(first), np.bincount(document[first], minlength=len(targets)))
    members = replace(once, prototypes=once.members)
    counts, rates = members.class_rates(targets, len(model.prototypes.members))
    _, means = once.class_rates(targets, len(model.prototypes))
    variance = np.square(rates - means[family]).mean(axis=1)
    chance = (rates * (1 - rates)).mean(axis=1) / np.maximum(counts - 1, 1)
    use = np.where(counts > 1, counts, 0)
    sums = np.bincount(family, use * (variance - chance), len(means))
    weights = np.bincount(family, use, len(means))
    if not weights.any():
        return " Needs a member in two documents."
    return float(np.sqrt(np.maximum(0.0, sums / np.maximum(weights, 1)))[weights > 0].mean())


def _erasure(model: Model, reading: Reading) -> dict[str, float | str]:
    """Measure comprehensiveness and sufficiency, as in the ERASER benchmark, on whole sentences.

    A sentence is as important as what its document's leading class loses without it alone.
    """
    chosen = np.flatnonzero((reading.lengths >= 2) & (reading.lengths <= _ERASURE_SENTENCES))
    if not len(chosen):
        needs = f" Needs documents of 2 to {_ERASURE_SENTENCES} sentences."
        return {"comprehensiveness": needs, "sufficiency": needs}
    if len(chosen) > _ERASURE_DOCUMENTS:
        chosen = np.random.default_rng(0).choice(chosen, _ERASURE_DOCUMENTS, replace=False)
    # Read again: a document's probabilities depend, by rounding, on those beside it.
    whole = model.read(reading.part(np.isin(np.arange(len(reading.lengths)), chosen)))
    # Of each document the fifth of the sentences with the largest effects, at least one.
    order = np.lexsort((-leave_one_out_effects(model, whole), whole.documents))
    rank = np.arange(len(order)) - np.repeat(whole.offsets[:-1], whole.lengths)
    most = np.maximum(1, whole.lengths // _IMPORTANT_ONE_IN)
    important = np.zeros(len(order), np.bool_)
    important[order] = rank < np.repeat(most, whole.lengths)
    leading = whole.probabilities.argmax(axis=1)[:, None]

    def lost(kept: NDArray[np.bool_]) -> float:
        lengths = np.add.reduceat(kept, whole.offsets[:-1], dtype=np.int64)
        rest = model.read(whole.take(np.flatnonzero(kept), lengths))
        fall = whole.probabilities - rest.probabilities
        return float(np.take_along_axis(fall, leading, axis=1).mean(dtype=np.float64))

    return {"comprehensiveness": lost(~important), "sufficiency": lost(important)}


def _usage(model: Model, reading: Reading) -> dict[str, float | str]:
    counts = np.bincount(reading.prototypes, minlength=len(model.prototypes))
    share = counts / counts.sum()
    used = share[share > 0]
    return {
        "top_usage": float(share.max()),
        "usage_perplexity": float(np.exp(-(used * np.log(used)).sum())),
        "unused_prototypes": float((counts == 0).mean()),
    }


def _automata(
    model: Model, reading: Reading, predicted: NDArray[np.bool_]
) -> dict[str, float | str]:
    if not model.automata:
        missing = " The model holds no automata."
        return {"automaton_fidelity": missing, "automaton_states": missing}
    tree, shares = grow_tree(reading, predicted[:, 0]), []
    for label, automaton in enumerate(model.automata):
        accepting = np.array([state.accepting for state in automaton.states])
        members = replace(tree, inside=predicted[:, label])
        shares.append(members.fidelity(np.array(automaton.transitions), automaton.start, accepting))
    most = max(len(automaton.states) for automaton in model.automata)
    return {"automaton_fidelity": float(np.mean(shares)), "automaton_states": float(most)}


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
) -> list[Robustness]:
    """Measure a model on documents, none empty, as they are and under each kind of noise."""
    truth, before, found = model.labels.decide(targets), read(texts), []
    for name in ["none", *perturbations]:
        noisy = [perturb(text, name) for text in texts]
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
    "case": lambda text, draw: draw.choice([str.lower, str.upper])(text),
    "punctuation": _change_punctuation,
    "synonyms": _change_words,
}


def _like_trajectories(before: Reading, after: Reading) -> float:
    ids = range(int(max(before.prototypes.max(), after.prototypes.max())) + 1)
    pairs = zip(before.paths(ids), after.paths(ids), strict=True)
    matchers = (SequenceMatcher(None, a.tolist(), b.tolist(), autojunk=False) for a, b in pairs)
    return float(np.mean([matcher.ratio() for matcher in matchers]))
