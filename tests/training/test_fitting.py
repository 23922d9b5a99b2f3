"""What a training run promises: exact prototypes, none dead or double, the same for one seed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from protorynet import ProtoryNetClassifier, Settings
from protorynet.encoders import load_encoder
from protorynet.errors import InputError, ProtoryNetError
from protorynet.labels import LabelCode
from protorynet.model import Model
from protorynet.network import at_last_sentence, pad_documents, pairwise_distance
from protorynet.training import fitting, validation_documents


def tensors(model: Model) -> dict[str, Tensor]:
    parts = {"network": model.network, "centring": model.centring, "adapter": model.adapter}
    return {
        f"{part}.{name}": value
        for part, module in parts.items()
        if module is not None
        for name, value in module.state_dict().items()
    }


def identical(first: Model, second: Model) -> bool:
    a, b = tensors(first), tensors(second)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def make(encoder: Any, settings: Settings, **options: Any) -> ProtoryNetClassifier:
    return ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False, **options)


def exactness(clf: ProtoryNetClassifier) -> float:
    """Return the largest difference of a prototype's vector and its sentence encoded again."""
    vectors = clf.encoder_.encode([item.sentence for item in clf.prototypes_])
    return float((clf.model_.embed(vectors) - clf.model_.network.prototypes).abs().max())


def check_prototypes(clf: ProtoryNetClassifier, texts: list[str]) -> None:
    settings, model = clf.model_.settings, clf.model_
    assert 1 <= len(clf.prototypes_) <= settings.max_prototypes
    assert len(model.network.prototypes) == len(clf.prototypes_)
    sentences = [item.sentence for item in clf.prototypes_]
    assert len(set(sentences)) == len(sentences)
    for item in clf.prototypes_:
        assert item.usage > 0
        assert item.sentence in texts[item.row]
        assert sum(item.class_rate.values()) == pytest.approx(1)
    distances = torch.cdist(model.network.prototypes, model.network.prototypes)
    assert (distances + torch.eye(len(distances)) > 1e-4).all()
    assert sorted(item.id for item in clf.prototypes_) == list(range(1, len(sentences) + 1))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("encoder_training", ["none", "adapter"])
@pytest.mark.parametrize("retrain", ["together", "reader"])
def test_every_prototype_is_the_embedding_of_its_sentence(
    reviews: Any, encoder: Any, quick: Settings, encoder_training: str, retrain: str, seed: int
) -> None:
    settings = quick.replace(encoder_training=encoder_training, retrain=retrain, project_every=1)
    clf = make(encoder, settings, random_state=seed).fit(reviews.texts, reviews.labels)
    assert exactness(clf) < 1e-5
    check_prototypes(clf, reviews.texts)


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
@pytest.mark.parametrize("selection", ["straight_through", "paper", "dense"])
def test_every_selection_and_distance_delivers_exact_prototypes(
    reviews: Any, encoder: Any, quick: Settings, selection: str, distance: str
) -> None:
    settings = quick.replace(selection=selection, distance=distance, accuracy_loss="mse")
    clf = make(encoder, settings).fit(reviews.texts, reviews.labels)
    assert exactness(clf) < 1e-5
    check_prototypes(clf, reviews.texts)


@pytest.mark.parametrize("most", [2, 3, 5])
def test_no_more_prototypes_than_allowed_are_delivered(
    reviews: Any, encoder: Any, quick: Settings, most: int
) -> None:
    clf = make(encoder, quick, max_prototypes=most).fit(reviews.texts, reviews.labels)
    assert len(clf.prototypes_) <= most


def test_the_pruning_curve_is_kept(reviews: Any, encoder: Any, quick: Settings) -> None:
    curve = make(encoder, quick).fit(reviews.texts, reviews.labels).model_.training.curve
    sizes = [point.n_prototypes for point in curve]
    assert sizes == sorted(sizes, reverse=True)
    assert all(0 <= point.accuracy <= 1 and 0 < point.threshold <= 1 for point in curve)


