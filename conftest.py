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
import numpy as np
import pytest

from chromium import CHROMIUM, FLAGS
from hashing_encoder import HashingEncoder
from protorynet.encoders.encoder_variants import is_bfloat16_safe
from protorynet.settings import Settings

# They hold no doctests, and several modules of one name cannot be imported for these.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]

_cache = tempfile.TemporaryDirectory(prefix="protorynet-tests-")
# At import, so that the doctests of the package, which see no fixtures, are kept away as well.
os.environ["PROTORYNET_CACHE"] = _cache.name
# Also for the processes that tests start: several test side by side already.
os.environ.setdefault("OMP_NUM_THREADS", "1")
is_bfloat16_safe()  # before a test multiplies anything: some processors die of it

# A busy machine is slow now and then; that is no failure.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

_NOUNS = ["room", "bed", "breakfast", "pool", "staff", "view", "lobby", "shower"]
_GOOD = ["lovely", "clean", "wonderful", "perfect", "friendly"]
_BAD = ["dirty", "awful", "broken", "noisy", "horrible"]
_NEUTRAL = ["We stayed for {n} nights.", "The hotel has {n} floors.", "It is {n} miles from town."]

# The files that take longest, longest first; the others follow in any order.
_LONG = """
    test_running test_workbench_in_a_browser test_fitting test_retraining test_resuming
    test_exporting test_families test_rival_contract test_storage test_commands test_edit_command
    test_data_parallel test_sklearn_contract test_states test_faults test_predict_command
    test_class_weights test_scoring_with_ray test_survey_in_a_browser test_demo test_pressure
    test_pages_in_a_browser test_workbench_tables
"""


def pytest_configure(config: pytest.Config) -> None:
    # Files of few tests are not the quick ones: pytest-xdist would leave them to the end.
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no process is left with it when others are done."""
    rank = {name: number for number, name in enumerate(_LONG.split())}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


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
        retrain_epochs=1,
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


def write_bert(
    folder: Path, words: list[str], model: type, normalizer: Any, *, layers: int, positions: int
) -> Path:
    """Write a transformer of a few thousand weights that knows these words."""
    import torch
    from tokenizers import Tokenizer, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words]
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=positions,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(config).save_pretrained(folder)
    tokens = {token: number for number, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(model(tokens, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def tiny_bert_folder(tmp_path_factory) -> Path:
    """A tiny transformer that knows the words of the reviews."""
    from tokenizers import models, normalizers

    words = sorted({word for text in make_reviews(60).texts for word in _words(text)})
    folder = tmp_path_factory.mktemp("bert") / "tiny"
    how = {"layers": 1, "positions": 32}
    return write_bert(folder, words, models.WordLevel, normalizers.Lowercase(), **how)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory) -> Path:
    """Another one, of two layers, that reads pieces of words and tells capitals apart."""
    from tokenizers import models, normalizers

    words = [
        "the",
        "room",
        "was",
        "clean",
        "dirty",
        "and",
        "staff",
        "friendly",
        "rude",
        "we",
        "left",
        "##a",
        "##b",
        "##c",
        "a",
        "b",
        "c",
    ]
    folder = tmp_path_factory.mktemp("pieces") / "bert"
    how = {"layers": 2, "positions": 24}
    normalizer = normalizers.BertNormalizer(lowercase=False)
    return write_bert(folder, words, models.WordPiece, normalizer, **how)


@pytest.fixture(scope="session")
def fitted(reviews, encoder, quick) -> Any:
    """A classifier made with the hashing encoder, which tests only ask."""
    from protorynet import ProtoryNetClassifier

    clf = ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False)
    return clf.fit(reviews.texts, reviews.labels)


@pytest.fixture(scope="session")
def trained(reviews, tiny_bert_folder, quick) -> Any:
    """A classifier made with the tiny transformer, which tests only ask."""
    from protorynet import ProtoryNetClassifier

    clf = ProtoryNetClassifier(str(tiny_bert_folder), settings=quick, device="cpu", cache=False)
    return clf.fit(reviews.texts, reviews.labels)


@pytest.fixture(scope="session")
def tuned(reviews, tiny_bert_folder, quick) -> Any:
    """The same with the transformer fine-tuned, which tests only ask."""
    from protorynet import ProtoryNetClassifier

    how = {"encoder_training": "full", "encoder_learning_rate": 1e-3}
    settings = quick.replace(min_prototypes=5, max_prototypes=8, **how)
    clf = ProtoryNetClassifier(tiny_bert_folder, settings=settings, device="cpu", cache=False)
    return clf.fit(reviews.texts, reviews.labels)


@pytest.fixture(scope="session")
def several(reviews, encoder, quick) -> Any:
    """A classifier for several labels at once, which tests only ask."""
    from protorynet import ProtoryNetClassifier

    tags = [tuple(tag for tag in ("room", "pool", "staff") if tag in t) for t in reviews.texts]
    clf = ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False)
    return clf.fit(reviews.texts, tags)


@pytest.fixture(scope="session")
def of_vectors(quick) -> Any:
    """A classifier of sequences of vectors in place of texts, with what it was trained on."""
    from protorynet import ProtoryNetClassifier

    random = np.random.default_rng(0)
    sequences = [random.normal(size=(3, 4)).astype(np.float32) + i % 2 for i in range(40)]
    labels = [i % 2 for i in range(40)]
    clf = ProtoryNetClassifier("precomputed", settings=quick, device="cpu", cache=False)
    return clf.fit(sequences, labels), sequences, labels


@pytest.fixture(scope="session")
def hotel(trained, tmp_path_factory) -> Path:
    """Its model directory, which tests only read."""
    folder: Path = tmp_path_factory.mktemp("trained") / "hotel"
    trained.save(folder)
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
