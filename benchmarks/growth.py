"""How the cost of every stage grows with the number of sentences.

Each stage runs in a process of its own, at 1,000, 10,000 and 100,000 sentences (and a million with
--large), on made-up embeddings: themes of unit length with noise, in documents of eight sentences.
Written are seconds and peak memory, the slopes of time over sentences on logarithmic axes, and the
slope that n log n has over the same sizes::

    python benchmarks/growth.py [--large] [--device cuda] [--only kmedoids] [-o FILE]

A slope of 1 is proportional growth. Small sizes are ruled by fixed costs, and k-medoids looks at
all pairs up to 4,096 sentences; so `last_slope`, between the two largest sizes, is what tells.
Encoding takes as long per sentence whatever their number: at most --encoded sentences are encoded
by the real encoder, and the time is scaled. The picture lies beside the JSON file, as SVG.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from charts import Picture, new_picture, write_figure
from measuring import measure, new_parser, run_apart, wait
from numpy.typing import NDArray

from protorynet.encoders import Embeddings, load_encoder
from protorynet.explain import learn_automaton
from protorynet.labels import LabelCode
from protorynet.model import Model
from protorynet.network import Adapter, Centring, ProtoryNetwork, Reader
from protorynet.prototypes import distinct_candidates, k_medoids
from protorynet.settings import Settings
from protorynet.training import (
    AdaptedSource,
    Corpus,
    FrozenSource,
    Run,
    Stage,
    adam,
    batch_loss,
    centre_vectors,
    evenly_chosen,
    project_prototypes,
    train_one_epoch,
)
from protorynet.training.bag_of_words import learn_bag, learn_words
from protorynet.training.families import train_families

DIMENSION, PROTOTYPES, THEMES, SENTENCES = 384, 200, 300, 8
SIZES = (1_000, 10_000, 100_000)
LARGE = 1_000_000
SETTINGS = Settings(n_prototypes=PROTOTYPES)
DEVICE = torch.device("cpu")  # where networks are trained


def vectors_of(n: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Make unit embeddings around themes, and say which theme each has."""
    random = np.random.default_rng(seed)
    themes = np.random.default_rng(1).standard_normal((THEMES, DIMENSION), dtype=np.float32)
    theme = random.integers(THEMES, size=n)
    vectors = np.empty((n, DIMENSION), dtype=np.float32)
    for start in range(0, n, 16_384):  # so that no second array of this size is ever made
        part = themes[theme[start : start + 16_384]]
        part += random.standard_normal(part.shape, dtype=np.float32)
        vectors[start : start + 16_384] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return vectors, theme


def texts_of(n: int) -> list[str]:
    """Make sentences, most of them fit to be prototypes and some of them twice."""
    rooms = ("room", "bed", "breakfast", "film", "plot", "waiter", "pool", "story", "desk", "view")
    ways = ("clean", "cold", "slow", "lovely", "loud", "dull", "small", "friendly", "dark", "fine")
    return [
        f"The {rooms[i % 10]} on our {i % (n // 2 + 1)} day was {ways[i // 10 % 10]} and quiet."
        for i in range(n)
    ]


def run_of(n: int) -> tuple[Run, ProtoryNetwork]:
    """Set up training on n sentences, with an adapter, as `fit` does."""
    torch.manual_seed(0)
    vectors, theme = vectors_of(n)
    centring = Centring(torch.from_numpy(vectors.mean(axis=0))).to(DEVICE)
    base = centre_vectors(vectors, centring, DEVICE)
    documents = n // SENTENCES
    labels = torch.from_numpy(theme[: documents * SENTENCES].reshape(-1, SENTENCES)[:, 0] % 2)
    corpus = Corpus(
        torch.arange(documents * SENTENCES, device=DEVICE),
        torch.full((documents,), SENTENCES, device=DEVICE),
        torch.nn.functional.one_hot(labels, 2).float().to(DEVICE),
    )
    adapter = Adapter(DIMENSION, SETTINGS.adapter_size, unit_length=True).to(DEVICE)
    run = Run(
        train=corpus,
        validation=corpus.subset(np.arange(min(documents, 100))),
        candidates=torch.arange(n, device=DEVICE),
        source=AdaptedSource(base, adapter),
        settings=SETTINGS,
        labels=LabelCode((0, 1), "multiclass"),
        seed=0,
    )
    reader = Reader(PROTOTYPES, 2, hidden=SETTINGS.reader_size, layers=1, dropout=0.0)
    return run, ProtoryNetwork(base[:PROTOTYPES].clone(), reader, SETTINGS).to(DEVICE)


