"""The reasons of a prediction: what every view of a document is drawn from.

Nothing here needs torch, so that exported models can be explained without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from protorynet.automaton import Automaton
from protorynet.data import Sentences, Splitter
from protorynet.labels import LabelCode
from protorynet.prototypes import Prototypes
from protorynet.reading import Reading
from protorynet.records import plain
from protorynet.words import WordWeights

_EQUAL_PROBABILITIES = 1e-3  # those nearer than this are shown as equal
_VARIANTS_PER_DOCUMENT = 256  # that are read to measure what its sentences do
_SENTENCES_AT_ONCE = 8_192  # of variants of several documents


@dataclass(frozen=True)
class WordEffect:
    """A word, or a few words together, with its position in a sentence and its effect.

    The effect is the similarity with it minus the similarity without it: above 0 where it makes
    the two sentences alike, below 0 where it sets them apart.
    """

    text: str
    start: int
    end: int
    effect: float


@dataclass(frozen=True)
class SentenceExplanation:
    """One step of a trajectory: a sentence, the prototype it is matched to, and what it does."""

    text: str  # without wraps and markup; with its character offsets in the document
    start: int
    end: int
    prototype: int  # id of the active prototype
    prototype_sentence: str  # that of the member that this sentence is like
    similarity: float  # exp(−d/ψ²) between the two
    runner_up: int | None  # the same of the nearest member of another prototype, if there is one
    runner_up_similarity: float | None
    runner_up_sentence: str | None = field(default=None, kw_only=True)
    member: int = field(default=0, kw_only=True)  # its id
    headline: str = field(default="", kw_only=True)  # the prototype's name, or its headline
    unfamiliar: bool = field(default=False, kw_only=True)  # so that its match says little
    scores: dict[str, float]  # the active prototype's for each class
    running: dict[str, float]  # the model's probabilities after this sentence
    effect: float  # by which the predicted class's probability falls when it is left out
    words: tuple[WordEffect, ...] = ()  # of both sentences; empty where nobody asked for them
    prototype_words: tuple[WordEffect, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet explain --json` prints them."""
        values = dict(vars(self))
        for name in ("words", "prototype_words"):
            found = values.pop(name)
            values |= {name: [dict(vars(word)) for word in found]} if self.words else {}
        return values


