"""Full fine-tuning against plain padded batches and against the device's own limit, in one run.

Three ways to take the same optimiser steps on the same documents: packed (the package's: no
padding, half precision on a GPU), padded (every sentence as long as the longest of its batch), and
padded in float32. The limit is the device's rate in large matrix products in the precision of the
first way; an encoder's share of it counts six operations per token and weight, its embedding
tables aside::

    python benchmarks/full_training_speed.py [--device cuda] [--data FILE] [--json FILE]
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from charts import Bar, draw_bars, write_figure
from matplotlib.figure import Figure
from torch import Tensor

from protorynet import read_table
from protorynet.data import split_documents
from protorynet.encoders import TransformerEncoder, load_encoder
from protorynet.network import Centring, ProtoryNetwork, Reader
from protorynet.settings import Settings
from protorynet.training import Corpus, FineTunedSource, batch_loss

WORDS = ["the", "room", "was", "clean", "and", "staff", "kind", "but", "we", "left", "early"]


class PaddedSource(FineTunedSource):
    """The same encoder, every sentence padded to the longest of its batch."""

    def _encode(self, index: Tensor) -> Tensor:
        lengths = self._lengths[index]
        inside = torch.arange(int(lengths.max()), device=index.device)[None]
        mask = inside < lengths[:, None]
        ids = self._tokens[torch.where(mask, self._starts[index, None] + inside, 0)]
        with torch.autocast(index.device.type, torch.bfloat16, enabled=self._half):
            encoded = self.network(ids * mask, mask.long())
        embedded: Tensor = self._centring[0](encoded.float())
        return embedded


def make_texts(documents: int) -> list[str]:
    """Make documents of 1 to 24 sentences of about 20 words, long ones among them."""
    random = np.random.default_rng(0)

    def sentence() -> str:
        length = int(np.clip(random.lognormal(2.8, 0.6), 2, 120))
        return " ".join(random.choice(WORDS, length)).capitalize() + "."

    return [" ".join(sentence() for _ in range(random.integers(1, 25))) for _ in range(documents)]


def tokens_per_second(
    texts: list[str], encoder: TransformerEncoder, kind: type[FineTunedSource], *, half: bool
) -> float:
    """Take optimiser steps on all documents, as full training does, and time all but the first."""
    settings = Settings()
    device = next(encoder.network.parameters()).device
    sentences = split_documents(texts)
    distinct = sorted(set(sentences.texts))
    numbers = {text: number for number, text in enumerate(distinct)}
    index = torch.tensor([numbers[text] for text in sentences.texts], device=device)
    torch.manual_seed(0)
    base = torch.nn.functional.normalize(torch.randn(len(distinct), encoder.dimension), dim=1)
    base = base.to(device)
    centring = Centring(torch.zeros(encoder.dimension)).to(device)
    source = kind(base, copy.deepcopy(encoder), centring, distinct).train()
    if not half:
        source.settle()
    labels = torch.arange(len(texts), device=device) % 2
    corpus = Corpus(
        index,
        torch.from_numpy(sentences.lengths).to(device),
        torch.nn.functional.one_hot(labels, 2).float(),
    )
    reader = Reader(settings.n_prototypes, 2, hidden=settings.reader_size, layers=1, dropout=0.0)
    network = ProtoryNetwork(base[: settings.n_prototypes].clone(), reader, settings).to(device)
    optimiser = torch.optim.Adam([*network.parameters(), *source.parameters()], fused=True)
    batches = corpus.batches(settings.full_batch_size, np.random.default_rng(0))
    tokens, start = 0, 0.0
    for step, documents in enumerate(batches):
        if step == 3:  # the first steps pay for allocations and the choice of kernels
            wait(device)
            tokens, start = 0, time.perf_counter()
        batch = corpus.batch(documents)
        loss = batch_loss(network, source, batch, "multiclass")
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        tokens += source.tokens_of(torch.unique(batch.index))
    wait(device)
    return tokens / (time.perf_counter() - start)


def operations_per_second(device: torch.device, *, half: bool, size: int) -> float:
    """Return the device's rate in large matrix products."""
    dtype = torch.bfloat16 if half else torch.float32
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    for step in range(13):
        if step == 3:
            wait(device)
            start = time.perf_counter()
        a @ b
    wait(device)
    return 10 * 2 * size**3 / (time.perf_counter() - start)


def wait(device: torch.device) -> None:
    """Wait until a GPU has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def draw(result: dict[str, Any]) -> Figure:
    """Draw the rates of the three ways."""
    ways = {
        "packed": "packed_tokens_per_second",
        "padded": "padded_tokens_per_second",
        "padded, float32": "padded_float32_tokens_per_second",
    }
    bars = [Bar(name, result[key], f"{result[key]:,.0f}/s") for name, key in ways.items()]
    return draw_bars(f"Tokens per second of full fine-tuning ({result['device']})", bars)


def main() -> None:
    """Run the three ways and print their rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--data", type=Path, help="a table of texts; made up if not given")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    encoder = load_encoder(options.encoder, device=options.device)
    assert isinstance(encoder, TransformerEncoder)
    device = next(encoder.network.parameters()).device
    half = device.type == "cuda"
    if options.data:
        texts = list(read_table(options.data, labelled=False).texts)[: options.documents]
    else:
        texts = make_texts(options.documents)
    weights = sum(
        parameter.numel()
        for name, parameter in encoder.network.named_parameters()
        if "embeddings" not in name and "pooler" not in name
    )
    packed = tokens_per_second(texts, encoder, FineTunedSource, half=half)
    padded = tokens_per_second(texts, encoder, PaddedSource, half=half)
    plain = tokens_per_second(texts, encoder, PaddedSource, half=False)
    limit = operations_per_second(device, half=half, size=8192 if half else 2048)
    result = {
        "encoder": encoder.name,
        "device": torch.cuda.get_device_name(device) if half else "cpu",
        "documents": len(texts),
        "packed_tokens_per_second": packed,
        "padded_tokens_per_second": padded,
        "padded_float32_tokens_per_second": plain,
        "packed_against_padded": packed / padded,
        "packed_against_padded_float32": packed / plain,
        "limit_tera_operations_per_second": limit / 1e12,
        "share_of_limit": packed * 6 * weights / limit,
        "threads": torch.get_num_threads(),
    }
    print(json.dumps(result, indent=2))
    if options.json:
        write_figure(options.json, result, draw(result))


if __name__ == "__main__":
    main()
