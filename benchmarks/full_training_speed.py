"""Full fine-tuning against plain ways and against the device's own limit, in one run.

Four ways to take the same optimiser steps on the same documents: as the package does (packed, half
precision and CUDA graphs on a GPU), without the graphs, padded (every sentence as long as the
longest of its batch), and padded in float32. The limit is the device's rate in large matrix
products in the precision of the first way; an encoder's share of it counts six operations per token
and weight, its embedding tables aside. `busy` is the share of the time in which a GPU computes::

    python benchmarks/full_training_speed.py [--device cuda] [--data FILE] [--json FILE]
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from charts import Bar, report
from measuring import new_parser, wait
from numpy.typing import NDArray
from torch import Tensor

from protorynet import read_table
from protorynet.data import split_documents
from protorynet.encoders import TransformerEncoder, load_encoder
from protorynet.labels import LabelCode
from protorynet.network import Centring, Evidence
from protorynet.settings import Settings
from protorynet.training import Batch, Corpus, FineTunedSource, Run, adam
from protorynet.training.evidence import EvidenceSum, evidence_loss

WORDS = ["the", "room", "was", "clean", "and", "staff", "kind", "but", "we", "left", "early"]


class PlainSource(FineTunedSource):
    """The same encoder, its kernels launched one by one."""

    def expect(self, batch: Batch) -> None:
        """Take no notice of what comes."""


class PaddedSource(PlainSource):
    """The same encoder, every sentence padded to the longest of its batch."""

    def _encode(self, places: Tensor, total: int, weights: Sequence[Tensor]) -> Tensor:
        starts, lengths = places
        inside = torch.arange(int(lengths.max()), device=lengths.device)[None]
        mask = inside < lengths[:, None]
        ids = self._tokens[torch.where(mask, starts[:, None] + inside, 0)]
        with torch.autocast(lengths.device.type, torch.bfloat16, enabled=self._half):
            encoded: Tensor = self.network(ids * mask, mask.long())
        return encoded.float()


WAYS = {
    "ours": FineTunedSource,
    "packed, without graphs": PlainSource,
    "padded": PaddedSource,
    "padded, float32": PaddedSource,
}


def make_texts(documents: int) -> list[str]:
    """Make documents of 1 to 24 sentences of about 20 words, long ones among them."""
    random = np.random.default_rng(0)

    def sentence() -> str:
        length = int(np.clip(random.lognormal(2.8, 0.6), 2, 120))
        return " ".join(random.choice(WORDS, length)).capitalize() + "."

    return [" ".join(sentence() for _ in range(random.integers(1, 25))) for _ in range(documents)]


def prepare(texts: list[str], encoder: TransformerEncoder, kind: type[FineTunedSource]) -> Run:
    """Return the documents with an encoder of their own, ready to be trained."""
    device = next(encoder.network.parameters()).device
    sentences = split_documents(texts)
    distinct = list(dict.fromkeys(sentences.texts))
    numbers = {text: number for number, text in enumerate(distinct)}
    torch.manual_seed(0)
    base = torch.nn.functional.normalize(torch.randn(len(distinct), encoder.dimension), dim=1)
    base = base.to(device)
    centring = Centring(torch.zeros(encoder.dimension)).to(device)
    labels = torch.arange(len(texts), device=device) % 2
    corpus = Corpus(
        torch.tensor([numbers[text] for text in sentences.texts], device=device),
        torch.from_numpy(sentences.lengths).to(device),
        torch.nn.functional.one_hot(labels, 2).float(),
    )
    return Run(
        corpus,
        corpus,
        candidates=labels,
        source=kind(base, copy.deepcopy(encoder), centring, distinct).train(),
        settings=Settings(encoder_training="full"),
        labels=LabelCode(("bad", "good"), "multiclass"),
        seed=0,
    )


class Training:
    """Optimiser steps of full training, one after the other."""

    def __init__(self, run: Run) -> None:
        assert isinstance(run.source, FineTunedSource)
        self.run = run
        self.source: FineTunedSource = run.source
        width, settings = self.source.base.shape[1], run.settings
        self.device = self.source.base.device
        evidence = Evidence(width, settings.adapter_size, 2, "multiclass")
        self.head = EvidenceSum(evidence).to(self.device)
        self.module = torch.nn.ModuleDict({"network": self.head, "source": self.source})
        self.optimiser = adam(self.module, run)

    def take_steps(self, batches: list[NDArray[np.int64]]) -> tuple[int, float]:
        """Return how many tokens were read, and how many seconds that took."""
        tokens = 0
        wait(self.device)
        begin = time.perf_counter()
        for documents in batches:
            batch = self.run.train.batch(documents)
            self.source.expect(batch)
            loss = evidence_loss(self.head, self.source, batch, self.run)
            self.optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            tokens += self.source.tokens_of(np.unique(batch.numbers))
        wait(self.device)
        return tokens, time.perf_counter() - begin


def compare_gradients(texts: list[str], encoder: TransformerEncoder) -> float:
    """Return how far the gradients of one step by a graph are from those without, as 1 − cosine."""
    still = copy.deepcopy(encoder)
    for part in still.network.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    found = []
    for kind in (FineTunedSource, PlainSource):
        torch.manual_seed(1)
        training = Training(prepare(texts, still, kind))
        torch.nn.init.normal_(training.head.evidence.up.weight)
        training.take_steps([np.arange(min(len(texts), 16))])
        weights = training.source.parameters()
        found.append(torch.cat([w.grad.double().flatten() for w in weights if w.grad is not None]))
    return 1 - float(torch.nn.functional.cosine_similarity(found[0], found[1], dim=0))


def busy_share(training: Training, batches: list[NDArray[np.int64]]) -> float:
    """Return the share of the time in which a GPU computes."""
    kinds = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        seconds = training.take_steps(batches)[1]
    computing: float = sum(event.self_device_time_total for event in profile.key_averages())
    return computing / 1e6 / seconds


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


def main() -> None:
    """Run all ways and print their rates."""
    parser = new_parser(__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--data", type=Path, help="a table of texts; made up if not given")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--steps", type=int, default=100, help="of the slow ways a tenth")
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
    rates: dict[str, float] = {}
    facts: dict[str, float] = {}
    for name, kind in WAYS.items():
        run = prepare(texts, encoder, kind)
        if name == "padded, float32":
            run.source.settle()
        training = Training(run)
        batches = run.train.batches(
            run.settings.full_batch_size, np.random.default_rng(0), most_sentences=2_048
        )[: options.steps if kind in (FineTunedSource, PlainSource) else -(-options.steps // 10)]
        first = training.take_steps(batches)[1]  # pays for allocations, kernels and graphs
        tokens, seconds = training.take_steps(batches)
        rates[name] = tokens / seconds
        if kind is FineTunedSource:
            facts = {"milliseconds_per_step": 1e3 * seconds / len(batches)}
            facts["seconds_for_graphs"] = first - seconds
            facts["busy"] = busy_share(training, batches[:20]) if half else 1.0
    limit = operations_per_second(device, half=half, size=8192 if half else 2048)
    ours = rates.pop("ours")
    result: dict[str, Any] = {
        "encoder": encoder.name,
        "device": torch.cuda.get_device_name(device) if half else "cpu",
        "documents": len(texts),
        "tokens_per_second": {"ours": ours, **rates},
        "ours_against": {name: ours / rate for name, rate in rates.items()},
        **facts,
        "difference_of_gradients": compare_gradients(texts[:16], encoder),
        "limit_tera_operations_per_second": limit / 1e12,
        "share_of_limit": ours * 6 * weights / limit,
        "threads": torch.get_num_threads(),
    }
    measured = result["tokens_per_second"]
    bars = [Bar(name, rate, f"{rate:,.0f}/s") for name, rate in measured.items()]
    title = f"Tokens per second of full fine-tuning ({result['device']})"
    report(result, options.output, title, bars)


if __name__ == "__main__":
    main()
