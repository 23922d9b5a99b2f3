"""A movie-review model with two classes and an encyclopaedia model with four, as views see them."""

from dataclasses import replace
from typing import Any

import pytest

from protorynet.explain import (
    Evaluation,
    Explanation,
    Measure,
    SentenceExplanation,
    WordEffect,
)
from protorynet.figures import ClassFigures, ReliabilityBin
from protorynet.prototypes import Member, Prototype, Prototypes

# id, sentence, usage, score for positive, observed rate of positive
_MOVIE_PROTOTYPES = [
    (3, "This is one of the best films I have seen in years.", 0.081, 0.981, 0.94),
    (14, "I loved every minute of it and would gladly watch it again.", 0.064, 0.968, 0.91),
    (8, "The performances are superb, especially the lead actress.", 0.092, 0.934, 0.83),
    (21, "Beautifully photographed, with a score that stays with you.", 0.058, 0.902, 0.79),
    (5, "It's funny, it's sad, and it feels true from beginning to end.", 0.061, 0.871, 0.76),
    (30, "The story follows a young man who returns to his home town.", 0.214, 0.561, 0.53),
    (17, "I saw this at a festival with a friend who knows the director.", 0.143, 0.482, 0.49),
    (11, "It starts well, but the second half drags on far too long.", 0.071, 0.213, 0.31),
    (26, "The dialogue is wooden and none of the jokes land.", 0.068, 0.094, 0.17),
    (2, "I kept looking at my watch and waiting for something to happen.", 0.049, 0.061, 0.12),
    (19, "A complete waste of time and money; avoid it at all costs.", 0.056, 0.022, 0.05),
    (23, "Without doubt the worst film I have ever seen.", 0.043, 0.014, 0.04),
]

# text, prototype, running probability of positive, similarity
_GOOD_REVIEW = [
    ("I went in expecting very little, since a friend dragged me along.", 17, 0.47, 0.71),
    ("The plot is simple: a widowed baker comes back to the village she left.", 30, 0.55, 0.66),
    ("Then the first twenty minutes are, frankly, slow.", 11, 0.24, 0.69),
    ("But Marta Ruiz is a revelation, and every scene with her daughter rings true.", 8, 0.68, 0.8),
    ("The light over the harbour alone is worth the ticket.", 21, 0.83, 0.74),
    ("I laughed, I cried, and I walked home smiling.", 5, 0.92, 0.77),
    ("One of the finest films of the year.", 3, 0.972, 0.91),
]
_BAD_REVIEW = [
    ("I wanted to like this, I really did.", 14, 0.88, 0.52),
    ("The trailer promised a clever thriller about a bank robbery.", 30, 0.74, 0.63),
    ("What we get instead is two hours of men shouting into phones.", 26, 0.31, 0.58),
    ("By the end I was counting the exit signs.", 2, 0.06, 0.71),
]
_HOSTILE_TEXTS = [
    "<script>alert(\"x\")</script> & 'quotes' {{ 7 * 7 }}",
    "[bold]not bold[/bold] [link=x]y[/link] :smile: \x1b[31mnot red\x00",
    "סרט נפלא, אהבתי כל רגע 🎬 \ud800 \u202eevil",
]
_CLASSES = ("Person", "Animal", "Building", "NaturalPlace")
_PERSON = [
    ("Ada Marwick (born 1931) is a Scottish botanist and painter.", 1, (0.93, 0.03, 0.02, 0.02)),
    ("She described eleven species of alpine moss.", 4, (0.55, 0.31, 0.02, 0.12)),
    ("Her studio stood in the old customs house of Leith.", 6, (0.58, 0.11, 0.24, 0.07)),
    ("She received the Neill Medal in 1978.", 2, (0.961, 0.019, 0.011, 0.009)),
]
_PLACE_PROTOTYPES = [
    (1, "He was born in Leeds and studied law.", 0.18, (0.96, 0.01, 0.02, 0.01)),
    (2, "She won the award three times.", 0.15, (0.94, 0.02, 0.02, 0.02)),
    (4, "The species was first described in 1897.", 0.17, (0.03, 0.92, 0.01, 0.04)),
    (5, "It is found in moist lowland forests.", 0.14, (0.01, 0.78, 0.02, 0.19)),
    (6, "The house was built in 1884 in the Gothic style.", 0.2, (0.02, 0.01, 0.95, 0.02)),
    (9, "The river rises in the hills and flows north.", 0.16, (0.01, 0.03, 0.02, 0.94)),
]


def two_ends(positive: float) -> dict[str, float]:
    return {"negative": 1 - positive, "positive": positive}


_MOVIES = Prototypes(
    tuple(
        Prototype(number, sentence, number * 31, usage, two_ends(positive), two_ends(rate))
        for number, sentence, usage, positive, rate in sorted(_MOVIE_PROTOTYPES)
    ),
    ("negative", "positive"),
)


def make_family(item: Prototype, *others: str) -> Prototype:
    """Return a prototype with its sentence and others as members; ids of members from 100 on."""
    members = [
        Member(item.id * 100 + n, sentence, n, item.usage / (n + 2), (n % 2, 1 - n % 2))
        for n, sentence in enumerate((item.sentence, *others))
    ]
    return replace(item, words=("best", "<i>film</i>"), members=tuple(members))


_BEST = ("A masterpiece.", _HOSTILE_TEXTS[0], "What a joy!", "Simply the best.")


