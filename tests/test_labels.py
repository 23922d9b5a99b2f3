"""Labels as users write them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from protorynet.errors import InputError
from protorynet.labels import LabelCode, learn_labels


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["good", "bad", "good"], ("bad", "good")),
        ([3, 1, 2, 1], (1, 2, 3)),
        ([True, False], (False, True)),
        ([1.5, -2.0], (-2.0, 1.5)),
        (np.array(["x", "yy"], dtype=object), ("x", "yy")),
        (np.array([2, 7], dtype=np.int8), (2, 7)),
        (pd.Series(["b", "a"], index=[7, 7]), ("a", "b")),
        (pd.Series(["b", "a"], dtype="category"), ("a", "b")),
        (pd.Series([1, 0], dtype="Int64"), (0, 1)),
        (["sehr gut", "très mauvais", "不错"], ("sehr gut", "très mauvais", "不错")),
    ],
)
def test_classes_are_the_distinct_labels_in_order(labels, classes):
    code = learn_labels(labels)
    assert code == LabelCode(classes, "multiclass")
    assert [type(label) for label in code.classes] == [type(label) for label in classes]


@given(
    st.lists(st.sampled_from(["a", "b c", "ü", "0"]), min_size=2).filter(lambda y: len(set(y)) > 1)
)
def test_encoding_and_decoding_gives_the_labels_back(labels):
    code = learn_labels(labels)
    targets = code.encode(labels)
    assert (targets.sum(axis=1) == 1).all()
    assert code.decode(targets).tolist() == labels


@pytest.mark.parametrize(
    "labels",
    [
        np.array([[1, 0], [1, 1]]),
        [[1, 0], [1, 1]],
        [(True, False), (True, True)],
        pd.DataFrame({0: [1, 1], 1: [0, 1]}),
    ],
)
def test_a_matrix_of_zeros_and_ones_means_several_labels(labels):
    code = learn_labels(labels)
    assert code == LabelCode((0, 1), "multilabel")
    assert code.encode(labels).tolist() == [[1, 0], [1, 1]]


def test_the_columns_of_a_table_name_the_classes():
    code = learn_labels(pd.DataFrame({"fun": [1, 0], "sad": [1, 1]}))
    assert code == LabelCode(("fun", "sad"), "multilabel")


@pytest.mark.parametrize(
    "labels",
    [
        [("b", "a"), (), ("a",)],
        [{"a", "b"}, set(), {"a"}],
        pd.Series([("b", "a"), (), ("a",)]),
        [np.array(["a", "b"]), np.array([], dtype=str), np.array(["a"])],
        [{3, 5}, set(), {3}],
    ],
)
def test_sets_of_names_mean_several_labels(labels):
    code = learn_labels(labels)
    assert code in (LabelCode(("a", "b"), "multilabel"), LabelCode((3, 5), "multilabel"))
    assert code.encode(labels).tolist() == [[1, 1], [0, 0], [1, 0]]


def test_decoding_several_labels_takes_all_of_at_least_one_half():
    code = LabelCode(("a", "b"), "multilabel")
    probabilities = np.array([[0.5, 0.49], [0.9, 0.8], [0.1, 0.2]], np.float32)
    assert code.decode(probabilities).tolist() == [[1, 0], [1, 1], [0, 0]]
    assert [code.name_of(each) for each in probabilities] == ["a", "a, b", "(none)"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 5, r"5 documents have only one class \('a'\)"),
        ([], "0 documents have only one class"),
        (["a", 1], "mix text and numbers"),
        ([{"a"}, {1}], "mix text and numbers"),
        (["a", None], "the label None is not a text"),
        (["a", float("nan")], "the label nan is not a text"),
        ([1.0, float("inf")], "the label inf is not a text"),
        (pd.Series(["a", pd.NA]), "is not a text"),
        (["a", b"b"], "is not a text"),
        (["\ud800", "b"], "half a Unicode character"),
        ([("a", None), ("a",)], "the label None is not a text"),
        ([(), ()], "no document has any label"),
        (np.ones((3, 1)), r"shape \(n, 1\)"),
        (np.array([[1, 2], [0, 1]]), "only 0 and 1"),
        (np.array([["a", "b"], ["b", "a"]]), "only 0 and 1"),
        (pd.DataFrame([[1, 0]], columns=["a", "a"]), "share a name"),
        (list(range(60)), "60 distinct labels for 60 documents look like values"),
    ],
)
def test_unusable_labels_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        learn_labels(labels)


@pytest.mark.parametrize(
    ("task", "labels", "message"),
    [
        ("multiclass", ["a", "ugly", "so-so"], r"'so-so', 'ugly' were not seen .* 'a', 'b'"),
        ("multilabel", [("a", "c")], r"label\(s\) 'c' were not seen"),
        ("multilabel", ["ab"], "expected a tuple of labels for each document, but got 'ab'"),
        ("multilabel", np.zeros((2, 3)), "has 3 columns, but the model has 2 classes"),
    ],
)
def test_labels_that_a_model_does_not_know_are_refused(task, labels, message):
    with pytest.raises(InputError, match=message):
        LabelCode(("a", "b"), task).encode(labels)


@pytest.mark.parametrize(("classes", "labels"), [(["0", "1"], [1, 0]), ([0, 1], ["1", "0"])])
def test_a_label_of_another_type_is_known_by_its_name(classes, labels):
    assert learn_labels(classes).encode(labels).argmax(axis=1).tolist() == [1, 0]
