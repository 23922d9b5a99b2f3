"""Test accuracy with an encoder in float32 and in its faster forms.

A model with the default settings is trained per data set, form and seed, and tested on the data
set's test split. Seeds differ by more than forms do, so every model of the first form also reads
the test documents through the other forms: the same weights, the same documents, and only the
precision differs::

    python benchmarks/encoding_accuracy.py --data DATA [--datasets hotel imdb] [--seeds 3]
        [--encoders minilm minilm:bf16] [--documents 5000] [--threads 1]
        [-o docs/performance/encoding-accuracy.json]

DATA is a folder of tables such as hotel.parquet with the columns text, label and split. What is in
the output already is not measured again, so more seeds or data sets can follow later.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from charts import write_figure
from measuring import new_parser
from numpy.typing import NDArray

from protorynet import ProtoryNetClassifier
from protorynet.data import Table, read_table
from protorynet.encoders import Encoder, load_encoder

Documents = tuple[list[str], list[Any]]


def some(table: Table, most: int | None) -> Documents:
    """Return the documents of a table, or so many drawn from them, with their labels."""
    assert table.labels is not None
    rows = np.random.default_rng(0).permutation(len(table))[:most]
    return [table.texts[row] for row in rows], [table.labels[row] for row in rows]


def measure(encoders: dict[str, Encoder], train: Documents, test: Documents, seed: int) -> Any:
    """Train with each encoder and one seed, and test; the first model also through the others."""
    truth = np.asarray(test[1])
    trained, through, equal = {}, {}, {}
    for number, (name, encoder) in enumerate(encoders.items()):
        model = ProtoryNetClassifier(encoder, random_state=seed, device="cpu", on_empty="skip")
        own: NDArray[Any] = model.fit(*train).predict(test[0])
        trained[name] = float(np.mean(own == truth))
        print(f"{name}, seed {seed}: {trained[name]:.4f}", flush=True)
        if number:
            continue
        for other, form in encoders.items():
            if other.partition(":")[2] != "static" and form.dimension == encoder.dimension:
                model.encoder_ = form
                read = model.predict(test[0])
                through[other] = float(np.mean(read == truth))
                equal[other] = float(np.mean(read == own))
    return {"seed": seed, "trained": trained, "through": through, "equal_labels": equal}


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean and the spread of each encoder, and how far it is from the first."""
    first = next(iter(runs[0]["trained"]))
    figures: dict[str, Any] = {}
    for name in runs[0]["trained"]:
        own, base = (np.array([run["trained"][each] for run in runs]) for each in (name, first))
        figures[name] = {
            "mean": float(own.mean()),
            "spread": float(own.std(ddof=1)) if len(own) > 1 else None,
            "points_more": 100 * float((own - base).mean()),
        }
        if name in runs[0]["through"]:
            read = np.array([run["through"][name] for run in runs])
            figures[name] |= {
                "points_more_same_models": 100 * float((read - base).mean()),
                "most_points_of_one_model": 100 * float(np.abs(read - base).max()),
                "least_equal_labels": min(run["equal_labels"][name] for run in runs),
            }
    return figures


def main() -> None:
    """Measure what is not measured yet, print and write the figures."""
    parser = new_parser(__doc__, "docs/performance/encoding-accuracy.json")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=["hotel", "imdb"])
    parser.add_argument("--encoders", nargs="+", default=["minilm", "minilm:bf16", "minilm:int8"])
    parser.add_argument("--documents", type=int, help="most documents of each split; all of them")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
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
        figures = result["datasets"].setdefault(dataset, {"runs": []})
        figures |= {"n_train": len(train[0]), "n_test": len(test[0])}
        for seed in range(len(figures["runs"]), options.seeds):
            figures["runs"].append(measure(encoders, train, test, seed))
            figures["encoders"] = summary(figures["runs"])
            write_figure(options.output, result, None)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