def make_step(text: str, like: Prototype, running: dict[str, float], **how: Any) -> Any:
    how = {"similarity": 0.7, "runner_up": 30, "effect": 0.1} | how
    return SentenceExplanation(
        text=text,
        start=0,
        end=len(text),
        prototype=like.id,
        prototype_sentence=like.sentence,
        runner_up_similarity=how["similarity"] - 0.08,
        scores=like.scores,
        running=running,
        **how,
    )


def explain_review(steps: list[tuple[str, int, float, float]]) -> Explanation:
    known = {item.id: item for item in _MOVIES}
    sign = 1 if steps[-1][2] >= 0.5 else -1
    sentences, before = [], 0.5
    for text, prototype, running, similarity in steps:
        how = {"similarity": similarity, "effect": 0.7 * sign * (running - before)}
        sentences.append(make_step(text, known[prototype], two_ends(running), **how))
        before = running
    document = " ".join(step[0] for step in steps)
    label = "positive" if sign > 0 else "negative"
    return Explanation(document, label, sentences[-1].running, tuple(sentences))


@pytest.fixture
def movie_prototypes():
    return _MOVIES


@pytest.fixture
def movie_families():
    """The same with five sentences that differ in the most positive one, three in a named one."""
    items = {item.id: item for item in _MOVIES}
    items[3] = make_family(items[3], *_BEST)
    items[19] = replace(make_family(items[19], "Dreadful.", "Do not watch it."), name="warnings")
    return replace(_MOVIES, items=tuple(items.values()))


@pytest.fixture
def strange_review(good_review):
    """Its first sentence is like a member; of the seven, the last four are unfamiliar."""
    first, *steps = good_review.sentences
    like = {"prototype_sentence": "My aunt <b>took</b> me.", "headline": "How I came to see it"}
    steps = [
        replace(step, headline=step.prototype_sentence, unfamiliar=number >= 2)
        for number, step in enumerate(steps)
    ]
    return replace(good_review, sentences=(replace(first, **like), *steps))


@pytest.fixture
def good_review():
    return explain_review(_GOOD_REVIEW)


@pytest.fixture
def bad_review():
    return explain_review(_BAD_REVIEW)


@pytest.fixture
def long_review():
    return explain_review((_GOOD_REVIEW + _BAD_REVIEW) * 27 + _GOOD_REVIEW[:3])


@pytest.fixture
def one_sentence():
    return explain_review(_GOOD_REVIEW[-1:])


@pytest.fixture
def tied(good_review):
    """A document between two classes, of which the first is predicted."""
    even = two_ends(0.5)
    steps = tuple(replace(step, scores=even, running=even) for step in good_review.sentences)
    return replace(good_review, label="negative", probabilities=even, sentences=steps)


@pytest.fixture
def hostile_review():
    """Markup of every kind, control characters, an emoji, right-to-left text and a surrogate."""
    return explain_review([(text, 3, 0.9, 0.8) for text in _HOSTILE_TEXTS])


@pytest.fixture
def worded(good_review):
    """The last sentence has a word that matters, one that does little, and one against."""
    words = (WordEffect("One", 0, 3, 0.01), WordEffect("finest", 11, 17, 0.2))
    words += (WordEffect("films", 18, 23, 0.07), WordEffect("year", 31, 35, -0.3))
    best = (WordEffect("best", 19, 23, 0.15),)
    found = replace(good_review.sentences[-1], words=words, prototype_words=best)
    return replace(good_review, sentences=(*good_review.sentences[:-1], found))


@pytest.fixture
def place_prototypes():
    items = []
    for number, sentence, usage, scores in _PLACE_PROTOTYPES:
        shares = dict(zip(_CLASSES, scores, strict=True))
        items.append(Prototype(number, sentence, number, usage, shares, shares))
    return Prototypes(tuple(items), _CLASSES)


@pytest.fixture
def person(place_prototypes):
    known = {item.id: item for item in place_prototypes}
    sentences = tuple(
        make_step(text, known[prototype], dict(zip(_CLASSES, running, strict=True)))
        for text, prototype, running in _PERSON
    )
    document = " ".join(text for text, _, _ in _PERSON)
    return Explanation(document, "Person", sentences[-1].running, sentences)


@pytest.fixture
def several_labels(person):
    """A multi-label prediction: probabilities do not add up to one."""
    both = {"Person": 0.97, "Animal": 0.62}
    steps = tuple(replace(step, scores=both, running=both) for step in person.sentences)
    return Explanation(person.document, "Person, Animal", both, steps)


@pytest.fixture
def evaluation():
    measures = (
        Measure("ids_only_accuracy", 0.883, "Accuracy of the reader that sees only the ids."),
        Measure("usage_perplexity", 9.83, "How many prototypes are in effect used."),
        Measure("score_calibration", None, "Correlation of scores and observed class rates."),
    )
    return Evaluation(
        n_documents=2500,
        n_right=2217,
        classes=(
            ClassFigures("negative", 1250, 1195, 1081),
            ClassFigures("positive", 1250, 1305, 1136),
        ),
        confusion=((1081, 169), (114, 1136)),
        reliability=(ReliabilityBin(0.1, 0.2, 1195, 0.12, 114),),
        bag_of_words_accuracy=0.901,
        measures=measures,
        n_prototypes=12,
    )
