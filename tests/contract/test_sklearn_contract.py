"""scikit-learn's contract, which its own checks do not test for text input."""

import copy
import inspect

import numpy as np
import pandas as pd
import pytest
import sklearn.exceptions
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from protorynet import NotFittedError, ProtoryNetClassifier, ProtoryNetError
from protorynet.errors import EmptyDocumentError, InputError, SettingsError
from protorynet.settings import preset


@pytest.fixture
def unfitted(encoder, quick):
    return ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False)


def test_init_stores_every_parameter_as_it_is():
    """No check, no copy: scikit-learn's clone relies on it."""
    names = list(inspect.signature(ProtoryNetClassifier.__init__).parameters)[1:]
    values = {name: object() for name in names}
    clf = ProtoryNetClassifier(**values)
    assert all(getattr(clf, name) is value for name, value in values.items())
    assert set(vars(clf)) == set(names)


def test_get_and_set_params_work_together(unfitted):
    before = unfitted.get_params()
    assert unfitted.set_params(n_prototypes=5, splitter="paper") is unfitted
    changed = {name for name, value in unfitted.get_params().items() if value != before[name]}
    assert changed == {"n_prototypes", "splitter"}
    with pytest.raises(ValueError, match="Invalid parameter 'prototypes'"):
        unfitted.set_params(prototypes=5)


def test_searches_reach_every_setting(unfitted):
    before = unfitted.settings
    assert unfitted.set_params(settings__epochs=3, settings="paper") is unfitted
    assert unfitted.settings == preset("paper").replace(epochs=3)
    with pytest.raises(ValueError, match="there is no setting"):
        unfitted.set_params(settings=before, settings__epoch=3)


def test_a_clone_has_the_parameters_but_not_the_model_and_learns_the_same(fitted, reviews):
    twin = clone(fitted)
    given, own = twin.get_params(), fitted.get_params()
    assert all(given[name] == own[name] for name in own if name != "encoder")
    with pytest.raises(NotFittedError):
        twin.predict(["The room was clean."])
    before = twin.get_params()
    assert twin.fit(reviews.texts, reviews.labels) is twin
    assert all(value is before[name] for name, value in twin.get_params().items())
    expected = fitted.predict_proba(reviews.texts)
    np.testing.assert_array_equal(twin.predict_proba(reviews.texts), expected)
    copied = copy.deepcopy(fitted)
    np.testing.assert_array_equal(copied.predict_proba(reviews.texts), expected)


def test_it_is_a_classifier_that_shows_what_was_changed(fitted):
    assert is_classifier(ProtoryNetClassifier())
    assert repr(ProtoryNetClassifier()) == "ProtoryNetClassifier()"
    assert "n_prototypes=5" in repr(ProtoryNetClassifier(n_prototypes=5))
    assert "ProtoryNetClassifier" in fitted._repr_html_()


def test_the_number_of_prototypes_may_be_given_directly(unfitted, single, reviews):
    settings, number = single.replace(min_prototypes=6), np.int64(5)
    unfitted.set_params(n_prototypes=number, max_prototypes=number, settings=settings)
    unfitted.fit(reviews.texts, reviews.labels)
    assert unfitted.model_.settings.n_prototypes == 5
    assert len(unfitted.prototypes_) <= 5


def test_fitting_again_forgets_the_old_model_unless_it_fails(reviews, fitted, unfitted):
    unfitted.fit(iter(reviews.texts[:12]), [1, 2] * 6)  # texts may come one by one
    unfitted.fit(reviews.texts, reviews.labels)
    with pytest.raises(InputError):
        unfitted.fit(reviews.texts, ["only one class"] * 60)
    assert unfitted.classes_.tolist() == ["bad", "good"]
    expected = fitted.predict_proba(reviews.texts)
    np.testing.assert_array_equal(unfitted.predict_proba(reviews.texts), expected)


