"""Test accuracy with an encoder in float32 and in its faster forms.

A model with the default settings is trained per data set, form and seed, and tested once on the
data set's test split. Differences are of accuracies averaged over the seeds, in points::

    python benchmarks/encoding_accuracy.py --data DATA [--datasets hotel imdb] [--seeds 3]
        [--encoders minilm minilm:bf16] [--documents 5000] [--threads 1]
        [-o docs/performance/encoding-accuracy.json]

DATA is a folder of tables such as hotel.parquet with the columns text, label and split. What is in
the output already is not measured again, so more seeds or data sets can follow later.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch

from protorynet import ProtoryNetClassifier
from protorynet.encoders import Encoder, load_encoder
from protorynet.text import Table, read_table


def some(table: Table, most: int | None) -> tuple[list[str], list[Any]]:
    """Return the documents of a table, or so many drawn from them, with their labels."""
    assert table.labels is not None
    rows = np.random.default_rng(0).permutation(len(table))[:most]
    return [table.texts[row] for row in rows], [table.labels[row] for row in rows]


def measure(
    encoder: Encoder,
    train: tuple[list[str], list[Any]],
    test: tuple[list[str], list[Any]],
    seed: int,
) -> float:
    """Train and test with one seed."""
    model = ProtoryNetClassifier(encoder, random_state=seed, device="cpu", on_empty="skip")
    model.fit(*train)
    accuracy = float(np.mean(model.predict(test[0]) == np.asarray(test[1])))
    print(f"{encoder.name}, seed {seed}: {accuracy:.4f}", flush=True)
    return accuracy


def summary(found: dict[str, list[float]]) -> dict[str, Any]:
    """Return the mean and the spread of each encoder, and how far it is from the first."""
    first = next(iter(found.values()))
    return {
        name: {
            "accuracies": values,
            "mean": float(np.mean(values)),
            "spread": float(np.std(values, ddof=1)) if len(values) > 1 else None,
            "points_more": 100 * float(np.mean(values) - np.mean(first)),
        }
        for name, values in found.items()
    }


def main() -> None:
    """Measure what is not measured yet, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=["hotel", "imdb"])
    parser.add_argument("--encoders", nargs="+", default=["minilm", "minilm:bf16", "minilm:int8"])
    parser.add_argument("--documents", type=int, help="most documents of each split; all of them")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("docs/performance/encoding-accuracy.json")
    )
    options = parser.parse_args()
    # ONNX Runtime's threads follow this variable.
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    torch.set_num_threads(options.threads)
    encoders = {name: load_encoder(name, device="cpu") for name in options.encoders}
    result: dict[str, Any] = {"datasets": {}}
    if options.output.exists():
        result = json.loads(options.output.read_text(encoding="utf-8"))
    for dataset in options.datasets:
        path = options.data / f"{dataset}.parquet"
        train, test = (
            some(read_table(path, text="text", label="label", split=split), options.documents)
            for split in ("train", "test")
        )
        told = result["datasets"].setdefault(dataset, {"encoders": {}})
        told |= {"n_train": len(train[0]), "n_test": len(test[0])}
        found = {name: each["accuracies"] for name, each in told["encoders"].items()}
        for name, encoder in encoders.items():
            values = found.setdefault(name, [])
            for seed in range(len(values), options.seeds):
                values.append(measure(encoder, train, test, seed))
                told["encoders"] = summary(found)
                options.output.parent.mkdir(parents=True, exist_ok=True)
                options.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
