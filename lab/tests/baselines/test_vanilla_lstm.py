"""The LSTM over words: its tokeniser, its word vectors, its encoder and the classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from sklearn.base import clone

from protorynet.errors import InputError, SettingsError
from protorynet_lab.baselines import VanillaLSTMClassifier
from protorynet_lab.baselines.sequence_encoder import SequenceEncoder
from protorynet_lab.baselines.sequence_training import WordBatch, read_corpus
from protorynet_lab.baselines.word_vectors import read_word_vectors
from protorynet_lab.baselines.words import Vocabulary, learn_vocabulary, split_words

SMALL = {"hidden_size": 8, "epochs": 3, "learning_rate": 0.01, "device": "cpu"}


@pytest.fixture(scope="module")
def fitted(reviews: Any) -> VanillaLSTMClassifier:
    return VanillaLSTMClassifier(**SMALL).fit(reviews.texts, reviews.labels)


# words


@given(st.text(), st.integers(1, 12))
def test_no_text_gives_more_words_than_asked_for(text: str, most: int) -> None:
    words = split_words(text, most)
    assert len(words) <= most
    assert all(word and not word.isspace() for word in words)


@given(st.lists(st.sampled_from(["good", "bad", "!", "it's"]), max_size=20))
def test_short_texts_keep_all_their_words_in_order(words: list[str]) -> None:
    assert split_words(" ".join(words).upper(), 20) == words


def test_markup_is_no_word_but_a_smaller_sign_is() -> None:
    assert split_words("Bad.<br /><br />3 < 4", 99) == ["bad", ".", "3", "<", "4"]


def test_the_vocabulary_keeps_the_most_frequent_words() -> None:
    documents = [["b", "a", "a"], ["c", "a", "c", "b"], ["once"]]
    assert learn_vocabulary(documents, 2).words == ("a", "b")
    assert learn_vocabulary(documents, 9).words == ("a", "b", "c")


def test_documents_without_any_word_cannot_teach() -> None:
    with pytest.raises(InputError, match="hold no words"):
        VanillaLSTMClassifier(**SMALL).fit([" "] * 8, [0, 1] * 4)


# word vectors


def test_the_text_format_is_read_with_and_without_a_header(tmp_path: Path) -> None:
    for head in ("", "4 2\n"):
        file = tmp_path / "glove.txt"
        file.write_text(f"{head}the 1 2\nnot wanted\n. . . 5 6\ngood -1 0.5\ngood 9 9\n")
        found = read_word_vectors(file, {"good", "the", "."})
        assert found.rows == {"the": 0, "good": 1}
        assert found.vectors.tolist() == [[1, 2], [-1, 0.5]]


def test_a_folder_of_words_and_a_matrix_is_read(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("the\ngood\nbad\n")
    np.save(tmp_path / "vectors.npy", np.arange(6, dtype=np.float16).reshape(3, 2))
    found = read_word_vectors(tmp_path, {"bad", "the"})
    assert {word: found.vectors[row].tolist() for word, row in found.rows.items()} == {
        "the": [0, 1],
        "bad": [4, 5],
    }


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "none of the 1 words"),
        (b"good\n", "line 1: expected a word and 1 to"),
        (b"good\t1\t2\n", "separated by spaces, but found 0"),
        (b"other 1 2\ngood 1\n", "line 2: expected 2 numbers, but found 1"),
        (b"good 1 two\n", "line 1: not all of its fields are numbers"),
        (b"good 1 nan\n", "not all finite"),
        (b"good 1 1e300\n", "not all finite"),
        (b"9 99999\ngood 1\n", "line 1: expected a word"),
        (b"x " * 100_000, "longer than"),
        (b"Good 1 2\n", "in capitals"),
    ],
)
def test_a_bad_text_file_is_refused_in_one_line(
    content: bytes, complaint: str, tmp_path: Path
) -> None:
    file = tmp_path / "glove.txt"
    file.write_bytes(content)
    with pytest.raises(InputError, match=complaint) as caught:
        read_word_vectors(file, {"good"})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("matrix", "complaint"),
    [
        (np.zeros((2, 3), np.float32), "3 words but 2 vectors"),
        (np.zeros(3, np.float32), "should hold a matrix of floats"),
        (np.zeros((3, 2), np.int64), "should hold a matrix of floats"),
        (np.full((3, 2), np.inf, np.float32), "not finite"),
        (np.array([[{}]] * 3), "not a NumPy array"),
    ],
)
def test_a_bad_matrix_is_refused_in_one_line(matrix: Any, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("the\ngood\nbad\n")
    np.save(tmp_path / "vectors.npy", matrix, allow_pickle=True)
    with pytest.raises(InputError, match=complaint):
        read_word_vectors(tmp_path, {"good"})


def test_missing_vectors_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.txt"):
        read_word_vectors(tmp_path / "nowhere.txt", {"good"})
    with pytest.raises(InputError, match=r"vectors\.npy"):
        read_word_vectors(tmp_path, {"good"})


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: Any, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.txt"
    file.write_bytes(b"good 1 2\n" + content)
    try:
        found = read_word_vectors(file, {"good", "a", "0"})
    except InputError:
        return
    assert found.vectors.shape == (len(found.rows), 2)


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1),
        st.lists(st.floats(-1e9, 1e9, width=32), min_size=3, max_size=3),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_written_in_gloves_format_is_read_back(
    tmp_path_factory: Any, vectors: dict[str, list[float]]
) -> None:
    file = tmp_path_factory.getbasetemp() / "written.txt"
    lines = [f"{word} {' '.join(map(repr, vector))}\n" for word, vector in vectors.items()]
    file.write_text("".join(lines), encoding="utf-8", newline="\n")
    found = read_word_vectors(file, list(vectors))
    assert {word: found.vectors[row].tolist() for word, row in found.rows.items()} == vectors


# the encoder


@pytest.fixture(scope="module")
def encoder() -> SequenceEncoder:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return SequenceEncoder(torch.randn(9, 5), 4).eval()


def test_a_document_is_the_mean_of_the_states_of_its_words(encoder: SequenceEncoder) -> None:
    words = torch.tensor([[3, 1, 4]])
    states, _ = encoder.lstm(encoder.embedding(words))
    assert torch.allclose(encoder(words, torch.tensor([3])), states[0].mean(dim=0))


def test_documents_read_together_are_as_if_read_alone(encoder: SequenceEncoder) -> None:
    documents = [[1] * length for length in (7, 1, 3)] + [[2, 5, 8, 1], [4]]
    vocabulary = Vocabulary(tuple("abcdefgh"))
    words = [["abcdefgh"[row - 1] for row in document] for document in documents]
    corpus = vocabulary.rows(words, np.zeros((5, 2), np.float32))

    def encode(batch: WordBatch) -> torch.Tensor:
        return encoder(batch.words, batch.lengths)

    together = read_corpus(encode, corpus, torch.device("cpu"))
    alone = [encoder(torch.tensor([rows]), torch.tensor([len(rows)]))[0] for rows in documents]
    assert torch.allclose(together, torch.stack(alone), atol=1e-6)


# the classifier


def test_an_lstm_beats_chance(fitted: VanillaLSTMClassifier, unseen_reviews: Any) -> None:
    right = fitted.predict(unseen_reviews.texts) == np.array(unseen_reviews.labels)
    assert right.mean() > 0.8


def test_the_same_seed_gives_the_same_lstm(fitted: VanillaLSTMClassifier, reviews: Any) -> None:
    torch.manual_seed(123)  # what went before is of no matter
    again = clone(fitted).fit(reviews.texts, reviews.labels)
    assert (again.predict_proba(reviews.texts) == fitted.predict_proba(reviews.texts)).all()


def test_training_leaves_the_callers_random_numbers_alone(reviews: Any) -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    VanillaLSTMClassifier(**SMALL | {"epochs": 1}).fit(reviews.texts, reviews.labels)
    assert torch.rand(1) == expected


def test_training_starts_from_the_vectors_given(reviews: Any, tmp_path: Path) -> None:
    file = tmp_path / "glove.txt"
    file.write_text("room 1 2 3\nstaff 4 5 6\n")
    slow = SMALL | {"epochs": 1, "learning_rate": 1e-8}
    rival = VanillaLSTMClassifier(vectors=file, **slow).fit(reviews.texts, reviews.labels)
    row = 1 + rival.vocabulary_.words.index("staff")
    learnt = rival.network_.encoder.embedding.weight[row]
    assert torch.allclose(learnt, torch.tensor([4.0, 5.0, 6.0]), atol=1e-4)


def test_a_words_weight_is_what_its_absence_costs(fitted: VanillaLSTMClassifier) -> None:
    text = "the room was dirty . the bed was awful ."
    explanation = fitted.explain(text)
    strongest = explanation.evidence[0]
    without = " ".join(word for word in text.split() if word != strongest.text)
    name = str(explanation.label)
    place = fitted.classes_.tolist().index(name)
    lost = explanation.probabilities[name] - fitted.predict_proba([without])[0, place]
    assert strongest.weight == pytest.approx(lost, abs=1e-6)
    assert len({item.text for item in explanation.evidence}) == len(explanation.evidence)


def test_blank_documents_and_none_at_all_get_probabilities(fitted: VanillaLSTMClassifier) -> None:
    assert fitted.predict_proba(["", "ok"]).sum(axis=1) == pytest.approx([1, 1])
    assert fitted.predict_proba([]).shape == (0, 2)
    assert fitted.explain(" ").evidence == ()


def test_only_so_many_words_of_a_document_are_read(reviews: Any) -> None:
    short = SMALL | {"epochs": 1, "max_length": 4}
    rival = VanillaLSTMClassifier(**short).fit(reviews.texts, reviews.labels)
    one, other = rival.predict_proba(["The bed was very clean .", "The clean bed was very clean ."])
    assert (one == other).all()


def test_progress_is_shown_on_request(reviews: Any, capsys: Any) -> None:
    options = SMALL | {"epochs": 1, "verbose": True}
    VanillaLSTMClassifier(**options).fit(reviews.texts, reviews.labels)
    assert "done in" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"hidden_size": 2.5}, {"learning_rate": "fast"}, {"max_length": True}]
)
def test_settings_out_of_range_are_named(wrong: dict[str, Any], reviews: Any) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        VanillaLSTMClassifier(**SMALL | wrong).fit(reviews.texts, reviews.labels)
