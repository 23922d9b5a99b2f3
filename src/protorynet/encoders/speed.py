"""The encoders on this machine, and how many sentences a second each of them reads."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from protorynet.encoders.folder import first_line
from protorynet.encoders.protocol import Encoder
from protorynet.encoders.registry import listed_folders, load_encoder
from protorynet.encoders.static import StaticEncoder
from protorynet.encoders.static_cache import cached_static
from protorynet.encoders.variants import VARIANTS, split_variant
from protorynet.errors import ProtoryNetError
from protorynet.progress import progress_bar

__all__ = ["SENTENCES", "ListedEncoder", "list_encoders", "sentences_per_second"]

_OPENINGS = (
    "The room was clean",
    "We arrived late in the evening",
    "After the first half hour of the film nobody in the audience was laughing any more",
    "The staff at the front desk remembered our names",
    "I have read the book twice and was curious what the director would make of it",
    "Breakfast was served from seven",
    "The battery lasts for two days",
    "Nothing in the description had prepared us for the noise of the street below the window",
)
_ENDINGS = (
    ".",
    ", and we would come back.",
    ", which is more than can be said of the other places we tried in the same week.",
    ", but the price was not right.",
    ", so I asked for my money back and got it without any discussion.",
    "!",
    ", although the pictures on the web page promise something rather different to everybody.",
    "; my sister did not agree.",
)
SENTENCES = [opening + ending for opening, ending in product(_OPENINGS, _ENDINGS)]
"""Made-up sentences of 5 to 35 words, always the same, to time encoders with."""

_LICENCE = re.compile(r"\A---\s.*?^license:\s*([\w.+-]+)\s*$", re.DOTALL | re.MULTILINE)
_LARGEST_CARD = 200_000


@dataclass(frozen=True)
class ListedEncoder:
    """An encoder that `load_encoder` finds on this machine by name.

    Parameters
    ----------
    name
        The name.
    dimension, window
        Components of a vector; most tokens read of a sentence.
    sentences_per_second
        As measured now.
    relative
        The same as a multiple of its float32 form's.
    bytes_on_disk
        Size of its weights.
    licence
        Licence of the weights, where the folder tells.
    remedy
        What to do before it can be used, where it cannot; the figures are then None.
    """

    name: str
    dimension: int | None = None
    window: int | None = None
    sentences_per_second: float | None = None
    relative: float | None = None
    bytes_on_disk: int | None = None
    licence: str | None = None
    remedy: str | None = None


def sentences_per_second(encoder: Encoder, *, seconds: float = 1.0) -> float:
    """Return how many of `SENTENCES` an encoder reads in a second: the best of several passes.

    Parameters
    ----------
    encoder
        The encoder.
    seconds
        How long to measure, about; at least two passes are made.
    """
    encoder.encode(SENTENCES[:4])
    until, fewest, best = time.perf_counter() + seconds, 2, 0.0
    while fewest > 0 or time.perf_counter() < until:
        start = time.perf_counter()
        encoder.encode(SENTENCES)
        best = max(best, len(SENTENCES) / (time.perf_counter() - start))
        fewest -= 1
    return best


def list_encoders(*, device: str = "auto", progress: bool = False) -> list[ListedEncoder]:
    """Measure the encoders of this machine: minilm in all its forms, and those in folders.

    Parameters
    ----------
    device
        Where those that can compute on a GPU do.
    progress
        Whether to show progress on standard error.
    """
    names = [
        "minilm",
        *(f"minilm:{variant}" for variant in VARIANTS),
        *sorted(listed_folders().keys() - {"minilm"}),
    ]
    listed: list[ListedEncoder] = []
    with progress_bar("Measuring encoders", len(names), enabled=progress) as advance:
        for name in names:
            listed.append(_measured(name, device, listed))
            advance(1)
    return listed


def _measured(name: str, device: str, listed: list[ListedEncoder]) -> ListedEncoder:
    try:
        encoder = _ready(name, device)
        rate = sentences_per_second(encoder) if encoder is not None else 0.0
    except ProtoryNetError as error:
        return ListedEncoder(name, remedy=str(error), licence=_licence(name))
    except Exception as error:
        # One bad folder, which may end in nearly every type there is, must not hide the others.
        remedy = f"it cannot read sentences ({first_line(error)}); copy or fetch it again."
        return ListedEncoder(name, remedy=remedy, licence=_licence(name))
    if encoder is None:
        remedy = "made when it is first used, in about a minute"
        return ListedEncoder(name, remedy=remedy, licence=_licence(name))
    plain = rate if split_variant(name)[1] is None else listed[0].sentences_per_second
    return ListedEncoder(
        name,
        dimension=getattr(encoder, "dimension", None),
        window=getattr(encoder, "window", None),
        sentences_per_second=rate,
        relative=rate / plain if plain else None,
        bytes_on_disk=_bytes_on_disk(encoder),
        licence=_licence(name),
    )


def _ready(name: str, device: str) -> Encoder | None:
    """Return an encoder; None where making it would take long."""
    base, variant = split_variant(name)
    if variant != "static":
        return load_encoder(name, device=device, fetch=False)
    return cached_static(load_encoder(base, device="cpu", fetch=False).fingerprint, name=name)


def _bytes_on_disk(encoder: Encoder) -> int | None:
    if isinstance(encoder, StaticEncoder):
        return int(encoder.vectors.nbytes)
    source = getattr(encoder, "source", None)
    return source.stat().st_size if isinstance(source, Path) else None


def _licence(name: str) -> str | None:
    if split_variant(name)[0] == "minilm":
        return "apache-2.0"
    card = listed_folders()[name] / "README.md"
    try:
        found = _LICENCE.search(card.read_text(encoding="utf-8", errors="replace")[:_LARGEST_CARD])
    except OSError:
        return None
    return found[1] if found else None
