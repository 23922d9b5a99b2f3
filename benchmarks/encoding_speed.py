"""Sentences per second of every form of an encoder, all in one run on the same sentences.

The yardstick is plain PyTorch: float32, batches of 32 in the order given, each padded to its
longest sentence. Against it: the package's own batches in float32 and its faster forms. All take
turns, round after round, and the best round of each counts, so that other work on the machine
harms none of them more than the others::

    python benchmarks/encoding_speed.py --data DATA [--sentences 2000] [--threads 1] [--rounds 3]
        [--vectors] [-o docs/performance/encoding.json]

DATA is a folder with hotel.parquet and imdb.parquet. Ratios are of elapsed time and, for machines
that are busy otherwise, of processor time. With --vectors, how far each form's vectors are from
the yardstick's, and how much they depend on the sentences that are encoded together. The picture
lies beside the JSON file, as SVG.
"""

from __future__ import annotations

import os
import platform
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from charts import Bar, report
from measuring import best_times, new_parser
from numpy.typing import NDArray

from protorynet.data import read_table, split_documents
from protorynet.encoders import (
    VARIANTS,
    Encoder,
    TransformerEncoder,
    choose_encoder,
    encode_corpus,
    load_encoder,
)

DATASETS = ("hotel", "imdb")
BATCH = 32
YARDSTICK = "plain PyTorch, batches of 32"
ALONE = 100

Encode = Callable[[], NDArray[np.float32]]


def draw_sentences(data: Path, count: int) -> list[str]:
    """Draw as many distinct sentences from each data set, in no order."""
    drawn: list[str] = []
    dice = random.Random(0)  # noqa: S311
    for name in DATASETS:
        texts = list(read_table(data / f"{name}.parquet", text="text").texts)
        dice.shuffle(texts)
        found = list(dict.fromkeys(split_documents(texts[: count + 10], on_empty="skip").texts))
        dice.shuffle(found)
        drawn += found[: count // len(DATASETS)]
    dice.shuffle(drawn)
    return drawn


def encode_plainly(encoder: TransformerEncoder, sentences: list[str]) -> NDArray[np.float32]:
    """Encode in batches in the order given, each padded to its longest sentence."""
    vectors = []
    with torch.no_grad():
        for start in range(0, len(sentences), BATCH):
            tokens = [
                torch.tensor(each) for each in encoder.tokenize(sentences[start : start + BATCH])
            ]
            ids = torch.nn.utils.rnn.pad_sequence(
                tokens, batch_first=True, padding_value=encoder.pad_token_id
            )
            lengths = torch.tensor([len(each) for each in tokens])
            mask = torch.arange(ids.shape[1]) < lengths[:, None]
            vectors.append(encoder.network(ids, mask.long()))
    return torch.cat(vectors).numpy()


def contenders(name: str, sentences: list[str]) -> tuple[dict[str, Encode], dict[str, Encoder]]:
    """Return what is to be timed, and the encoders among it."""
    plain = load_encoder(name, device="cpu")
    assert isinstance(plain, TransformerEncoder)
    encoders: dict[str, Encoder] = {name: plain}
    for variant in VARIANTS:
        encoders[f"{name}:{variant}"] = load_encoder(f"{name}:{variant}", device="cpu")
    ways: dict[str, Encode] = {YARDSTICK: lambda: encode_plainly(plain, sentences)}
    for key, encoder in encoders.items():
        ways[key] = lambda encoder=encoder: encoder.encode(sentences)  # type: ignore[misc]
    chosen = encoders[choose_encoder("cpu").name] if name == "minilm" else plain
    ways[f"{chosen.name}, encode_corpus"] = lambda: encode_corpus(chosen, sentences).vectors
    return ways, encoders


def compare_vectors(
    encoder: Encoder,
    given: NDArray[np.float32],
    reference: NDArray[np.float32],
    sentences: list[str],
) -> dict[str, float]:
    """Return how far vectors are from the reference, and from those of sentences encoded alone."""
    alone = np.concatenate([encoder.encode([each]) for each in sentences[:ALONE]])
    changes = {"most_change_by_company": float(np.abs(alone - given[:ALONE]).max())}
    # A static encoder's vectors lie in a space of their own.
    if not encoder.name.endswith(":static"):
        cosines = (given * reference).sum(axis=1)
        changes |= {"mean_cosine": float(cosines.mean()), "least_cosine": float(cosines.min())}
    return changes


def main() -> None:
    """Run all, print and write the figures."""
    parser = new_parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--sentences", type=int, default=2_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--vectors", action="store_true")
    options = parser.parse_args()
    # ONNX Runtime's threads follow this variable.
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    torch.set_num_threads(options.threads)
    sentences = draw_sentences(options.data, options.sentences)
    ways, encoders = contenders(options.encoder, sentences)
    best = best_times(ways, options.rounds)
    reference = ways[YARDSTICK]()
    figures: dict[str, dict[str, Any]] = {}
    for name, took in best.items():
        figures[name] = {
            "sentences_per_second": len(sentences) / took.seconds,
            "times": best[YARDSTICK].seconds / took.seconds,
            "times_by_processor": best[YARDSTICK].processor_seconds / took.processor_seconds,
        }
        if options.vectors and name in encoders:
            figures[name] |= compare_vectors(encoders[name], ways[name](), reference, sentences)
    tokens = [len(each) for each in encoders[options.encoder].tokenize(sentences)]  # type: ignore
    result = {
        "sentences": len(sentences),
        "mean_tokens": float(np.mean(tokens)),
        "threads": options.threads,
        "rounds": options.rounds,
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "ways": figures,
    }
    title = "Sentences per second (logarithmic), and times the yardstick"
    bars = [
        Bar(name, rate, f"{rate:,.0f}/s, {each['times']:.1f}×")
        for name, each in figures.items()
        for rate in (each["sentences_per_second"],)
    ]
    report(result, options.output, title, bars, logarithmic=True)


if __name__ == "__main__":
    main()
