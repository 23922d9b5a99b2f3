"""What a prediction loses without each of a document's parts: an explanation from outside."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from protorynet.data import Splitter, split_documents
from protorynet_lab.baselines.contract import Evidence

__all__ = ["leave_one_out"]

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def leave_one_out(
    text: str,
    place: int,
    probabilities: Callable[[list[str]], NDArray[np.float32]],
    *,
    splitter: Splitter = "sentencex",
) -> tuple[list[Evidence], str]:
    """Leave out one sentence after the other, or one word where there is one sentence only.

    Parameters
    ----------
    text
        The document.
    place
        Column of the class in question.
    probabilities
        The model; it is called once, with all shortened documents.
    splitter
        How documents are split.

    Returns
    -------
    What each part is worth, and a sentence that says how this was found.

    Examples
    --------
    >>> def length(texts):
    ...     return np.array([[float(len(text))] for text in texts])
    >>> [(part.text, part.weight) for part in leave_one_out("Good. Fair!", 0, length)[0]]
    [('Good.', 5.0), ('Fair!', 5.0)]
    """
    found = split_documents([text], splitter=splitter, on_empty="skip")
    spans, kind = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True)), "sentence"
    if len(spans) < 2:
        spans, kind = [match.span() for match in _WORD.finditer(text)], "word"
    shortened = [text[:start] + text[end:] for start, end in spans]
    values = probabilities([text, *shortened])[:, place]
    effects = (values[0] - values[1:]).tolist()
    evidence = [
        Evidence(text[start:end], effect)
        for (start, end), effect in zip(spans, effects, strict=True)
    ]
    return evidence, (
        f"A {kind}'s weight is the probability that the predicted class loses when that {kind} "
        "alone is left out; it was measured from outside and does not say how the model decides."
    )
