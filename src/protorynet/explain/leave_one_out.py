"""What a document loses without each of its sentences, and a match without each of its words."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from protorynet.data import paper_reading
from protorynet.encoders import Encoder
from protorynet.errors import InputError
from protorynet.explain.explanation import Explanation, WordEffect
from protorynet.explain.likeness import Encode
from protorynet.labels import Task
from protorynet.model import Model
from protorynet.network import Reader, pairwise_distance, probabilities, similarity
from protorynet.reading import Reading
from protorynet.threads import one_thread

_VARIANTS_PER_DOCUMENT = 256
_VARIANTS_PER_BATCH = 4_096  # what stays in a processor's cache
_VARIANTS_PER_BATCH_ON_GPU = 65_536
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
_MOST_WORDS = 40  # of one text; the words of a longer one are left out in groups


class _LeftOut(NamedTuple):
    """Runs of sentences: their document, start and size, and the probabilities without each."""

    document: NDArray[np.int64]
    start: NDArray[np.int64]
    size: NDArray[np.int64]
    probabilities: NDArray[np.float32]


@one_thread()
def leave_one_out_effects(
    model: Model, reading: Reading, classes: NDArray[np.int64] | None = None
) -> NDArray[np.float32]:
    """Return, per sentence, the fall of a class's probability without that sentence.

    The class is the leading one of each document, or that in `classes`. A document's only sentence
    is compared with the share of that class in the training data. In a very long document several
    sentences are left out together and share the fall equally.
    """
    leading = reading.probabilities.argmax(axis=1) if classes is None else classes
    whole = reading.probabilities[np.arange(len(leading)), leading]
    frequencies = np.array(model.class_frequencies, np.float32)
    effects = np.empty(len(reading.prototypes), np.float32)
    only = reading.lengths == 1
    effects[reading.offsets[:-1][only]] = whole[only] - frequencies[leading[only]]
    for left_out in read_without_each(model.network.reader, reading, model.labels.task):
        document, start, size, without = left_out
        fall = whole[document] - without[np.arange(len(document)), leading[document]]
        before = np.repeat(start - (np.cumsum(size) - size), size)
        effects[before + np.arange(len(before))] = np.repeat(fall / size, size)
    return effects


def read_without_each(reader: Reader, reading: Reading, task: Task) -> Iterator[_LeftOut]:
    """Read every document of several sentences without each, or without some together."""
    device = reader.head.weight.device
    steps, layers = _Steps(reading, device), _weights(reader.lstm)
    size = -(-reading.lengths // _VARIANTS_PER_DOCUMENT)
    for documents in _batches(reading.lengths, size, device):
        lengths, run = reading.lengths[documents], int(size[documents[0]])
        counts = -(-lengths // run)
        starts = reading.offsets[documents]
        with torch.inference_mode():
            hidden = _read(layers, steps, torch.from_numpy(starts).to(device), lengths, run)
            outputs = probabilities(reader.head(hidden), task).cpu().numpy()
        number, position = np.nonzero(np.arange(len(hidden))[:, None] < counts)
        yield _LeftOut(
            documents[position],
            starts[position] + number * run,
            np.minimum(run, lengths[position] - number * run),
            outputs[number, position],
        )


def _batches(
    lengths: NDArray[np.int64], size: NDArray[np.int64], device: torch.device
) -> Iterator[NDArray[np.int64]]:
    """Group documents whose runs are of one size, the longest first, in bounded memory."""
    variants = _VARIANTS_PER_BATCH if device.type == "cpu" else _VARIANTS_PER_BATCH_ON_GPU
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 1]
    start = 0
    while start < len(order):
        first = order[start]
        most = max(variants // int(-(-lengths[first] // size[first]) + 1), 1)
        batch = order[start : start + most]
        batch = batch[size[batch] == size[first]]
        yield batch
        start += len(batch)


class _Layer(NamedTuple):
    """One layer's weights by input, by state, and its bias; gates side by side."""

    entry: Tensor
    recurrent: Tensor
    bias: Tensor


def _weights(lstm: nn.LSTM) -> list[_Layer]:
    """Bring the gates in the order input, forget, output, content, the last one doubled.

    For tanh(x) = 2σ(2x) − 1, and the sigmoid is several times as fast.
    """
    layers = []
    for number in range(lstm.num_layers):
        by_input, by_state = (getattr(lstm, f"weight_{kind}_l{number}") for kind in ("ih", "hh"))
        bias = getattr(lstm, f"bias_ih_l{number}") + getattr(lstm, f"bias_hh_l{number}")
        layers.append(_Layer(_gates(by_input).T, _gates(by_state).T, _gates(bias)))
    return layers


def _gates(values: Tensor) -> Tensor:
    entry, forget, content, output = values.detach().chunk(4)
    return torch.cat([entry, forget, output, 2 * content])


class _Steps:
    """What the reader's first layer makes of sentences, before it adds what it remembers."""

    def __init__(self, reading: Reading, device: torch.device) -> None:
        self._prototypes = torch.from_numpy(reading.prototypes).to(device)
        self._entries = torch.from_numpy(reading.entries).to(device)[:, None]
        self._dense = None
        if reading.dense is not None:
            self._dense = torch.from_numpy(reading.dense).to(device)

    def gates(self, sentences: Tensor, layer: _Layer) -> Tensor:
        if self._dense is not None:
            return self._dense[sentences] @ layer.entry + layer.bias
        chosen = layer.entry[self._prototypes[sentences]]
        return torch.addcmul(layer.bias, chosen, self._entries[sentences])


