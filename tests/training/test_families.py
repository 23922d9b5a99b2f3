"""Prototypes that are families: real sentences of one kind and one tone, whatever the data."""

import hashlib
import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file as load_tensors, save as save_tensors

from protorynet import ProtoryNetClassifier
from protorynet.encoders import load_encoder
from protorynet.errors import ModelFormatError
from protorynet.labels import learn_labels
from protorynet.prototypes import is_readable
from protorynet.records import digest_values
from protorynet.settings import Settings
from protorynet.storage import load_model
from protorynet.training import families
from protorynet.training.batches import Corpus
from protorynet.training.epochs import Run
from protorynet.training.evidence import draw_folds
from protorynet.training.families import count_families
from protorynet.training.sources import FrozenSource


@pytest.fixture(scope="module")
def make(encoder, quick):
    def classifier(encoder: Any = encoder, seed: int = 0, **changes: Any) -> ProtoryNetClassifier:
        settings = quick.replace(**changes)
        options = {"random_state": seed, "device": "cpu", "cache": False}
        return ProtoryNetClassifier(encoder, settings=settings, **options)

    return classifier


@pytest.fixture(scope="module")
def clf(make, reviews):
    """A model of enough families that good, bad and neutral sentences need not mix."""
    return make(epochs=30, retrain_epochs=2, max_prototypes=12).fit(reviews.texts, reviews.labels)


def test_members_are_readable_and_say_different_things(clf, encoder):
    sentences = [member.sentence for member in clf.prototypes_.members]
    assert len(sentences) > len(clf.prototypes_) > 1
    assert all(map(is_readable, sentences))
    centred = encoder.encode(sentences) - clf.model_.centring.mean.numpy()
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    assert np.max(centred @ centred.T - np.eye(len(centred))) < 0.9


def test_families_have_one_tone_where_tones_are_clear(clf, unseen_reviews):
    good = {"lovely", "clean", "wonderful", "perfect", "friendly"}
    bad = {"dirty", "awful", "broken", "noisy", "horrible"}
    tones = []
    for item in clf.prototypes_:
        words = [set(member.sentence.strip(".").split()) for member in item.members]
        tones += [[bool(good & each) - bool(bad & each) for each in words]]
    assert not any({1, -1} <= set(tone) for tone in tones)
    assert {1, 0, -1} == {value for tone in tones for value in tone}
    for item, tone in zip(clf.prototypes_, tones, strict=True):
        if len(set(tone)) == 1 and tone[0]:
            assert (item.scores["good"] > 0.5) == (tone[0] > 0), item.caption
    assert clf.score(unseen_reviews.texts, unseen_reviews.labels) >= 0.9


def test_every_member_is_matched_to_itself_and_explanations_name_it(clf):
    members = {member.id: item for item in clf.prototypes_ for member in item.members}
    for member, explanation in zip(
        clf.prototypes_.members,
        clf.explain([member.sentence for member in clf.prototypes_.members]),
        strict=True,
    ):
        (step,) = explanation.sentences
        item = members[member.id]
        assert (step.member, step.prototype) == (member.id, item.id)
        assert (step.prototype_sentence, step.headline) == (member.sentence, item.sentence)
        assert step.similarity == pytest.approx(1, abs=1e-4)
        assert not step.unfamiliar


def test_what_lies_far_out_is_unfamiliar_unless_very_like_a_member(clf, encoder, unseen_reviews):
    sentences, embeddings = clf.predictor.prepare(unseen_reviews.texts)
    mean = clf.model_.centring.mean.numpy()
    vectors = embeddings.vectors.copy()
    vectors[:, : len(mean)] += 2 * (vectors[:, : len(mean)] - mean)
    far = replace(embeddings, vectors=vectors)
    found, usual = (clf.model_.match(each, sentences.lengths) for each in (far, embeddings))
    np.testing.assert_allclose(found.similarities, usual.similarities, atol=1e-5)
    assert np.array_equal(found.unfamiliar, found.similarities**2 < clf.model_.familiar)
    assert found.unfamiliar.any()


def test_the_first_member_is_most_like_the_sentences_of_its_prototype(clf, encoder, reviews):
    found = clf.read(reviews.texts).prototypes
    embeddings = clf.predictor.prepare(reviews.texts)[1]
    mean = clf.model_.centring.mean.numpy()
    base = embeddings.vectors[embeddings.index, : len(mean)] - mean
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    ranks = []
    for position, item in enumerate(clf.prototypes_):
        own = encoder.encode([member.sentence for member in item.members]) - mean
        likeness = own @ base[found == position].mean(axis=0) / np.linalg.norm(own, axis=1)
        ranks.append(np.mean(likeness <= likeness[0]))
    assert np.mean(ranks) > 0.7


