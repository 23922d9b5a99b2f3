"""What a training run promises: exact prototypes, none dead or double, the same for one seed."""

import itertools
import random
from typing import Any

import numpy as np
import pytest
import torch
from trained_tensors import different_tensors

from protorynet import ProtoryNetClassifier, Settings
from protorynet.encoders import load_encoder
from protorynet.errors import InputError, ProtoryNetError
from protorynet.network import at_last_sentence, pad_documents, pairwise_distance
from protorynet.training import fitting, validation_documents


def make(encoder: Any, settings: Settings, **options: Any) -> ProtoryNetClassifier:
    return ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False, **options)


def exactness(clf: ProtoryNetClassifier) -> float:
    """Return the largest difference of a member's vector and its sentence encoded again."""
    texts = [member.sentence for member in clf.prototypes_.members]
    vectors = clf.model_.add_words(clf.encoder_.encode(texts), texts)
    return float((clf.model_.embed(vectors) - clf.model_.network.members).abs().max())


def check_prototypes(clf: ProtoryNetClassifier, texts: list[str]) -> None:
    settings, model = clf.model_.settings, clf.model_
    assert exactness(clf) < 1e-5
    assert 1 <= len(clf.prototypes_) <= settings.max_prototypes
    members = clf.prototypes_.members
    assert model.network.sizes == clf.prototypes_.sizes
    assert len({member.sentence for member in members}) == len(members)
    for member in members:
        assert member.usage > 0
        assert member.sentence in texts[member.row]
        assert sum(member.class_rate) == pytest.approx(1, abs=1e-3)
    distances = torch.cdist(model.network.members, model.network.members)
    assert (distances + torch.eye(len(distances)) > 1e-4).all()
    for items in (clf.prototypes_, members):
        assert sum(item.usage for item in items) == pytest.approx(1)
        assert sorted(item.id for item in items) == list(range(1, len(items) + 1))
    for item in clf.prototypes_:
        assert sum(item.class_rate.values()) == pytest.approx(1)
        assert (item.sentence, item.row) == (item.members[0].sentence, item.members[0].row)
        assert item.usage == pytest.approx(sum(member.usage for member in item.members))


@pytest.mark.parametrize(
    "changes",
    [
        {"encoder_training": "none"},
        {"encoder_training": "adapter", "project_every": 1},
        {"encoder_training": "adapter", "retrain": "reader"},
        {"selection": "paper", "accuracy_loss": "mse"},
        {"selection": "dense", "distance": "cosine", "max_prototypes": 2},
        {"members": 50},
        {"members": 2, "distance": "cosine"},
        {"members": 3, "encoder_training": "none"},
    ],
)
def test_every_member_is_the_embedding_of_its_own_sentence(reviews, encoder, single, changes):
    clf = make(encoder, single.replace(**changes))
    check_prototypes(clf.fit(reviews.texts, reviews.labels), reviews.texts)


def test_the_papers_looser_variant_stays_available(reviews, encoder, single):
    loose = {"exact": False, "retrain": "reader", "encoder_training": "none"}
    clf = make(encoder, single.replace(**loose, epochs=5, project_every=100))
    assert exactness(clf.fit(reviews.texts, reviews.labels)) > 1e-3


@pytest.fixture(scope="module")
def of_sentences(reviews, encoder, single):
    """A classifier whose prototypes are single sentences, which tests only ask."""
    return make(encoder, single).fit(reviews.texts, reviews.labels)


def test_a_model_learns_to_tell_good_from_bad(reviews, unseen_reviews, encoder, single):
    changes = {"epochs": 15, "retrain_epochs": 15, "n_prototypes": 20, "max_prototypes": 12}
    clf = make(encoder, single.replace(**changes))
    clf.fit(reviews.texts, reviews.labels)
    assert clf.score(unseen_reviews.texts, unseen_reviews.labels) > 0.8


def test_the_seed_alone_decides_and_the_callers_random_state_stays(fitted, reviews, encoder, quick):
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    again = make(encoder, quick).fit(reviews.texts, reviews.labels)
    other = make(encoder, quick, random_state=1).fit(reviews.texts, reviews.labels)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()  # noqa: NPY002
    assert random.getstate() == states[2]
    assert not different_tensors(again, fitted)
    assert again.prototypes_ == fitted.prototypes_
    assert again.model_.automata == fitted.model_.automata
    assert different_tensors(other, fitted)


@pytest.mark.parametrize("members", [1, 50])
def test_full_training_is_exact_and_on_a_copy(reviews, tiny_bert_folder, quick, members):
    mine = load_encoder(tiny_bert_folder, device="cpu")
    before = {name: value.clone() for name, value in mine.network.state_dict().items()}
    fingerprint = mine.fingerprint
    rate = {"encoder_training": "full", "encoder_learning_rate": 1e-3}
    settings = quick.replace(members=members, **rate)
    clf = make(mine, settings).fit(reviews.texts, reviews.labels)
    check_prototypes(clf, reviews.texts)
    assert mine.fingerprint == fingerprint
    assert all(torch.equal(before[name], now) for name, now in mine.network.state_dict().items())
    sentence = ["The room was clean."]
    assert not np.allclose(clf.encoder_.encode(sentence), mine.encode(sentence))
    assert clf.read(reviews.texts).unfamiliar.mean() < 0.1


