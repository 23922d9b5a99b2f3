"""k-medoids on a million sentences, and what sampling loses against the full algorithm.

Two measurements, each in processes of their own::

    python benchmarks/kmedoids.py --data DATA/hotel.parquet [-o docs/performance/kmedoids.json]

1. Where both can run (--compared sentences, of the table's column `text` in the embedded encoder's
   space, else made-up ones): the mean distance to the nearest medoid, as a ratio to full FasterPAM
   with the whole distance matrix, for three seeds. `sample` is FasterPAM on 4,096 of the points
   alone; `package` is what `fit` does: rounds over all points follow.
2. --sentences made-up embeddings of 384 components, 200 medoids: seconds, and peak memory of the
   whole process, data included.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from charts import Bar, report
from growth import vectors_of
from measuring import new_parser, run_apart
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin_min

from protorynet.prototypes import distinct_candidates, k_medoids

SAMPLE = 4_096  # the points whose distances fill 64 MB


def mean_distance(points: NDArray[np.float32], medoids: NDArray[np.float32]) -> float:
    """Return the k-medoids objective per point."""
    return float(pairwise_distances_argmin_min(points, medoids)[1].mean())


def sentence_vectors(table: Path, most: int) -> NDArray[np.float32]:
    """Encode sentences of a table that may become prototypes, and centre them as `fit` does."""
    import pyarrow.parquet as pq

    from protorynet.data import split_documents
    from protorynet.encoders import EmbeddingCache, encode_corpus, load_encoder

    documents = pq.read_table(table, columns=["text"]).column("text").to_pylist()
    texts = split_documents(documents, on_empty="skip").texts
    chosen = [texts[number] for number in distinct_candidates(texts)[:most]]
    encoded = encode_corpus(load_encoder("minilm"), chosen, cache=EmbeddingCache(), progress=True)
    centred = encoded.vectors - encoded.vectors.mean(axis=0)
    vectors: NDArray[np.float32] = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    return vectors


def compare_ways(vectors: NDArray[np.float32], k: int, seed: int) -> dict[str, Any]:
    """Return objective and seconds of the three ways, and their ratios to the full one."""
    n = len(vectors)
    sample = np.sort(np.random.default_rng(seed).choice(n, min(n, SAMPLE), replace=False))
    whole = n * n * 4 // 2**20 + 1
    result: dict[str, Any] = {"seed": seed}
    for name in ("full", "sample", "package"):
        start = time.perf_counter()
        if name == "full":
            medoids = k_medoids(vectors, k, seed=seed, memory_mb=whole)
        else:
            among = sample if name == "sample" else None
            medoids = k_medoids(vectors, k, seed=seed, among=among)
        seconds = time.perf_counter() - start
        cost = mean_distance(vectors, vectors[medoids])
        result[name] = {"mean_distance": cost, "seconds": seconds}
    for name in ("sample", "package"):
        result[name]["ratio"] = result[name]["mean_distance"] / result["full"]["mean_distance"]
    return result


def large(n: int, k: int) -> dict[str, float]:
    """Cluster made-up embeddings in this process."""
    vectors, _ = vectors_of(n)
    start, busy = time.perf_counter(), time.process_time()
    medoids = k_medoids(vectors, k, seed=0)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    judged = vectors[np.random.default_rng(1).choice(n, min(n, 100_000), replace=False)]
    return {
        "n": n,
        "k": k,
        "seconds": seconds,
        "processor_seconds": busy,
        "peak_mb": peak,
        "data_mb": vectors.nbytes / 2**20,
        "mean_distance": mean_distance(judged, vectors[medoids]),
    }


def main() -> None:
    """Do both measurements, or the large one in this process."""
    parser = new_parser(__doc__, "docs/performance/kmedoids.json")
    parser.add_argument("--data", type=Path, help="a Parquet table with a column `text`")
    parser.add_argument("--compared", type=int, default=15_000, help="sentences to compare on")
    parser.add_argument("--sentences", type=int, default=1_000_000, help="of the large run")
    parser.add_argument("--medoids", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2, help="processor cores to use")
    parser.add_argument("--large-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.large_only:
        print(json.dumps(large(options.sentences, options.medoids)))
        return
    # A process of its own, so that its peak memory is that of the large run.
    words = ["--large-only", "--sentences", options.sentences, "--medoids", options.medoids]
    large_run = run_apart(__file__, *words, threads=options.threads)
    print(json.dumps(large_run), flush=True)
    result: dict[str, Any] = {"threads": options.threads, "large": large_run}
    if options.data:
        vectors = sentence_vectors(options.data, options.compared)
    else:
        vectors, _ = vectors_of(options.compared)
    runs = []
    for seed in range(3):
        runs.append(compare_ways(vectors, options.medoids, seed))
        print(json.dumps(runs[-1]), flush=True)
    result["compared"] = {
        "sentences": len(vectors),
        "data": options.data.stem if options.data else "made-up",
        "runs": runs,
        **{
            f"{name}_ratio": float(np.mean([run[name]["ratio"] for run in runs]))
            for name in ("sample", "package")
        },
    }
    title = "Mean distance to the nearest medoid, against full FasterPAM"
    ratios = [(name, result["compared"][f"{name}_ratio"]) for name in ("sample", "package")]
    bars = [Bar(name, 100 * (ratio - 1), f"{ratio:.4f}") for name, ratio in ratios]
    report(result, options.output, title, bars)


if __name__ == "__main__":
    main()
