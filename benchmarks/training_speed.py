"""Training speed against one optimiser step per document, measured in one run.

The paper's public code takes one step per document. This measures seconds per document of both ways
with the same network, on the same random embeddings and the same machine::

    python benchmarks/training_speed.py [--device cuda] [--documents 8192] [--json FILE]
"""

from __future__ import annotations

import time

import numpy as np
import torch
from charts import Bar, report
from measuring import new_parser, wait
from torch import Tensor

from protorynet.network import Adapter, ProtoryNetwork, Reader
from protorynet.settings import Settings
from protorynet.training import AdaptedSource, Corpus, batch_loss

DIMENSION = 384


def make_corpus(documents: int, seed: int, device: str) -> tuple[Tensor, Corpus]:
    """Make random unit embeddings and documents of 1 to 24 of them."""
    random = np.random.default_rng(seed)
    lengths = torch.from_numpy(random.integers(1, 25, documents))
    vectors = torch.from_numpy(random.normal(size=(int(lengths.sum()), DIMENSION)).astype("f4"))
    base = torch.nn.functional.normalize(vectors, dim=1)
    labels = torch.from_numpy(random.integers(0, 2, documents))
    targets = torch.nn.functional.one_hot(labels, 2).float()
    index = torch.arange(len(base))
    corpus = Corpus(index.to(device), lengths.to(device), targets.to(device))
    return base.to(device), corpus


def seconds_per_document(
    base: Tensor, corpus: Corpus, settings: Settings, batch_size: int, most: int
) -> float:
    """Train for one epoch, or for `most` documents, and time it."""
    torch.manual_seed(0)
    device = base.device
    adapter = Adapter(DIMENSION, settings.adapter_size, unit_length=True).to(device)
    source = AdaptedSource(base, adapter)
    reader = Reader(
        settings.n_prototypes,
        2,
        hidden=settings.reader_size,
        layers=settings.reader_layers,
        dropout=settings.reader_dropout,
    )
    first = base[: settings.n_prototypes].clone()
    network = ProtoryNetwork(first, reader, settings).to(device)
    optimiser = torch.optim.Adam([*network.parameters(), *source.parameters()])
    done, start = 0, 0.0
    for step, documents in enumerate(corpus.batches(batch_size, np.random.default_rng(0))):
        if step == 1:  # the first step pays for allocations
            wait(device)
            done, start = 0, time.perf_counter()
        batch = corpus.batch(documents)
        loss = batch_loss(network, source, batch, "multiclass")
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        done += len(batch.lengths)
        if step > 1 and done >= most:
            break
    wait(device)
    return (time.perf_counter() - start) / done


def main() -> None:
    """Run both ways and print the ratio."""
    parser = new_parser(__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--documents", type=int, default=8192)
    options = parser.parse_args()
    settings = Settings()
    base, corpus = make_corpus(options.documents, seed=0, device=options.device)
    size, count = settings.batch_size, options.documents
    batched = 1000 * seconds_per_document(base, corpus, settings, size, count)
    single = 1000 * seconds_per_document(base, corpus, settings, 1, 300)
    result = {
        "batched_ms_per_document": batched,
        "one_step_per_document_ms": single,
        "ratio": single / batched,
        "device": options.device,
        "threads": torch.get_num_threads(),
    }
    bars = [
        Bar("batched", batched, f"{batched:.3f} ms"),
        Bar("one step per document", single, f"{single:.1f} ms, {single / batched:.0f} times"),
    ]
    title = f"Milliseconds of training per document ({options.device})"
    report(result, options.output, title, bars)


if __name__ == "__main__":
    main()