def test_a_hundred_documents_with_several_labels_each_are_learned_by_default(encoder):
    about = {
        "food": ["The pasta was delicious.", "We loved every dish.", "The dessert was excellent."],
        "staff": ["The waiter was friendly.", "Our server was lovely.", "They were kind."],
        "price": ["It was very cheap.", "Great value for money.", "The bill was small."],
    }
    draw = random.Random(0)
    sets = [chosen for n in (1, 2) for chosen in itertools.combinations(sorted(about), n)]
    labels = [sets[number % len(sets)] for number in range(120)]
    texts = [" ".join(draw.choice(about[topic]) for topic in chosen) for chosen in labels]
    classifier = ProtoryNetClassifier(encoder).fit(texts, labels)
    assert classifier.evaluate(texts, labels).accuracy >= 0.95


@pytest.mark.parametrize("count", [4, 20])
@pytest.mark.parametrize("members", [1, 50])
def test_a_handful_of_documents_is_enough(reviews, encoder, quick, count, members):
    clf = make(encoder, quick.replace(members=members, epochs=2))
    clf.fit(reviews.texts[:count], reviews.labels[:count])
    check_prototypes(clf, reviews.texts)
    assert [automaton.label for automaton in clf.model_.automata] == ["bad", "good"]


@pytest.mark.parametrize("members", [1, 50])
def test_documents_that_are_all_alike_give_a_model_of_one_prototype(encoder, quick, members):
    clf = make(encoder, quick.replace(members=members)).fit(["The room was fine."] * 8, [0, 1] * 4)
    assert [item.sentence for item in clf.prototypes_] == ["The room was fine."]
    assert clf.explain("The room was fine.").sentences[0].runner_up is None


def test_the_training_record_tells_how_the_model_came_to_be(fitted, of_sentences):
    record = fitted.model_.training
    assert (record.seed, record.n_documents) == (0, 60)
    assert record.class_frequencies == pytest.approx((0.5, 0.5))
    before, after = ["vectors", "candidates", "words"], ["read back", "automata"]
    steps = ["evidence", "members", "families", "reader", "score"]
    assert list(record.seconds) == [*before, *steps, *after]
    record = of_sentences.model_.training
    steps = ["initialise", "train", "project", "prune", "retrain", "score"]
    assert list(record.seconds) == [*before, *steps, *after]
    assert {"protorynet", "torch"} <= set(record.versions)
    sizes = [point.n_prototypes for point in record.curve]
    assert sizes == sorted(sizes, reverse=True)
    assert all(0 <= point.accuracy <= 1 and 0 < point.threshold <= 1 for point in record.curve)


@pytest.mark.parametrize("selection", ["one_hot", "straight_through", "paper", "dense"])
def test_predictions_are_what_the_network_computes_in_training(selection, encoder, single, reviews):
    settings = single.replace(selection=selection, epochs=1)
    clf = make(encoder, settings).fit(reviews.texts[:30], reviews.labels[:30])
    network, lengths = clf.model_.network, torch.from_numpy(clf.read(reviews.texts).lengths)
    _, embeddings = clf.prepare(list(reviews.texts))
    embedded = clf.model_.embed(embeddings.vectors[embeddings.index])
    steps = network.steps(pairwise_distance(embedded, network.members))
    padded = pad_documents(steps, lengths, int(lengths.max()))
    expected = torch.softmax(at_last_sentence(network.reader(padded), lengths), dim=-1).numpy()
    np.testing.assert_allclose(clf.predict_proba(reviews.texts), expected, atol=1e-3)


def test_too_little_memory_names_the_setting_to_lower(reviews, encoder, quick, monkeypatch):
    def exhausted(run: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(fitting, "train_families", exhausted)
    with pytest.raises(ProtoryNetError, match="lower the setting batch_size"):
        make(encoder, quick).fit(reviews.texts, reviews.labels)


def test_the_stored_automaton_is_the_one_learned_from_the_same_documents(fitted, reviews, quick):
    labels = fitted.model_.labels
    targets = labels.encode(reviews.labels)
    held_out = validation_documents(targets, labels, quick.validation_fraction, 0)
    kept = np.setdiff1d(np.arange(len(targets)), held_out)
    learned, others = ([reviews.texts[number] for number in chosen] for chosen in (kept, held_out))
    bad = fitted.automaton("bad")
    assert (bad.n_train, bad.n_held_out) == (48, 12)
    assert bad == fitted.automaton("bad", learned, held_out=others)
    with pytest.raises(InputError, match="held_out=… needs X"):
        fitted.automaton("good", held_out=reviews.texts)
