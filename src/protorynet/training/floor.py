"""The floor that a model is compared with: a bag of words of the same training documents."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from protorynet.data import Sentences, split_documents
from protorynet.labels import check_labels
from protorynet.model import Model
from protorynet.training.bag_of_words import learn_bag
from protorynet.training.batches import Corpus
from protorynet.training.weights import weigh_documents

Part = tuple[Sequence[str], NDArray[np.int64], NDArray[np.float32]]
"""The sentences of some documents, how many each has, at least one, and their targets."""


def read_floor(model: Model, texts: Sequence[str], y: Any, test: Part) -> float | None:
    """Return the accuracy, on test documents, of a bag of words of labelled texts."""
    check_labels(y, len(texts))
    targets = model.labels.encode(y)
    given: Sentences = split_documents(texts, splitter=model.splitter, on_empty="skip")
    filled = given.filled
    return measure_floor(model, (given.texts, given.lengths[filled], targets[filled]), test)


def measure_floor(model: Model, train: Part, test: Part) -> float | None:
    """Return the accuracy of a bag of words on other documents; None if all words are unique."""
    numbers: dict[str, int] = {}
    corpora: list[Corpus] = []
    for sentences, lengths, targets in (train, test):
        index = np.array([numbers.setdefault(text, len(numbers)) for text in sentences])
        corpora.append(Corpus(*map(torch.from_numpy, (index, lengths, targets))))
    weights = weigh_documents(train[2], None, model.settings.class_weight)
    if weights is not None:
        corpora[0] = replace(corpora[0], weights=torch.from_numpy(weights))
    learned_from, held_out = corpora
    bag = learn_bag(list(numbers), learned_from, held_out, model.labels)
    return None if bag is None else bag.accuracy