@pytest.mark.parametrize(
    "container",
    [
        tuple,
        lambda texts: np.array(texts),
        lambda texts: np.array(texts, dtype=object),
        lambda texts: np.array(texts)[:, None],
        lambda texts: pd.Series(texts, index=range(100, 100 + len(texts))),
        lambda texts: iter(texts),
    ],
    ids=["tuple", "str", "object", "column", "series", "iterator"],
)
def test_texts_come_in_any_container(fitted, reviews, container):
    expected = fitted.predict_proba(reviews.texts)
    np.testing.assert_array_equal(fitted.predict_proba(container(reviews.texts)), expected)


def test_predict_is_the_argmax_of_probabilities_that_sum_to_one(fitted, unseen_reviews):
    for texts in (unseen_reviews.texts, ["Never seen words."], ["?!"], []):
        probabilities = fitted.predict_proba(texts)
        assert probabilities.shape == (len(texts), 2)
        assert (probabilities >= 0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
        expected = fitted.classes_[probabilities.argmax(axis=1)]
        assert fitted.predict(texts).tolist() == expected.tolist()


def test_score_is_the_accuracy(several, fitted, unseen_reviews, reviews):
    right = fitted.predict(unseen_reviews.texts) == np.array(unseen_reviews.labels)
    assert fitted.score(unseen_reviews.texts, unseen_reviews.labels) == pytest.approx(right.mean())
    targets = np.array([[name in text for name in several.classes_] for text in reviews.texts])
    right = (several.predict(reviews.texts) == targets).all(axis=1)
    assert several.score(reviews.texts, targets) == pytest.approx(right.mean())


@pytest.mark.parametrize(
    "call",
    [
        lambda clf: clf.predict(["a"]),
        lambda clf: clf.predict_proba(["a"]),
        lambda clf: clf.explain("a"),
        lambda clf: clf.evaluate(["a"], ["b"]),
        lambda clf: clf.prototypes_,
        lambda clf: clf.classes_,
        lambda clf: clf.save("model"),
    ],
)
def test_asking_before_fitting_is_an_error_of_both_worlds(call):
    with pytest.raises(NotFittedError, match="call fit or load first") as caught:
        call(ProtoryNetClassifier())
    assert isinstance(caught.value, sklearn.exceptions.NotFittedError)
    assert isinstance(caught.value, ProtoryNetError)
    assert not hasattr(ProtoryNetClassifier(), "classes_")


def test_it_works_in_a_pipeline_whose_settings_are_searched(unfitted, single, reviews):
    unfitted.set_params(settings=single)
    shouting = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    pipeline = make_pipeline(shouting, unfitted)
    grid = {
        "protorynetclassifier__n_prototypes": np.array([4, 6]),
        "protorynetclassifier__encoder_training": ["none"],
    }
    search = GridSearchCV(pipeline, grid, cv=2)  # which clones and cross-validates
    search.fit(pd.Series(reviews.texts), pd.Series(reviews.labels))
    assert search.best_params_["protorynetclassifier__n_prototypes"] in (4, 6)
    assert search.predict(reviews.texts).shape == (60,)
    assert search.best_estimator_.classes_.tolist() == ["bad", "good"]


def test_sequences_of_vectors_are_learnt_without_an_encoder(of_vectors, single):
    clf, X, y = of_vectors
    assert cross_val_score(clone(clf).set_params(settings=single), X, y, cv=2).shape == (2,)
    assert clf.prototypes_[0].sentence.startswith("sequence ")
    assert len(clf.explain(X[0]).sentences) == len(X[0])
    assert [e.label for e in clf.explain(X)] == [str(label) for label in clf.predict(X)]
    names = {measure.name for measure in clf.evaluate(X, y).measures}
    assert "ids_only_accuracy" in names
    assert "substitution_agreement" not in names
    with pytest.raises(InputError, match=r"have 5 components, but the model was trained .* of 4"):
        clf.predict([np.zeros((2, 5))])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "wrap it in a list"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "a table with columns a, b; choose one"),
        (pd.DataFrame({"text": ["x"]}), r"choose one, as in table\['text'\]"),
        (np.array([["x", "y"]]), r"got shape \(1, 2\)"),
        (None, "expected a sequence of texts, but got NoneType"),
        ([3], "row 0 .* of type int"),
        (["fine.", None], "row 1 .* NoneType"),
        (["fine.", float("nan")], "row 1 .* nan of type float"),
        ([b"bytes"], "row 0 .* bytes"),
        ([["nested"]], "row 0 .* list"),
    ],
)
def test_what_are_no_texts_is_refused(fitted, texts, message):
    with pytest.raises(InputError, match=message):
        fitted.predict(texts)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["good", "bad"] * 29, "60 documents but 58 labels"),
        (None, "labels are missing"),
        ("good", "expected a sequence of labels, but got str"),
        (1, "expected a sequence of labels, but got int"),
    ],
)
def test_labels_that_are_not_one_per_text_are_refused(unfitted, fitted, reviews, labels, message):
    for call in (unfitted.fit, fitted.evaluate):
        with pytest.raises(InputError, match=message):
            call(reviews.texts, labels)
    with pytest.raises(InputError, match="no documents to train on"):
        unfitted.fit([], [])


