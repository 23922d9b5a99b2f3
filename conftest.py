"""What all tests share: no trace in the user's cache, one thread, tiny data and a tiny BERT."""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from chromium import CHROMIUM, FLAGS
from hashing_encoder import HashingEncoder
from protorynet.settings import Settings

# They hold no doctests, and several modules of one name cannot be imported for these.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]

_cache = tempfile.TemporaryDirectory(prefix="protorynet-tests-")
# At import, so that the doctests of the package, which see no fixtures, are kept away as well.
os.environ["PROTORYNET_CACHE"] = _cache.name
# Also for the processes that tests start: several test side by side already.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A busy machine is slow now and then; that is no failure.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

_NOUNS = ["room", "bed", "breakfast", "pool", "staff", "view", "lobby", "shower"]
_GOOD = ["lovely", "clean", "wonderful", "perfect", "friendly"]
_BAD = ["dirty", "awful", "broken", "noisy", "horrible"]
_NEUTRAL = ["We stayed for {n} nights.", "The hotel has {n} floors.", "It is {n} miles from town."]


@pytest.hookimpl(optionalhook=True)  # xdist may be left out
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: many tests wait for processes, servers and browsers."""
    return (os.cpu_count() or 1) + 1


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say at the end what was skipped and why, and how to run that too."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    if not reasons:
        return
    terminalreporter.section(f"{len(skipped)} skipped")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:4}  {reason}")
    terminalreporter.line(
        "To run them too: .ci/run, which installs Chromium and PostgreSQL where they are missing. "
        "Tests that take minutes: make test-slow."
    )


@pytest.fixture(scope="session", autouse=True)
def cache_folder() -> Iterator[Path]:
    yield Path(_cache.name)
    _cache.cleanup()


@dataclass(frozen=True)
class Reviews:
    """Hotel reviews with their labels."""

    texts: list[str]
    labels: list[str]


@pytest.fixture(scope="session")
def reviews() -> Reviews:
    """Sixty made-up reviews, half of them good."""
    return make_reviews(60)


@pytest.fixture(scope="session")
def unseen_reviews() -> Reviews:
    return make_reviews(40, seed=1)


@pytest.fixture(scope="session")
def encoder() -> HashingEncoder:
    return HashingEncoder()


@pytest.fixture(scope="session")
def quick() -> Settings:
    """Settings small enough to train in about a second; prototypes are families, as by default."""
    return Settings(
        epochs=8,
        retrain_epochs=2,
        full_epochs=1,
        n_prototypes=8,
        min_prototypes=2,
        max_prototypes=6,
        reader_size=8,
        adapter_size=8,
        batch_size=16,
        learning_rate=0.01,
        validation_fraction=0.2,
    )


@pytest.fixture(scope="session")
def single(quick) -> Settings:
    """The same for prototypes of one sentence each, as in the paper."""
    return quick.replace(members=1, epochs=2)


@pytest.fixture(scope="session")
def tiny_bert_folder(tmp_path_factory) -> Path:
    """A transformer of a few thousand weights that knows the words of the reviews."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    words = sorted({word for text in make_reviews(60).texts for word in _words(text)})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words]
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    folder = tmp_path_factory.mktemp("bert") / "tiny"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(config).save_pretrained(folder)
    tokens = {token: number for number, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordLevel(tokens, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def make_reviews(count: int, *, seed: int = 0) -> Reviews:
    """Draw reviews of two to five sentences, by turns good and bad."""
    draw = random.Random(seed)
    labels = ["good" if number % 2 else "bad" for number in range(count)]
    return Reviews([_review(label, draw) for label in labels], labels)


def _review(label: str, draw: random.Random) -> str:
    words = _GOOD if label == "good" else _BAD
    sentences = [
        f"The {draw.choice(_NOUNS)} was {draw.choice(words)}." for _ in range(draw.randint(1, 3))
    ]
    sentences += [
        draw.choice(_NEUTRAL).format(n=draw.choice(["two", "three", "nine"]))
        for _ in range(draw.randint(1, 2))
    ]
    draw.shuffle(sentences)
    return " ".join(sentences)


def _words(text: str) -> list[str]:
    return text.lower().replace(".", " .").split()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser."""
    from playwright.sync_api import sync_playwright

    assert CHROMIUM is not None, "PROTORYNET_REQUIRE_BROWSER=1, but chromium is not installed"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()
