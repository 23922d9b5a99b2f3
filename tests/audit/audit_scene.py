"""What the tests of the audit share: clean made-up reviews, and a model trained on them."""

import random
from functools import cache

from hashing_encoder import HashingEncoder
from prepared_documents import prepare
from protorynet import ProtoryNetClassifier, Settings
from protorynet.audit import Audit, Finding, LabelledDocuments, audit_model
from protorynet.audit.audit_corpus import AuditCorpus, read_corpus

Labelled = list[tuple[str, str]]

_NOUNS = "room bed breakfast pool staff view lobby shower carpet garden lift bar"
_GOOD = "lovely clean wonderful perfect friendly superb cosy delicious"
_BAD = "dirty awful broken noisy horrible rude filthy smelly"
_FRIENDS = "aunt brother cousin daughter friend neighbour sister uncle colleague"
_TOWNS = "Leeds Turin Porto Ghent Bergen Lyon Cork Graz Brno Split Basel Malmo"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


def reviews(count: int, *, seed: int) -> Labelled:
    """Draw reviews of three to seven sentences, by turns good and bad; none is like another."""
    draw = random.Random(seed)
    labels = ["good" if number % 2 else "bad" for number in range(count)]
    return [(_review(draw, _GOOD if label == "good" else _BAD), label) for label in labels]


def _review(draw: random.Random, words: str) -> str:
    def one(of: str) -> str:
        return draw.choice(of.split())

    sentences = [
        f"The {one(_NOUNS)} was {one(words)} and the {one(_NOUNS)} {one(words)}."
        for _ in range(draw.randint(2, 4))
    ]
    sentences += [
        f"My {one(_FRIENDS)} came from {one(_TOWNS)} on {one(_DAYS)} "
        f"with {draw.randint(2, 60)} bags."
        for _ in range(draw.randint(1, 3))
    ]
    draw.shuffle(sentences)
    return " ".join(sentences)


TRAIN, TEST = reviews(160, seed=0), reviews(80, seed=1)


@cache
def classifier() -> ProtoryNetClassifier:
    """Return a model trained on the clean reviews, to be read only."""
    settings = Settings(
        epochs=8,
        retrain_epochs=8,
        n_prototypes=10,
        min_prototypes=5,
        max_prototypes=12,
        reader_size=8,
        adapter_size=8,
        batch_size=16,
        learning_rate=0.01,
        validation_fraction=0.2,
    )
    clf = ProtoryNetClassifier(HashingEncoder(), settings=settings, device="cpu", cache=False)
    return clf.fit([text for text, _ in TRAIN], [label for _, label in TRAIN])


def documents(labelled: Labelled) -> LabelledDocuments:
    """Prepare documents for the model."""
    return prepare(classifier(), *zip(*labelled, strict=True))


def corpus_of(train: Labelled = TRAIN, test: Labelled = TEST) -> AuditCorpus:
    return read_corpus(classifier().model_, documents(train), documents(test))


def audit_of(train: Labelled = TRAIN, test: Labelled = TEST) -> Audit:
    return audit_model(classifier().model_, documents(train), documents(test))


def found(audit: Audit, kind: str) -> list[Finding]:
    return [finding for finding in audit.findings if finding.kind == kind]


def only(audit: Audit, kind: str) -> Finding:
    """Return the one finding of a kind."""
    (finding,) = found(audit, kind)
    return finding
