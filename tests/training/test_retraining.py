"""Editing a fitted model: exact vectors, a reader that learns again, and all of it undone."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from protorynet import ProtoryNetClassifier, Settings
from protorynet.errors import InputError
from protorynet.model import Model

_NEW = "The lobby was wonderful and clean."


def make(encoder: Any, settings: Settings, **options: Any) -> ProtoryNetClassifier:
    return ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False, **options)


@pytest.fixture(scope="module", params=["single", "families"])
def trained(request, reviews, encoder, quick):
    kinds = {"single": {"members": 1, "epochs": 6}, "families": {"epochs": 20}}
    settings = quick.replace(retrain_epochs=5, min_prototypes=6, **kinds[request.param])
    return make(encoder, settings).fit(reviews.texts, reviews.labels)


@pytest.fixture
def clf(trained):
    return copy.deepcopy(trained)


@pytest.fixture
def ids(clf):
    found: list[int] = clf.prototypes_.ids.tolist()
    assert len(found) >= 4
    return found


@pytest.fixture
def typed(clf):
    """How to put a sentence of one's own into a prototype."""
    return "replace" if max(clf.prototypes_.sizes) == 1 else "add"


def vectors_by_id(model: Model) -> dict[int, list[float]]:
    ids = [member.id for member in model.prototypes.members]
    return dict(zip(ids, model.network.members.tolist(), strict=True))


def same_state(one: Model, other: Model) -> bool:
    pairs = zip(one.network.state_dict().items(), other.network.state_dict().items(), strict=True)
    tensors = all(name == twin and torch.equal(a, b) for (name, a), (twin, b) in pairs)
    return tensors and one.prototypes == other.prototypes and one.automata == other.automata


@pytest.mark.parametrize(
    ("training", "members", "kind"),
    [("adapter", 1, "replace"), ("none", 1, "add"), ("none", 50, "add"), ("adapter", 50, "add")],
)
def test_a_typed_sentence_is_an_exact_member(reviews, encoder, quick, training, members, kind):
    how = {"encoder_training": training, "members": members, "epochs": 2}
    clf = make(encoder, quick.replace(**how))
    clf.fit(reviews.texts, reviews.labels)
    number = clf.prototypes_[1].id
    (member,) = clf.edit(**{kind: {number: _NEW}}).changes[0].members
    vector = clf.model_.embed(clf.model_.add_words(encoder.encode([_NEW]), [_NEW]))[0]
    assert vectors_by_id(clf.model_)[member] == vector.tolist()
    (step,) = clf.explain(_NEW).sentences
    assert (step.prototype, step.prototype_sentence) == (number, _NEW)
    assert step.similarity == pytest.approx(1.0, abs=1e-5)


def test_a_tuned_encoder_gives_the_vector_of_a_sentence(tuned, reviews, tmp_path):
    clf = copy.deepcopy(tuned)
    number = clf.prototypes_[0].id
    with pytest.raises(InputError, match="too long: it has 42 tokens, but the encoder reads 32"):
        clf.edit(add={number: "room " * 40})
    clf.edit(reviews.texts, reviews.labels, add={number: _NEW})
    clf.save(tmp_path / "model")
    loaded = ProtoryNetClassifier.load(tmp_path / "model", device="cpu", cache=False)
    (step,) = loaded.explain(_NEW).sentences
    assert step.prototype == number
    assert step.similarity == pytest.approx(1.0, abs=1e-4)


def test_without_documents_the_reader_stays_and_there_are_no_automata(clf, reviews, ids):
    automata = clf.model_.automata
    clf.edit(rename={ids[1]: "slow service"})
    assert clf.model_.automata == automata
    entry = clf.edit(drop=ids[:1])
    assert entry.retraining is None
    assert clf.model_.edits.reader_is_behind
    assert clf.prototypes_.ids.tolist() == ids[1:]
    assert clf.predict(reviews.texts).shape == (60,)
    assert clf.model_.automata == ()
    assert clf.explain(_NEW).automaton is None
    with pytest.raises(InputError, match="holds no automata"):
        clf.automaton("good")


def test_what_cannot_be_done_is_refused_and_changes_nothing(clf, trained, reviews, ids, typed):
    good = [text for text in reviews.texts if "lovely" in text]
    two = "should be one sentence, but 2 are read: “One.” and “And two.”"
    for documents, words, message in [
        ((), {}, "nothing to do"),
        ((), {typed: {ids[0]: "One. And two."}}, two),
        ((), {typed: {ids[0]: "<br />"}}, "should be one sentence, but 0 are read: none"),
        ((), {typed: {ids[1]: clf.prototypes_[0].sentence}}, "is the same to the encoder"),
        ((reviews.texts, reviews.labels), {"drop": ids}, "would leave 0"),
        ((reviews.texts[:3], reviews.labels[:3]), {"drop": ids[:1]}, "3 documents are too few"),
        ((good, ["good"] * len(good)), {}, "no document to retrain on is of class 'bad'"),
    ]:
        with pytest.raises(InputError, match=message):
            clf.edit(*documents, **words)
    assert same_state(clf.model_, trained.model_)
    assert not clf.model_.edits.entries


def test_a_model_of_vectors_has_no_sentences_to_replace(of_vectors):
    clf, sequences, labels = copy.deepcopy(of_vectors)
    with pytest.raises(InputError, match="was trained on vectors"):
        clf.edit(add={clf.prototypes_[0].id: _NEW})
    entry = clf.edit(sequences, labels, drop=[clf.prototypes_[0].id])
    assert entry.retraining.data_sha256 == clf.model_.training.data_sha256


