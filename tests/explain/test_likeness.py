"""Likeness before training, and what a judge says of it, against slow versions."""

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protorynet import Evaluation, ProtoryNetClassifier as Classifier
from protorynet.encoders import load_encoder
from protorynet.explain import evaluate_model
from protorynet.explain.likeness import PretrainedSpace, measure_duplicates

LIKENESS = ("semantic_similarity", "semantic_limit", "match_quality_untrained")


def values(evaluation: Evaluation) -> dict[str, float]:
    found: dict[str, float] = evaluation.to_dict()["faithfulness"]
    return found


def cosines(clf: Classifier, encoder: Any, texts: list[str]) -> list[list[float]]:
    """Return the cosine of each sentence with each member's sentence, one pair at a time."""
    mean = clf.model_.centring.mean.numpy()
    shown = encoder.encode([item.sentence for item in clf.prototypes_.members]) - mean
    vectors = encoder.encode(texts) - mean
    return [[float(a @ b / math.sqrt((a @ a) * (b @ b))) for b in shown] for a in vectors]


def sentences_of(clf: Classifier, documents: list[str]) -> list[str]:
    return [step.text for item in clf.explain(documents) for step in item.sentences]


def check_semantics(
    clf: Classifier, encoder: Any, documents: list[str], found: dict[str, float]
) -> None:
    """Compare with means over all sentences, which are few enough to be sampled whole."""
    members = clf.read(documents).members.tolist()
    near = cosines(clf, encoder, sentences_of(clf, documents))
    own = [each[member] for each, member in zip(near, members, strict=True)]
    best = [max(each[member] for member in set(members)) for each in near]
    assert found["semantic_similarity"] == pytest.approx(sum(own) / len(own), abs=1e-5)
    assert found["semantic_limit"] == pytest.approx(sum(best) / len(best), abs=1e-5)


def test_semantic_measures_are_cosines_before_training(
    clf, evaluation, tuned, tiny_bert_folder, unseen_reviews, encoder
):
    check_semantics(clf, encoder, unseen_reviews.texts, values(evaluation))
    found = tuned.evaluate(unseen_reviews.texts, unseen_reviews.labels, judge=encoder)
    before = load_encoder(tiny_bert_folder, device="cpu")
    check_semantics(tuned, before, unseen_reviews.texts, values(found))


def test_the_encoder_before_training_may_lie_elsewhere_or_nowhere(
    tuned, tiny_bert_folder, unseen_reviews, encoder, tmp_path
):
    tuned.save(tmp_path / "model")
    again = Classifier.load(tmp_path / "model", device="cpu", cache=False)
    again.set_params(encoder=str(tmp_path / "gone"))
    found = again.evaluate(unseen_reviews.texts, unseen_reviews.labels, judge=encoder)
    unknown = {m.name: m.meaning for m in found.measures if m.name in LIKENESS}
    assert len(unknown) == 3
    assert [values(found)[name] for name in unknown] == [None] * 3
    assert all("before training is not on this machine" in text for text in unknown.values())
    assert values(found)["duplicate_prototypes"] is None
    assert values(found)["match_quality"] is not None
    moved = Path(shutil.copytree(tiny_bert_folder, tmp_path / "moved"))
    again = Classifier.load(tmp_path / "model", encoder=moved, device="cpu", cache=False)
    first, second = (
        values(model.evaluate(unseen_reviews.texts, unseen_reviews.labels, judge=encoder))
        for model in (tuned, again)
    )
    assert second == pytest.approx(first, abs=1e-5)


def test_a_judge_prefers_matches_to_others_as_often_as_they_are_its_own(
    clf, unseen_reviews, encoder
):
    """Of a judge who takes each sentence's own match for the only good one."""
    texts = sentences_of(clf, unseen_reviews.texts)
    members = clf.read(unseen_reviews.texts).members.tolist()
    live = sorted(set(members))
    own = np.array([[member == other for other in live] for member in members], np.float32)
    labelled = clf.labelled(unseen_reviews.texts, unseen_reviews.labels)
    documents = (labelled.sentences, labelled.embeddings, labelled.targets)
    evaluation = evaluate_model(
        clf.model_,
        *documents,
        encode=encoder.encode,
        judge=lambda some, shown: (
            own if len(shown) == len(live) else np.zeros((len(some), len(shown)), np.float32)
        ),
    )
    nearest = [max(live, key=lambda at: each[at]) for each in cosines(clf, encoder, texts)]
    assert values(evaluation)["match_quality"] == 1
    same = np.mean(np.array(nearest) == members)
    assert values(evaluation)["match_quality_untrained"] == pytest.approx(same)
    assert same < 1


@pytest.mark.parametrize(
    ("sentences", "vectors", "expected"),
    [
        (["Good food.", "good  FOOD!", "Bad."], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], 2 / 3),
        (["Good.", "Nice.", "Bad."], [[1, 0, 0], [0.95, 0.312, 0], [0, 0, 1]], 2 / 3),
        (["Good.", "Nice.", "Bad."], [[1, 0, 0], [0.85, 0.527, 0], [0, 0, 1]], 0),
        (["Good.", "Good!", "Bad."], [[1, 0, 0], [0, 1, 0], [0, 0.95, 0.312]], 1),
        (["!!!", "???", "Bad."], [[0, 0, 0], [0, 0, 0], [0, 0, 1]], 0),
    ],
    ids=["words", "meaning", "neither", "both", "nothing to compare"],
)
def test_a_twin_has_the_same_words_or_almost_the_same_vector(clf, sentences, vectors, expected):
    items = tuple(
        replace(item, members=(), sentence=text)
        for item, text in zip(clf.model_.prototypes, sentences, strict=False)
    )
    model = replace(clf.model_, prototypes=replace(clf.model_.prototypes, items=items))
    space = PretrainedSpace(np.arange(0), np.zeros((0, 3)), np.array(vectors, np.float32))
    assert measure_duplicates(model, space) == pytest.approx(expected)