def words_of(topic: int, draw: random.Random) -> str:
    return f"The {draw.choice(['cat', 'dog', 'cow'])} saw subject{topic} {draw.choice('abc')}."


def documents(n: int, topics: int, sentences: int) -> tuple[list[str], list[int]]:
    draw = random.Random(0)
    labels = [number % topics for number in range(n)]
    return [" ".join(words_of(label, draw) for _ in range(sentences)) for label in labels], labels


@pytest.mark.parametrize(("n", "topics", "sentences"), [(100, 20, 2), (29, 2, 3), (40, 20, 1)])
def test_many_classes_short_documents_and_few_of_them(make, n, topics, sentences):
    texts, labels = documents(n, topics, sentences)
    clf = make(epochs=20, retrain_epochs=8, learning_rate=0.03).fit(texts, labels)
    assert len(clf.prototypes_) <= count_families(6, topics)
    assert all(member.usage > 0 for member in clf.prototypes_.members)
    assert clf.score(texts, labels) > (0.7 if n > 2 * topics else 0.4)


def queries(n: int, topics: int) -> tuple[list[str], list[int]]:
    """Questions of one sentence, and one class in twenty of statements."""
    draw, labels = random.Random(0), [number % topics for number in range(n)]
    verbs, things = ["saw", "sold", "lost", "sent"], ["card", "cat", "coat", "coin", "cow", "cup"]
    texts = []
    for label in labels:
        verb, thing = draw.choice(verbs), draw.choice(things)
        begin = "Who" if label else "Everybody"
        texts.append(f"{begin} {verb} the {thing} of subject{label}{'?' if label else '.'}")
    return texts, labels


@pytest.fixture(scope="module")
def of_many(make):
    """A model of more classes than topics and tones could tell apart."""
    texts, labels = queries(320, 8)
    settings = {"epochs": 20, "retrain_epochs": 8, "learning_rate": 0.03}
    return make(**settings).fit(texts, labels)


def test_every_class_of_questions_has_prototypes_that_speak_for_it(of_many):
    texts, labels = queries(80, 8)
    assert of_many.score(texts, labels) > 0.9
    strongest = {max(item.scores, key=item.scores.get) for item in of_many.prototypes_}
    assert strongest == set(map(str, range(8)))


def test_sentences_of_many_classes_are_matched_by_kinds_of_statements(of_many, tmp_path):
    kinds = of_many.model_.adapter.kinds
    assert 8 <= kinds.up.out_features <= count_families(6, 8)
    families = np.repeat(np.arange(len(of_many.prototypes_)), of_many.model_.network.sizes)
    vectors = of_many.model_.network.members.numpy()[:, -kinds.up.out_features :]
    told = [set(vectors[families == number].argmax(axis=1)) for number in set(families)]
    assert [len(each) for each in told] == [1] * len(told)
    assert len(set.union(*told)) == len(told)
    of_many.save(tmp_path / "model")
    again = ProtoryNetClassifier.load(tmp_path / "model", encoder=of_many.encoder)
    texts, _ = queries(40, 8)
    assert np.array_equal(again.predict_proba(texts), of_many.predict_proba(texts))


def test_members_are_what_many_sentences_are_like(make):
    draw = np.random.default_rng(0)
    labels = [0, 1] * 60
    common = [draw.normal(size=5) + 20 * np.eye(5)[number] for number in range(4)]
    documents = [
        np.array([*(common[2 * label + k] + draw.normal(size=5) for k in (0, 1)), rare])
        for label, rare in zip(labels, 30 * draw.normal(size=(120, 5)), strict=True)
    ]
    medians = []
    for seed in range(3):
        clf = make("precomputed", seed, members=2, max_prototypes=4).fit(documents, labels)
        members = clf.read(documents).members
        medians.append(np.median(np.bincount(members, minlength=len(clf.prototypes_.members))))
    assert np.mean(medians) > len(members) / 24


@pytest.fixture
def little_room(monkeypatch):
    """A model's directory has no room for as many members as there might be."""
    monkeypatch.setattr(families, "_MEMBERS_BYTES", 4_000)
    monkeypatch.setattr(families, "_AXES", 12)


@pytest.fixture
def narrow(little_room, make, reviews):
    return make(epochs=30, retrain_epochs=2).fit(reviews.texts, reviews.labels)


@pytest.mark.parametrize("training", ["adapter", "full"])
def test_where_there_is_little_room_members_are_compared_by_fewer_axes(
    little_room, make, encoder, tiny_bert_folder, reviews, training
):
    given = encoder if training == "adapter" else load_encoder(tiny_bert_folder, device="cpu")
    clf = make(given, encoder_training=training).fit(reviews.texts, reviews.labels)
    assert clf.model_.adapter.meaning_width == 12
    texts = [member.sentence for member in clf.prototypes_.members]
    vectors = clf.model_.embed(clf.model_.add_words(clf.encoder_.encode(texts), texts))
    # Of so few axes one component may be above a half, and rounded to 2**-15.
    torch.testing.assert_close(vectors, clf.model_.network.members, rtol=0, atol=2**-15)


