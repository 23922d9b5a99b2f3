"""Full fine-tuning by one process against two workers of Ray Train, in one run.

The same documents, settings and seeds, with the same threads per process and, for one process,
also with as many threads as the workers have together. A step of the workers has the gradient of
the whole batch, so accuracies differ by the noise of dropout only. The encoder may be cut to its
first layers, so that a run takes minutes on a CPU::

    python benchmarks/ray_training.py --data FILE [--documents 400] [--layers 2] [--json FILE]
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from charts import Bar, report
from measuring import new_parser
from safetensors.torch import load_file, save_file

from protorynet import ProtoryNetClassifier, Settings
from protorynet.encoders import load_encoder
from protorynet.inference import ray_session
from protorynet.ray_training import fit_with_ray


def cut_encoder(name: str, layers: int, folder: Path) -> Path:
    """Write an encoder with the first layers of another."""
    load_encoder(name, device="cpu").save(folder)  # type: ignore[attr-defined]
    config = json.loads((folder / "config.json").read_text())
    config["num_hidden_layers"] = layers
    (folder / "config.json").write_text(json.dumps(config))
    weights = load_file(folder / "model.safetensors")
    kept = {
        key: value
        for key, value in weights.items()
        if "encoder.layer." not in key or int(key.split("layer.")[1].split(".")[0]) < layers
    }
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def train(train_set: pd.DataFrame, test_set: pd.DataFrame, **options: Any) -> dict[str, float]:
    """Train once and say how long an epoch took and how good the model is."""
    workers, threads = options.pop("workers"), options.pop("threads")
    torch.set_num_threads(threads)
    classifier = ProtoryNetClassifier(device="cpu", cache=False, **options)
    start = time.perf_counter()
    if workers:
        fit_with_ray(classifier, train_set.text.tolist(), train_set.label.tolist(), workers=workers)
    else:
        classifier.fit(train_set.text.tolist(), train_set.label.tolist())
    taken = time.perf_counter() - start
    training, settings = classifier.model_.training, classifier.model_.settings
    right = classifier.predict(test_set.text.tolist()) == test_set.label.to_numpy()
    return {
        "seconds": taken,
        "epoch_seconds": training.seconds["train"] / settings.full_epochs,
        "validation_accuracy_before_projection": training.free_accuracy or 0.0,
        "validation_accuracy": training.validation_accuracy,
        "test_accuracy": float(right.mean()),
    }


def summary(runs: list[dict[str, float]]) -> dict[str, Any]:
    """Return the runs, and the mean of each figure."""
    means = {name: statistics.mean(run[name] for run in runs) for name in runs[0]}
    return {"mean": means, "runs": runs}


def main() -> None:
    """Train in all ways with every seed, and print seconds and accuracies."""
    parser = new_parser(__doc__, "docs/performance/ray-training.json")
    parser.add_argument("--data", type=Path, required=True, help="text, label and split")
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--test-documents", type=int, default=400)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--layers", type=int, help="of the encoder to keep")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    table = pd.read_parquet(options.data)
    train_set = table[table.split == "train"].sample(options.documents, random_state=0)
    test_set = table[table.split == "test"].sample(options.test_documents, random_state=0)
    folder = Path(tempfile.mkdtemp())
    encoder = options.encoder
    if options.layers:
        encoder = str(cut_encoder(encoder, options.layers, folder / f"{options.layers}-layers"))
    settings = Settings(
        encoder_training="full",
        full_epochs=options.epochs,
        full_retrain_epochs=options.epochs,
        n_prototypes=20,
    )
    ways = {
        "one process": {"workers": 0, "threads": 1},
        f"one process, {options.workers} threads": {"workers": 0, "threads": options.workers},
        f"{options.workers} workers": {"workers": options.workers, "threads": 1},
    }
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    with ray_session() as ray:
        cpus = int(ray.cluster_resources()["CPU"])
        for seed in range(options.seeds):
            for way, how in ways.items():
                run = train(
                    train_set,
                    test_set,
                    encoder=encoder,
                    settings=settings,
                    random_state=seed,
                    **how,
                )
                found[way].append(run)
                print(way, seed, json.dumps(run), flush=True)
    shutil.rmtree(folder)
    result = {
        "ways": {way: summary(runs) for way, runs in found.items()},
        "documents": options.documents,
        "test_documents": options.test_documents,
        "encoder": options.encoder,
        "layers": options.layers,
        "epochs": options.epochs,
        "seeds": options.seeds,
        "cpus": cpus,
    }
    bars = [
        Bar(
            way,
            figures["mean"]["seconds"],
            f"{figures['mean']['seconds']:.0f} s, accuracy {figures['mean']['test_accuracy']:.3f}",
        )
        for way, figures in result["ways"].items()
    ]
    report(result, options.output, "Seconds of training", bars)


if __name__ == "__main__":
    main()