def time_work(work: Callable[[], object]) -> float:
    """Return how long some work takes."""

    def finish() -> None:
        work()
        wait(DEVICE)

    return measure(finish).seconds


def filtering(n: int, _: int) -> float:
    """Choose the sentences that may become prototypes."""
    texts = texts_of(n)
    return time_work(lambda: distinct_candidates(texts))


def encoding(n: int, most: int) -> float:
    """Encode with the default encoder, at most so many sentences, and scale."""
    encoder, texts = load_encoder("auto", device=DEVICE.type), texts_of(n)[:most]
    encoder.encode(texts[:8])
    return time_work(lambda: encoder.encode(texts)) * n / len(texts)


def clustering(n: int, _: int) -> float:
    """Choose the first prototypes by k-medoids."""
    vectors, _ = vectors_of(n)
    return time_work(lambda: k_medoids(vectors, PROTOTYPES, seed=0))


def training(n: int, _: int) -> float:
    """Train one epoch: at small sizes several passes over the documents, as `fit` does."""
    run, network = run_of(n)
    module = torch.nn.ModuleDict({"network": network, "source": run.source})
    optimiser, stage = adam(module, run), Stage("train", 1, 1)

    def loss(batch: Any) -> torch.Tensor:
        return batch_loss(network, run.source, batch, run.labels.task)

    return time_work(lambda: train_one_epoch(module, run, optimiser, stage, 0, loss))


def learning_words(n: int, _: int) -> float:
    """Learn what words tell of the label, three times without a third of the documents."""
    run, _ = run_of(n)
    texts = texts_of(n)
    fold = np.arange(len(run.train)) % 3

    def work() -> None:
        bag = learn_bag(texts, run.train, run.validation, run.labels)
        assert bag is not None
        learn_words(bag, fold)

    return time_work(work)


def grouping(n: int, _: int) -> float:
    """Learn families of as many members as there may be, one epoch of each network."""
    run, _ = run_of(n)
    settings = Settings(epochs=1, retrain_epochs=1)
    run = replace(run, source=FrozenSource(run.source.base), settings=settings)
    begin = time.perf_counter()
    trained = train_families(run)
    print(f"           {trained.seconds}", file=sys.stderr)
    return time.perf_counter() - begin


def projecting(n: int, _: int) -> float:
    """Find the real sentences that stand for the prototypes."""
    run, network = run_of(n)
    return time_work(lambda: project_prototypes(network, run))