def test_dropping_a_useless_prototype_costs_one_held_out_document_at_most(clf, reviews):
    useless = min(clf.prototypes_, key=lambda item: abs(item.class_rate["good"] - 0.5)).id
    seconds = dict(clf.model_.training.seconds)
    record = clf.edit(reviews.texts, reviews.labels, drop=[useless]).retraining
    assert record.accuracy_after >= record.accuracy_edited
    assert record.accuracy_after >= record.accuracy_before - 1 / record.n_held_out
    assert (record.n_documents, record.n_held_out) == (48, 12)
    assert record.data_sha256 == clf.model_.training.data_sha256
    assert record.accuracy_before == clf.model_.training.validation_accuracy
    good = clf.automaton("good")
    assert good.prototypes == tuple(clf.prototypes_.ids.tolist())
    assert (good.n_train, good.n_held_out) == (48, 12)
    assert clf.model_.training.seconds == seconds


def test_only_the_reader_learns_again_by_the_models_own_seed(trained, reviews, ids):
    models = []
    for _ in range(2):
        clf = copy.deepcopy(trained)
        clf.model_.network.reader.head.weight.neg_()  # it has a lot to learn
        before = clf.model_
        torch.rand(3)  # whatever random numbers the caller draws
        # Not all that it was trained on, of which its own reader tells the labels.
        record = clf.edit(reviews.texts[:50], reviews.labels[:50], drop=ids[:1]).retraining
        assert record.accuracy_after > record.accuracy_before
        models.append(clf.model_)
    assert same_state(*models)
    dropped = {member.id for member in before.prototypes[0].members}
    vectors = vectors_by_id(before).items()
    assert vectors_by_id(models[0]) == {n: vector for n, vector in vectors if n not in dropped}
    assert torch.equal(models[0].adapter.up.weight, trained.model_.adapter.up.weight)
    assert not any(parameter.requires_grad for parameter in models[0].network.parameters())


def test_usage_class_rates_and_scores_are_measured_again(clf, reviews, ids, typed):
    edits = {"drop": ids[:1], typed: {ids[1]: _NEW}}
    entry = clf.edit(reviews.texts, reviews.labels, **edits)
    assert sum(item.usage for item in clf.prototypes_) == pytest.approx(1.0)
    for item in clf.prototypes_:
        use = [member.usage for member in item.members]
        assert sum(use) == pytest.approx(item.usage)
        rates = np.array([member.class_rate for member in item.members])
        means = np.array(use) @ rates / max(item.usage, 1e-9)
        assert means.tolist() == pytest.approx(list(item.class_rate.values()), abs=1e-4)
        if item.usage:
            assert sum(item.class_rate.values()) == pytest.approx(1.0)
        alone = clf.predict_proba([item.sentence])[0]
        assert list(item.scores.values()) == pytest.approx(alone.tolist(), abs=1e-5)
    for number, shares in entry.retraining.moved.items():
        assert int(number) in ids[:2]
        assert sum(shares.values()) == pytest.approx(1.0)
        assert str(ids[0]) not in shares


@pytest.mark.parametrize(
    ("kind", "retrain"),
    [
        ("drop", True),
        ("merge", False),
        ("typed", True),
        ("rename", False),
        ("move", False),
        ("split", True),
        ("drop_members", False),
    ],
)
def test_every_edit_can_be_undone_exactly(clf, reviews, ids, typed, kind, retrain):
    clf.edit(merge=[ids[:2]])  # so that one has several members in any case
    before, (first, second) = copy.deepcopy(clf), clf.prototypes_[0].members[:2]
    words: dict[str, Any] = {
        "drop": ids[2:3],
        "merge": [(ids[2], ids[0])],
        "typed": {ids[2]: _NEW},
        "rename": {ids[0]: "a name"},
        "move": {first.id: ids[2]},
        "split": [[second.id]],
        "drop_members": [first.id],
    }
    given = (reviews.texts, reviews.labels) if retrain else ()
    clf.edit(*given, **{typed if kind == "typed" else kind: words[kind]})
    assert not same_state(clf.model_, before.model_)
    entry = clf.undo_edit()
    assert (entry.number, entry.undone is None) == (2, False)
    assert same_state(clf.model_, before.model_)
    assert clf.explain(reviews.texts) == before.explain(reviews.texts)


def test_a_model_of_an_earlier_release_can_be_edited_and_its_log_goes_on(encoder, tmp_path):
    golden = Path(__file__).parent.parent / "golden" / "v1" / "edited" / "model"
    clf = ProtoryNetClassifier.load(golden, encoder=encoder, device="cpu", cache=False)
    before, number = clf.model_, clf.prototypes_[0].id
    assert str(before.edits.entries[0].changes[0]) == (
        "prototype 3 “We stayed for 2 nights.” merged into prototype 2"
    )
    (change,) = clf.edit(add={number: _NEW}).changes
    assert change.members == (9,)  # 8 was dropped
    assert clf.edit(split=[[9]]).changes[0].into == 9
    clf.save(tmp_path / "model")
    loaded = ProtoryNetClassifier.load(tmp_path / "model", encoder=encoder, device="cpu")
    assert loaded.model_.edits.entries[:4] == before.edits.entries
    loaded.undo_edit()
    loaded.undo_edit()
    assert same_state(loaded.model_, before)
    assert loaded.edit(add={number: _NEW}).changes[0].members == (10,)
    for _ in range(4):
        loaded.undo_edit()
    unedited = ProtoryNetClassifier.load(golden.parent.parent / "texts" / "model", encoder=encoder)
    assert same_state(loaded.model_, unedited.model_)