def _read(
    layers: list[_Layer], steps: _Steps, starts: Tensor, lengths: NDArray[np.int64], run: int
) -> Tensor:
    """Return the reader's last state of each document without each of its runs, (runs, n, H).

    Up to its run a variant is the whole document, so it starts from the state of that there;
    behind it, all variants of a document see the same sentence at the same time.
    """
    longest, n, hidden = int(lengths[0]), len(lengths), len(layers[0].recurrent)
    runs = -(-longest // run)
    # The whole document first, then the variants in the order in which they start.
    states = torch.zeros(len(layers), 2, 1 + runs, n, hidden, device=starts.device)
    remaining = n - np.searchsorted(lengths[::-1], np.arange(longest), side="right")
    for t, left in enumerate(remaining.tolist()):
        number, inside = divmod(t, run)
        if not inside:
            states[:, :, 1 + number, :left] = states[:, :, 0, :left]
        active = states[:, :, : 1 + number, :left]
        _advance(layers[0], steps.gates(starts[:left] + t, layers[0]), *active[0])
        for layer, below, state in zip(layers[1:], active[:-1, 0], active[1:], strict=True):
            _advance(layer, below @ layer.entry + layer.bias, *state)
    return states[-1, 0, 1:]


def _advance(layer: _Layer, seen: Tensor, hidden: Tensor, cell: Tensor) -> None:
    """Take one step of the LSTM in place."""
    gates = (hidden @ layer.recurrent).add_(seen).sigmoid_()
    entry, forget, output, content = gates.chunk(4, dim=-1)
    cell.mul_(forget).sub_(entry).addcmul_(entry, content, value=2)
    torch.mul(output, torch.sigmoid(2 * cell).mul_(2).sub_(1), out=hidden)


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
    texts = [text for one, other in pairs for text in (one, members[other].sentence)]
    space = _Space(model, encode, texts)
    found = []
    for sentence, position in pairs:
        likeness, words = space.effects(sentence, model.network.members[position])
        # The paper's variant shows sentences that are only near its prototypes, so the effects
        # of their words are measured from the sentence shown.
        _, others = space.effects(members[position].sentence, space.point(sentence))
        found.append(Rationale(likeness, words, others))
    return found


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


class _Space:
    """Texts, and what is left of each without a word, as points that the model compares."""

    def __init__(self, model: Model, encode: Encode, texts: list[str]) -> None:
        self._model = model
        self._spans = {text: word_spans(text, _MOST_WORDS) for text in texts}
        variants = [
            _as_encoded(model, variant)
            for text, spans in self._spans.items()
            for variant in (text, *(leave_out(text, span) for span in spans))
        ]
        # Where there is nothing to read, there is no point.
        read = [text for text in dict.fromkeys(variants) if text]
        self._numbers = {text: number for number, text in enumerate(read)}
        self._points = torch.empty(0, 0)
        if read:
            vectors = model.add_words(np.asarray(encode(read), np.float32), read)
            self._points = model.embed(vectors).double()

    def point(self, text: str) -> Tensor:
        return self._points[self._numbers[_as_encoded(self._model, text)]]

    @torch.inference_mode()
    def effects(self, text: str, target: Tensor) -> tuple[float, tuple[WordEffect, ...]]:
        """Return how similar a text is to a point, and what each of its words does for that."""
        spans, settings = self._spans[text], self._model.settings
        variants = [text, *(leave_out(text, span) for span in spans)]
        numbers = [self._numbers.get(_as_encoded(self._model, variant)) for variant in variants]
        known = self._points[[number for number in numbers if number is not None]]
        distances = pairwise_distance(known, target.double()[None], settings.distance)
        near = iter(similarity(distances[:, 0], settings.psi_squared).tolist())
        whole, *without = (0.0 if number is None else next(near) for number in numbers)
        words = (
            WordEffect(text[start:end], start, end, whole - less)
            for (start, end), less in zip(spans, without, strict=True)
        )
        return whole, tuple(words)


def _as_encoded(model: Model, text: str) -> str:
    """Return what the encoder reads of a text."""
    return paper_reading(text) if model.splitter.rule == "paper" else text


def word_spans(text: str, most: int) -> list[Span]:
    """Return where words are, punctuation only if alone; more than `most` are grouped."""
    words = [piece for start, end in _runs(text) for piece in _pieces(text, start, end)]
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


def _runs(text: str) -> Iterator[Span]:
    """Yield runs of characters of one kind that hold a word, or several without spaces."""
    kinds = [_kind(mark) for mark in text]
    for at, mark in enumerate(text):
        if at and (mark in _JOINERS or unicodedata.category(mark)[0] == "M"):
            kinds[at] = kinds[at - 1]
        elif mark in _INNER and kinds[at - 1 : at + 2 : 2] == ["letter", "letter"]:
            kinds[at] = "letter"
    start = 0
    for kind, marks in groupby(kinds):
        end = start + sum(1 for _ in marks)
        if kind:
            yield start, end
        start = end


def _kind(mark: str) -> str:
    """Return what a character is part of: "letter", "symbol", a spaceless script, or nothing."""
    code, category = ord(mark), unicodedata.category(mark)
    for number, (low, high, _) in enumerate(_SPACELESS):
        if low <= code <= high and category[0] in "LMN":
            return f"spaceless {number}"
    if category[0] in "LMN":
        return "letter"
    return "symbol" if category[0] == "S" else ""


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """Cut a run of a script without spaces; marks stay with the letter they sit on."""
    code = ord(text[start])
    size = next((size for low, high, size in _SPACELESS if low <= code <= high), 0)
    if not size:
        yield start, end
        return
    letters = [p for p in range(start, end) if unicodedata.category(text[p])[0] != "M"] or [start]
    cuts = [start, *letters[size::size], end]
    yield from pairwise(cuts)