def test_members_of_fewer_axes_are_saved_in_16_bits_and_read_again(
    narrow, encoder, unseen_reviews, tmp_path
):
    narrow.save(tmp_path / "model")
    saved = load_tensors(tmp_path / "model" / "model.safetensors")
    assert saved["members.steps"].dtype == torch.int16
    assert "network.members" not in saved
    again = ProtoryNetClassifier.load(tmp_path / "model", encoder=encoder)
    assert torch.equal(again.model_.network.members, narrow.model_.network.members)
    texts = unseen_reviews.texts
    assert np.array_equal(again.predict_proba(texts), narrow.predict_proba(texts))


@pytest.mark.parametrize(
    "damage",
    [
        {"adapter.axes": torch.zeros(7, 12)},
        {"adapter.axes": torch.zeros(12)},
        {"members.exponents": torch.zeros(3, dtype=torch.int8)},
        {"members.exponents": None},
        {"members.steps": torch.zeros(4, 12)},
        {"members.steps": torch.zeros(0, dtype=torch.int16)},
        {"members.tone": torch.zeros(0, 2)},
    ],
    ids=str,
)
def test_members_of_fewer_axes_that_do_not_fit_are_refused(narrow, damage, tmp_path):
    folder = tmp_path / "model"
    narrow.save(folder)
    tensors = load_tensors(folder / "model.safetensors") | damage
    content = save_tensors({name: each for name, each in tensors.items() if each is not None})
    (folder / "model.safetensors").write_bytes(content)
    config = json.loads((folder / "config.json").read_bytes())
    config["sha256"]["model.safetensors"] = hashlib.sha256(content).hexdigest()
    config["sha256"]["config.json"] = digest_values(config)
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelFormatError, match=r"not a valid model|members\.steps"):
        load_model(folder)


def test_a_sentence_typed_as_a_member_of_fewer_axes_is_kept_to_the_last_bit(
    narrow, encoder, reviews, tmp_path
):
    narrow.save(tmp_path / "model")
    edited = ProtoryNetClassifier.load(tmp_path / "model", encoder=encoder)
    number = edited.prototypes_[0].id
    edited.edit(reviews.texts, reviews.labels, add={number: "The towels were a marvel."})
    edited.save(tmp_path / "edited")
    again = ProtoryNetClassifier.load(tmp_path / "edited", encoder=encoder)
    assert torch.equal(again.model_.network.members, edited.model_.network.members)


@pytest.mark.parametrize(("per_class", "parts"), [(30, 10), (300, 4), (3_000, 3)])
def test_classes_of_few_documents_are_left_out_in_more_parts(per_class, parts):
    targets = torch.eye(2).repeat(per_class, 1)
    lengths = torch.ones(len(targets), dtype=torch.long)
    corpus = Corpus(torch.arange(len(targets)), lengths, targets)
    source = FrozenSource(torch.zeros(len(targets), 3))
    labels = learn_labels(["a", "b"])
    run = Run(corpus, corpus, corpus.index, source, Settings(), labels, seed=0)
    assert np.bincount(draw_folds(run)).size == parts


@pytest.mark.parametrize(("scale", "width"), [(1e-3, 1), (1e3, 5)])
@pytest.mark.parametrize("changes", [{}, {"encoder_training": "none", "distance": "cosine"}])
def test_vectors_of_any_size_are_learned(make, scale, changes, width):
    draw = np.random.default_rng(0)
    labels = [0, 1] * 20
    sequences = [scale * (draw.normal(size=(3, width)) + 3 * label) for label in labels]
    clf = make("precomputed", **changes).fit(sequences, labels)
    assert len(clf.prototypes_.members) >= 2
    if width > 1:
        assert clf.score(sequences, labels) > 0.9
    vectors = np.concatenate(sequences).astype(np.float32)
    embedded = clf.model_.embed(vectors)
    apart = (clf.model_.network.members[:, None] - embedded).abs().amax(dim=2)
    assert float(apart.min(dim=1).values.max()) < 1e-3


def test_sentences_that_the_encoder_cannot_tell_apart_do_no_harm(make):
    texts = [f"THE room{' ' * number} was fine. The pool was bad!" for number in range(20)]
    texts += [f"the Room was fine?{'!' * number}" for number in range(20)]
    clf = make().fit(texts, [0, 1] * 20)
    assert len(clf.prototypes_.members) <= 3