def predicting(n: int, _: int) -> float:
    """Match sentences to prototypes and read the trajectories, encoding aside."""
    model = small_model()
    vectors, _ = vectors_of(n)
    embeddings = Embeddings(vectors, np.arange(n))
    lengths = np.full(n // SENTENCES, SENTENCES)
    return time_work(lambda: model.read(model.match(embeddings, lengths)))


def summarising(n: int, _: int) -> float:
    """Learn an automaton as `fit` does, from at most 5,000 documents spread over all."""
    model = small_model()
    vectors, _ = vectors_of(n)
    lengths = np.full(n // SENTENCES, SENTENCES)

    def work() -> None:
        chosen = evenly_chosen(lengths)
        sentences = (chosen[:, None] * SENTENCES + np.arange(SENTENCES)).ravel()
        some = Embeddings(vectors[sentences], np.arange(len(sentences)))
        learn_automaton(model, model.match(some, lengths[chosen]), model.labels.names[1])

    return time_work(work)


def small_model() -> Model:
    """Fit a model on a few hundred documents of the same themes."""
    from protorynet import ProtoryNetClassifier

    vectors, theme = vectors_of(300 * SENTENCES, seed=7)
    settings = Settings(epochs=4, retrain_epochs=4)
    classifier = ProtoryNetClassifier(
        "precomputed", settings=settings, device=DEVICE.type, cache=False
    )
    labels = (theme.reshape(-1, SENTENCES)[:, 0] % 2).tolist()
    return classifier.fit(list(vectors.reshape(-1, SENTENCES, DIMENSION)), labels).model_


STAGES: dict[str, Callable[[int, int], float]] = {
    "filter": filtering,
    "encode": encoding,
    "kmedoids": clustering,
    "words": learning_words,
    "families": grouping,
    "epoch": training,
    "project": projecting,
    "predict": predicting,
    "automaton": summarising,
}


def measure_stage(stage: str, n: int, options: argparse.Namespace) -> dict[str, float]:
    """Run one stage at one size in a fresh process."""
    words = ["--stage", stage, "--sentences", n, "--encoded", options.encoded]
    words += ["--threads", options.threads, "--device", options.device]
    point: dict[str, float] = run_apart(__file__, *words, threads=options.threads)
    print(f"{stage:10} {n:>9,} {point['seconds']:9.3f} s {point['peak_mb']:8.0f} MB", flush=True)
    return point


def slope(points: list[tuple[float, float]]) -> float:
    """Return the least-squares slope of the logarithms."""
    across, up = np.log(np.array(points).T)
    return float(np.polyfit(across, up, 1)[0])


def summary(points: list[dict[str, float]]) -> dict[str, Any]:
    """Return the points with their slopes and that of n log n."""
    times = [(point["n"], max(point["seconds"], 1e-6)) for point in points]
    ideal = [(n, n * math.log(n)) for n, _ in times]
    result: dict[str, Any] = {"points": points}
    if len(points) > 1:
        result |= {"slope": slope(times), "last_slope": slope(times[-2:])}
        result |= {"n_log_n_slope": slope(ideal), "last_n_log_n_slope": slope(ideal[-2:])}
        result["no_worse_than_n_log_n"] = result["last_slope"] <= result["last_n_log_n_slope"]
    return result


def draw(stages: dict[str, dict[str, Any]]) -> Picture:
    """Draw time over sentences on logarithmic axes; a broken line shows n log n."""
    if (figure := new_picture(7.5, 4.2)) is None:
        return None
    axes = figure.subplots()
    for name, stage in stages.items():
        sizes = [point["n"] for point in stage["points"]]
        seconds = [max(point["seconds"], 1e-3) for point in stage["points"]]
        last = f" ({stage['last_slope']:.2f})" if "last_slope" in stage else ""
        axes.plot(sizes, seconds, marker="o", label=f"{name}{last}")
    ends = np.array(axes.dataLim.intervalx)
    ideal = np.geomspace(*ends, 30)
    top = axes.dataLim.intervaly[1] / 10
    axes.plot(
        ideal, top * ideal * np.log(ideal) / (ends[1] * np.log(ends[1])), "k:", label="n log n"
    )
    axes.set(xscale="log", yscale="log", xlabel="sentences", ylabel="seconds")
    axes.set_title("Time of each stage by sentences; in brackets the last slope", loc="left")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    axes.grid(axis="y", alpha=0.3)
    return figure


def main() -> None:
    """Measure all stages, or one of them at one size in this process."""
    parser = new_parser(__doc__, "docs/performance/growth.json")
    parser.add_argument("--large", action="store_true", help="also a million sentences (5 GB)")
    parser.add_argument("--only", choices=list(STAGES), action="append", help="measure only this")
    parser.add_argument("--device", default="cpu", help="'cpu' or 'cuda'")
    parser.add_argument("--threads", type=int, default=2, help="processor cores to use")
    parser.add_argument("--encoded", type=int, default=2_000, help="most sentences to encode")
    parser.add_argument("--stage", choices=list(STAGES), help=argparse.SUPPRESS)
    parser.add_argument("--sentences", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    global DEVICE
    DEVICE = torch.device(options.device)
    if options.stage:
        torch.set_num_threads(options.threads)
        seconds = STAGES[options.stage](options.sentences, options.encoded)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"n": options.sentences, "seconds": seconds, "peak_mb": peak}))
        return
    sizes = (*SIZES, LARGE) if options.large else SIZES
    stages = {
        name: summary([measure_stage(name, n, options) for n in sizes])
        for name in options.only or STAGES
    }
    facts = {
        "device": torch.cuda.get_device_name() if DEVICE.type == "cuda" else "cpu",
        "dimension": DIMENSION,
        "prototypes": PROTOTYPES,
        "threads": options.threads,
        "encoded_at_most": options.encoded,
    }
    write_figure(options.output, {**facts, "stages": stages}, draw(stages))
    for name, stage in stages.items():
        print(f"{name:10} last slope {stage['last_slope']:.2f}")


if __name__ == "__main__":
    main()