@dataclass(frozen=True)
class DecidingPattern:
    """The beginning of a document after which the model nearly always gives its class."""

    label: str
    prototypes: tuple[int, ...]  # of the first sentences, after which anything may follow
    sentences: tuple[str, ...]  # their captions
    support: int  # training documents looked at that begin so
    purity: float  # share of these that the model gives the class

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet explain --json` prints them."""
        return dict(plain(self))


@dataclass(frozen=True)
class AutomatonReading:
    """How the automaton of the most probable class reads a document."""

    label: str
    states: tuple[int, ...]  # numbers: the start, and one after each sentence
    accepts: bool  # whether it gives the class
    agrees: bool  # with the model; if not, it explains nothing of this document
    fidelity: float  # share of the held-out documents on which the two agree
    pattern: DecidingPattern | None  # that decides, if one matches and the two agree

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet explain --json` prints them, without the pattern."""
        values = {**vars(self), "states": list(self.states)}
        del values["pattern"]
        return values


@dataclass(frozen=True)
class Explanation:
    """A prediction with its trajectory.

    - `document`, `label`: the original text, and the predicted class, or several: ``"a, b"``.
    - `probabilities`, `sentences`: of each class, and the steps of the trajectory in reading order.
    - `automaton`: how that of the most probable class reads it; None where the model holds none.
    - `reader_is_behind`: whether prototypes were edited by hand after the reader was last trained,
      so that it decides with prototypes that it was not trained on.
    """

    document: str
    label: str
    probabilities: dict[str, float]
    sentences: tuple[SentenceExplanation, ...]
    automaton: AutomatonReading | None = None
    reader_is_behind: bool = False

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the model's outputs."""
        return tuple(self.probabilities)

    @property
    def leading_class(self) -> str:
        """The most probable class: the one whose line a picture draws strongest."""
        return max(self.probabilities, key=lambda name: self.probabilities[name])

    @property
    def pattern(self) -> DecidingPattern | None:
        """The pattern that decided, if one did and is known."""
        return None if self.automaton is None else self.automaton.pattern

    @property
    def level_with(self) -> tuple[str, ...]:
        """The other classes that are as probable as the predicted one, so that chance decided."""
        predicted = self.probabilities.get(self.label)
        if predicted is None:
            return ()
        return tuple(
            name
            for name, probability in self.probabilities.items()
            if name != self.label and abs(probability - predicted) < _EQUAL_PROBABILITIES
        )

    @property
    def has_words(self) -> bool:
        """Whether the words that make sentences like their prototypes are known."""
        return any(sentence.words for sentence in self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet explain --json` prints them."""
        return {
            "label": self.label,
            "probabilities": dict(self.probabilities),
            "sentences": [sentence.to_dict() for sentence in self.sentences],
            "automaton": None if self.automaton is None else self.automaton.to_dict(),
            "pattern": None if self.pattern is None else self.pattern.to_dict(),
            "reader_is_behind": self.reader_is_behind,
        }

    def to_pandas(self) -> Any:
        """Return a table with one row per sentence."""
        import pandas as pd

        return pd.json_normalize([sentence.to_dict() for sentence in self.sentences], sep=" ")

    def to_html(self, path: str | Path) -> None:
        """Write a self-contained page that shows the trajectory."""
        from protorynet.report import explanation_page

        explanation_page([self], Path(path))

    def to_svg(self, path: str | Path | None = None, *, width: int = 960) -> str:
        """Return the trajectory with the text beside it as an SVG; write it to `path` if given.

        The width is in pixels, at least 320; below 640 the text stands beneath the trajectory.
        """
        from protorynet.report import explanation_svg, write_view

        picture = explanation_svg(self, width=width)
        if path is not None:
            write_view(Path(path), picture, "picture")
        return picture

    def to_png(self, path: str | Path, *, width: int = 960, scale: float = 2.0) -> None:
        """Write the picture of `to_svg` as a PNG; needs ``protorynet[png]`` and a font.

        One pixel of the picture as laid out becomes `scale` pixels of the file.
        """
        from protorynet.report import picture_png, write_view

        picture = picture_png(self.to_svg(width=width), scale=scale)
        write_view(Path(path), picture, "picture")

    def _repr_html_(self) -> str:
        from protorynet.report import render

        return render("explanation_fragment.html", explanation=self)

    def __str__(self) -> str:
        from protorynet.report import print_explanation, printed

        return printed(print_explanation, self)


class ModelFacts(Protocol):
    """What is known of a model whatever computes it: a `Model`, or an exported one."""

    @property
    def labels(self) -> LabelCode:
        """The classes."""

    @property
    def prototypes(self) -> Prototypes:
        """The prototypes, in the order that a `Reading` counts them."""

    @property
    def splitter(self) -> Splitter:
        """How texts are split."""

    @property
    def class_frequencies(self) -> tuple[float, ...]:
        """Share of each class in the training documents."""

    @property
    def reader_is_behind(self) -> bool:
        """Whether prototypes were edited after the reader was last trained."""

    @property
    def familiar(self) -> float:
        """The least similarity of a familiar sentence to a member; 0 where it is not known."""

    @property
    def words(self) -> WordWeights | None:
        """What words tell of the label, where the model looks at them."""

    @property
    def automata(self) -> tuple[Automaton, ...]:
        """What the model does for each class; none at all where they are not known."""


def falls_without_each(
    reading: Reading,
    frequencies: Sequence[float],
    read: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]],
    classes: NDArray[np.int64] | None = None,
) -> NDArray[np.float32]:
    """Return, per sentence, the fall of a class's probability without that sentence.

    The class is the leading one of each document, or that in `classes`. A document's only sentence
    is compared with the share of that class in the training data. In a very long document several
    sentences are left out together and share the fall. `read` gives the probabilities of documents
    made of the sentences at some positions, of such lengths.
    """
    leading = reading.probabilities.argmax(axis=1) if classes is None else classes
    whole = reading.probabilities[np.arange(len(leading)), leading]
    lengths, starts = reading.lengths, reading.offsets[:-1]
    effects = np.repeat(whole - np.array(frequencies, np.float32)[leading], lengths)
    several = np.flatnonzero(lengths > 1)
    size = -(-lengths // _VARIANTS_PER_DOCUMENT)
    work = np.cumsum((lengths * -(-lengths // size))[several]) // _SENTENCES_AT_ONCE
    falls: list[NDArray[np.floating]] = [np.zeros(0)]
    for documents in np.split(several, np.flatnonzero(np.diff(work)) + 1) if len(several) else ():
        runs = [np.arange(lengths[document]) // size[document] for document in documents]
        kept = [run != np.arange(run[-1] + 1)[:, None] for run in runs]
        pairs = zip(starts[documents], kept, strict=True)
        sentences = np.concatenate([start + variants.nonzero()[1] for start, variants in pairs])
        without = read(sentences, np.concatenate([variants.sum(axis=1) for variants in kept]))
        owner = np.repeat(documents, [len(variants) for variants in kept])
        sizes = np.concatenate([np.bincount(run) for run in runs])
        fall = (whole[owner] - without[np.arange(len(owner)), leading[owner]]) / sizes
        falls.append(np.repeat(fall, sizes))
    effects[np.repeat(lengths > 1, lengths)] = np.concatenate(falls)
    return effects


def explain_reading(
    facts: ModelFacts,
    documents: Sequence[str],
    sentences: Sentences,
    reading: Reading,
    effects: NDArray[np.float32],
) -> list[Explanation]:
    """Put explanations together from what a model did, and each sentence's effect."""
    steps = _explain_sentences(facts, sentences, reading, effects)
    automata = _automaton_readings(facts, reading)
    return [
        Explanation(
            document=text,
            label=facts.labels.name_of(probabilities),
            probabilities=dict(zip(facts.labels.names, probabilities.tolist(), strict=True)),
            sentences=tuple(islice(steps, length)),
            automaton=next(automata, None),
            reader_is_behind=facts.reader_is_behind,
        )
        for text, probabilities, length in zip(
            documents, reading.probabilities, reading.lengths.tolist(), strict=True
        )
    ]


def _explain_sentences(
    facts: ModelFacts, sentences: Sentences, reading: Reading, effects: NDArray[np.float32]
) -> Iterator[SentenceExplanation]:
    """Explain all sentences of all documents, one after the other."""
    names, items, members = facts.labels.names, facts.prototypes.items, facts.prototypes.members
    families = facts.prototypes.families.tolist()
    # Plain numbers at once: taking them from arrays one by one would be slower by far.
    for text, start, end, at, similarity, other, next_best, running, effect, strange in zip(
        sentences.written,
        sentences.starts.tolist(),
        sentences.ends.tolist(),
        reading.members.tolist(),
        reading.similarities.tolist(),
        reading.runner_up_members.tolist(),
        reading.runner_up_similarities.tolist(),
        reading.running.tolist(),
        effects.tolist(),
        reading.unfamiliar.tolist(),
        strict=True,
    ):
        active, second, alone = items[families[at]], items[families[other]], at == other
        yield SentenceExplanation(
            text,
            start,
            end,
            active.id,
            members[at].sentence,
            similarity,
            None if alone else second.id,
            None if alone else next_best,
            dict(active.scores),
            dict(zip(names, running, strict=True)),
            effect,
            runner_up_sentence=None if alone else members[other].sentence,
            member=members[at].id,
            headline=active.name or active.sentence,
            unfamiliar=strange,
        )


def _automaton_readings(facts: ModelFacts, reading: Reading) -> Iterator[AutomatonReading]:
    """Let the automaton of each document's most probable class read it too."""
    if not facts.automata:
        return
    captions = {item.id: item.caption for item in facts.prototypes}
    leading = reading.probabilities.argmax(axis=1)
    given = facts.labels.decide(reading.probabilities)[np.arange(len(leading)), leading]
    prototypes = iter(reading.prototypes.tolist())
    for label, gives, length in zip(
        leading.tolist(), given.tolist(), reading.lengths.tolist(), strict=True
    ):
        automaton, steps = facts.automata[label], list(islice(prototypes, length))
        states = automaton.run(steps)
        accepts = automaton.states[states[-1]].accepting
        found = automaton.deciding_pattern(steps) if accepts and gives else None
        pattern = None
        if found is not None:
            sentences = tuple(captions[number] for number in found.prototypes)
            pattern = DecidingPattern(
                automaton.label, found.prototypes, sentences, found.support, found.purity
            )
        yield AutomatonReading(
            automaton.label, states, accepts, accepts == gives, automaton.fidelity, pattern
        )