def test_nothing_is_tried_where_the_number_of_prototypes_is_given(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    fixed = quick.replace(n_prototypes=6, min_prototypes=6, max_prototypes=6)
    curve = make(encoder, fixed).fit(reviews.texts, reviews.labels).model_.training.curve
    assert [point.n_prototypes for point in curve] == [6]


def test_a_model_learns_to_tell_good_from_bad(
    reviews: Any, unseen_reviews: Any, encoder: Any, quick: Settings
) -> None:
    settings = quick.replace(epochs=30, retrain_epochs=30, n_prototypes=20, max_prototypes=12)
    clf = make(encoder, settings).fit(reviews.texts, reviews.labels)
    assert clf.score(unseen_reviews.texts, unseen_reviews.labels) > 0.8


def test_the_same_seed_gives_the_same_model_bit_for_bit(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    first, second = (make(encoder, quick).fit(reviews.texts, reviews.labels) for _ in range(2))
    assert identical(first.model_, second.model_)
    assert first.prototypes_ == second.prototypes_


def test_another_seed_gives_another_model(reviews: Any, encoder: Any, quick: Settings) -> None:
    first, second = (
        make(encoder, quick, random_state=seed).fit(reviews.texts, reviews.labels)
        for seed in (0, 1)
    )
    assert not identical(first.model_, second.model_)


def test_random_numbers_of_the_caller_neither_matter_nor_change(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    models = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
        models.append(make(encoder, quick).fit(reviews.texts, reviews.labels).model_)
        assert torch.equal(torch.get_rng_state(), states[0])
        assert (np.random.get_state()[1] == states[1]).all()  # noqa: NPY002
        assert random.getstate() == states[2]
    assert identical(*models)


def test_full_training_delivers_exact_prototypes_and_leaves_the_users_encoder_alone(
    reviews: Any, tiny_bert_folder: Any, quick: Settings
) -> None:
    mine = load_encoder(tiny_bert_folder, device="cpu")
    before = {name: value.clone() for name, value in mine.network.state_dict().items()}
    fingerprint = mine.fingerprint
    settings = quick.replace(encoder_training="full", encoder_learning_rate=1e-3)
    clf = make(mine, settings).fit(reviews.texts, reviews.labels)
    assert exactness(clf) < 1e-5
    check_prototypes(clf, reviews.texts)
    assert mine.fingerprint == fingerprint
    assert all(torch.equal(before[name], now) for name, now in mine.network.state_dict().items())
    assert not np.allclose(
        clf.encoder_.encode(["The room was clean."]), mine.encode(["The room was clean."])
    )


def test_full_training_with_the_same_seed_gives_the_same_model(
    reviews: Any, tiny_bert_folder: Any, quick: Settings
) -> None:
    settings = quick.replace(encoder_training="full", encoder_learning_rate=1e-3)
    first, second = (
        make(tiny_bert_folder, settings).fit(reviews.texts, reviews.labels) for _ in range(2)
    )
    assert identical(first.model_, second.model_)
    a, b = (clf.encoder_.network.state_dict() for clf in (first, second))
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_full_training_needs_an_encoder_with_weights(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    with pytest.raises(InputError, match="encoder_training='full' needs a transformer"):
        make(encoder, quick, encoder_training="full").fit(reviews.texts, reviews.labels)


def test_several_classes_are_learnt(reviews: Any, encoder: Any, quick: Settings) -> None:
    labels = [
        f"{label} {len(text) % 2}"
        for text, label in zip(reviews.texts, reviews.labels, strict=True)
    ]
    clf = make(encoder, quick).fit(reviews.texts, labels)
    assert clf.classes_.tolist() == sorted(set(labels))
    assert clf.predict_proba(reviews.texts).shape == (60, 4)
    check_prototypes(clf, reviews.texts)


def test_several_labels_at_once_are_learnt(reviews: Any, encoder: Any, quick: Settings) -> None:
    targets = np.array(
        [
            ["good" in label, "room" in text]
            for text, label in zip(reviews.texts, reviews.labels, strict=True)
        ]
    ).astype(int)
    clf = make(encoder, quick).fit(reviews.texts, targets)
    assert clf.model_.labels.task == "multilabel"
    predicted = clf.predict(reviews.texts)
    assert predicted.shape == targets.shape
    np.testing.assert_array_equal(predicted, clf.predict_proba(reviews.texts) >= 0.5)
    assert exactness(clf) < 1e-5


def test_the_papers_looser_variant_stays_available(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    settings = quick.replace(
        exact=False, retrain="reader", encoder_training="none", epochs=5, project_every=100
    )
    clf = make(encoder, settings).fit(reviews.texts, reviews.labels)
    assert exactness(clf) > 1e-3


@pytest.mark.parametrize("count", [4, 5, 20])
def test_a_handful_of_documents_is_enough(
    reviews: Any, encoder: Any, quick: Settings, count: int
) -> None:
    clf = make(encoder, quick).fit(reviews.texts[:count], reviews.labels[:count])
    check_prototypes(clf, reviews.texts)


def test_too_few_documents_are_refused(reviews: Any, encoder: Any, quick: Settings) -> None:
    with pytest.raises(InputError, match="3 documents are too few"):
        make(encoder, quick).fit(reviews.texts[:3], reviews.labels[:3])


def test_documents_that_are_all_alike_give_a_model_of_one_prototype(
    encoder: Any, quick: Settings
) -> None:
    clf = make(encoder, quick).fit(["The room was fine."] * 8, [0, 1] * 4)
    assert [item.sentence for item in clf.prototypes_] == ["The room was fine."]
    assert clf.explain("The room was fine.").sentences[0].runner_up is None


def test_documents_of_fragments_only_can_be_learnt(encoder: Any, quick: Settings) -> None:
    clf = make(encoder, quick).fit(["Yes.", "No."] * 6, [1, 0] * 6)
    assert {item.sentence for item in clf.prototypes_} <= {"Yes.", "No."}


def test_the_training_record_tells_how_the_model_came_to_be(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    record = make(encoder, quick, random_state=7).fit(reviews.texts, reviews.labels).model_.training
    assert record.seed == 7
    assert record.n_documents == 60
    assert record.class_frequencies == pytest.approx((0.5, 0.5))
    assert set(record.seconds) >= {"initialise", "train", "prune", "retrain", "score"}
    assert {"protorynet", "torch"} <= set(record.versions)


def test_scores_and_usage_are_what_the_model_says(
    reviews: Any, encoder: Any, quick: Settings
) -> None:
    clf = make(encoder, quick).fit(reviews.texts, reviews.labels)
    for item in clf.prototypes_:
        alone = clf.predict_proba([item.sentence])[0]
        assert list(item.scores.values()) == pytest.approx(alone.tolist(), abs=1e-4)
    assert sum(item.usage for item in clf.prototypes_) == pytest.approx(1)


@pytest.mark.parametrize("selection", ["straight_through", "paper", "dense"])
def test_predictions_are_what_the_network_computes_in_training(
    selection: Any, encoder: Any, quick: Settings, reviews: Any
) -> None:
    clf = make(encoder, quick.replace(selection=selection)).fit(reviews.texts, reviews.labels)
    trajectory = clf.read(reviews.texts)
    network, lengths = clf.model_.network, torch.from_numpy(trajectory.lengths)
    _, embeddings = clf.prepare(list(reviews.texts))
    embedded = clf.model_.embed(embeddings.vectors[embeddings.rows])
    steps = network.steps(pairwise_distance(embedded, network.prototypes))
    logits = at_last_sentence(
        network.reader(pad_documents(steps, lengths, int(lengths.max()))), lengths
    )
    expected = torch.softmax(logits, dim=-1).numpy()
    np.testing.assert_allclose(clf.predict_proba(reviews.texts), expected, atol=1e-3)


def test_a_label_that_one_document_has_is_never_held_out_of_several() -> None:
    targets = np.zeros((20, 2), np.float32)
    targets[:, 0] = 1
    targets[7, 1] = 1
    code = LabelCode(("common", "rare"), "multilabel")
    for seed in range(50):
        assert 7 not in validation_documents(targets, code, 0.1, seed)


def test_too_little_memory_names_the_setting_to_lower(
    reviews: Any, encoder: Any, quick: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(run: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(fitting, "train_protorynet", exhausted)
    with pytest.raises(ProtoryNetError, match="lower the setting batch_size"):
        make(encoder, quick).fit(reviews.texts, reviews.labels)