@pytest.mark.parametrize(
    ("parameter", "values", "error"),
    [
        ("settings", [None, "nonsense"], SettingsError),
        ("n_prototypes", [1, "5"], SettingsError),
        ("max_prototypes", [1, "5"], SettingsError),
        ("encoder_training", ["some"], SettingsError),
        ("splitter", ["spaces"], InputError),
        ("language", ["german", None], InputError),
        ("on_empty", ["ignore"], InputError),
        ("random_state", [-1, None, True], InputError),
        ("device", ["gpu", "cuda:99"], ProtoryNetError),
        ("encoder", ["no such encoder", 3, None], ProtoryNetError),
    ],
)
def test_a_wrong_parameter_is_refused_at_fit(unfitted, reviews, parameter, values, error):
    for value in values:
        unfitted.set_params(**{parameter: value})
        with pytest.raises(error, match=r"\w") as caught:
            unfitted.fit(reviews.texts, reviews.labels)
        assert "\n" not in str(caught.value)


@pytest.fixture
def with_gaps(reviews):
    texts, labels = list(reviews.texts), list(reviews.labels)
    texts[0] = ""
    texts[7] = " \n "
    return texts, labels


def test_empty_documents_are_refused_by_row(unfitted, fitted, with_gaps):
    for call in (lambda: unfitted.fit(*with_gaps), lambda: fitted.predict(with_gaps[0])):
        with pytest.raises(EmptyDocumentError, match=r"2 document.* row 0, 7"):
            call()


def test_empty_documents_can_be_skipped_which_changes_nothing_for_the_others(unfitted, with_gaps):
    texts, labels = with_gaps
    clf = unfitted.set_params(on_empty="skip").fit(texts, labels)
    assert (clf.n_skipped_, clf.model_.training.n_documents) == (2, 58)
    probabilities = clf.predict_proba(texts)
    for row in (0, 7):
        assert probabilities[row].tolist() == pytest.approx(clf.model_.training.class_frequencies)
    assert clf.predict(texts).tolist() == clf.classes_[probabilities.argmax(axis=1)].tolist()
    kept = [row for row, text in enumerate(texts) if text.strip()]
    some = [texts[row] for row in kept]
    without = clone(clf).fit(some, [labels[row] for row in kept])
    np.testing.assert_array_equal(probabilities[kept], without.predict_proba(some))
    assert clf.predict_proba([""]).shape == (1, 2)
    assert clf.evaluate(texts, labels, judge=unfitted.encoder).n_documents == 58
    assert all(item.sentence in texts[item.row] for item in clf.prototypes_)
    with pytest.raises(EmptyDocumentError):
        clf.explain("")
