"""Training with the default encoder against the same in float32, on the same documents in one run.

Nothing is cached, and rounds take turns; the best of each counts. "auto", the default, is the
fastest form that is as accurate as float32 on this machine::

    python benchmarks/fit_speed.py --data DATA/hotel.parquet [--rounds 2] [--json FILE]
    python benchmarks/fit_speed.py --data DATA/imdb.parquet --device cuda --training full
        --encoders minilm gte-small [--rounds 1]
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
from charts import Bar, report
from measuring import new_parser, take_turns

from protorynet import ProtoryNetClassifier, read_table
from protorynet.encoders import load_encoder


def measure_fit(
    encoder: str, texts: list[str], labels: list[Any], **settings: Any
) -> dict[str, Any]:
    """Return the seconds of one training, of its encoding and of its stages."""
    begin = time.perf_counter()
    classifier = ProtoryNetClassifier(encoder, cache=False, on_empty="skip", **settings)
    stages = classifier.fit(texts, labels).model_.training.seconds
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "encoding": seconds - sum(stages.values()), "stages": stages}


def main() -> None:
    """Fit with each encoder in turns and print the seconds."""
    parser = new_parser(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a labelled table")
    parser.add_argument("--encoders", nargs="+", default=["auto", "minilm"])
    parser.add_argument("--device", default="cpu", help="'auto', 'cpu' or 'cuda'")
    parser.add_argument("--training", default="adapter", help="'none', 'adapter' or 'full'")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    table = read_table(options.data, split="train")
    assert table.labels is not None
    settings = {"device": options.device, "encoder_training": options.training}
    data = (list(table.texts), list(table.labels))
    ways = {name: partial(measure_fit, name, *data, **settings) for name in options.encoders}
    best = {
        name: min(fits, key=lambda fit: float(fit["seconds"]))
        for name, fits in take_turns(ways, options.rounds).items()
    }
    first, *others = options.encoders
    result = {
        "documents": len(table),
        "threads": torch.get_num_threads(),
        "training": options.training,
        "encoders": {name: load_encoder(name, device=options.device).name for name in best},
        "fits": best,
        "times_faster_than": {
            name: best[name]["seconds"] / best[first]["seconds"] for name in others
        },
    }
    bars = [Bar(name, fit["seconds"], f"{fit['seconds']:.0f} s") for name, fit in best.items()]
    report(result, options.output, "Seconds of a training", bars)


if __name__ == "__main__":
    main()
