"""Rivals that read word by word: tokeniser, word vectors, the LSTM and ProSeNet."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from protorynet.errors import InputError
from protorynet_lab.baselines import ProSeNetClassifier, VanillaLSTMClassifier
from protorynet_lab.baselines.prosenet import ProSeNetwork
from protorynet_lab.baselines.sequence_rivals import SequenceEncoder, WordBatch, read_corpus
from protorynet_lab.baselines.word_vectors import (
    read_word_vectors,
    split_words,
)

SMALL = {"hidden_size": 8, "epochs": 3, "learning_rate": 0.01, "device": "cpu"}
PROTOTYPES = SMALL | {"prototype_epochs": 2, "project_every": 1}
QUICKEST = PROTOTYPES | {"epochs": 1, "prototype_epochs": 1}


@pytest.fixture(scope="module")
def lstm(reviews) -> VanillaLSTMClassifier:
    return VanillaLSTMClassifier(**SMALL).fit(reviews.texts, reviews.labels)


@pytest.fixture(scope="module")
def prosenet(reviews) -> ProSeNetClassifier:
    return ProSeNetClassifier(n_prototypes=4, **PROTOTYPES).fit(reviews.texts, reviews.labels)


@given(st.text(), st.integers(1, 12))
def test_no_text_gives_more_words_than_asked_for(text, most):
    words = split_words(text, most)
    assert len(words) <= most
    assert all(word and not word.isspace() for word in words)


def test_markup_is_no_word_but_a_smaller_sign_is():
    assert split_words("Bad.<br /><br />3 < 4", 99) == ["bad", ".", "3", "<", "4"]


@pytest.mark.parametrize("form", ["", "4 2\n", "folder"])
def test_vectors_are_read_from_text_with_and_without_a_header_and_from_a_folder(tmp_path, form):
    path = tmp_path if form == "folder" else tmp_path / "glove.txt"
    if form == "folder":
        (path / "words.txt").write_text("the\nother\ngood\n")
        np.save(path / "vectors.npy", np.array([[1, 2], [0, 0], [-1, 0.5]], np.float16))
    else:
        path.write_text(f"{form}the 1 2\nnot wanted\n. . . 5 6\ngood -1 0.5\ngood 9 9\n")
    found = read_word_vectors(path, {"good", "the", "."})
    expected = {"the": [1, 2], "good": [-1, 0.5]}
    assert {word: vector.tolist() for word, vector in found.items()} == expected


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "none of the 1 words"),
        (b"good\n", "line 1: expected a word and 1 to"),
        (b"good\t1\t2\n", "separated by spaces, but found 0"),
        (b"other 1 2\ngood 1\n", "line 2: expected 2 numbers, but found 1"),
        (b"good 1 two\n", "line 1: not all of its fields are numbers"),
        (b"good 1 nan\n", "not all finite"),
        (b"Good 1 2\n", "in capitals"),
        (np.zeros((2, 3), np.float32), "3 words but 2 vectors"),
        (np.zeros(3, np.float32), "should hold a matrix of floats"),
        (np.full((3, 2), np.inf, np.float32), "not finite"),
        (np.array([[{}]] * 3), "not a NumPy array"),
        ("nowhere.txt", r"nowhere\.txt"),
        ("", r"vectors\.npy"),
    ],
)
def test_bad_vectors_are_refused_in_one_line(content, complaint, tmp_path):
    path = tmp_path / (content if isinstance(content, str) else "vectors")
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, np.ndarray):
        path.mkdir()
        (path / "words.txt").write_text("the\ngood\nbad\n")
        np.save(path / "vectors.npy", content, allow_pickle=True)
    with pytest.raises(InputError, match=complaint) as caught:
        read_word_vectors(path, {"good"})
    assert "\n" not in str(caught.value)


def test_a_words_weight_is_what_its_absence_costs(lstm):
    text = "the room was dirty . the bed was awful ."
    explanation = lstm.explain(text)
    strongest = explanation.evidence[0]
    without = " ".join(word for word in text.split() if word != strongest.text)
    name = str(explanation.label)
    label = lstm.classes_.tolist().index(name)
    lost = explanation.probabilities[name] - lstm.predict_proba([without])[0, label]
    assert strongest.weight == pytest.approx(lost, abs=1e-6)
    assert len({item.text for item in explanation.evidence}) == len(explanation.evidence)
    assert lstm.explain(" ").evidence == ()


def squared(a: torch.Tensor, b: torch.Tensor) -> float:
    return sum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True))


def test_the_objective_is_the_weighted_sum_of_its_slow_and_obvious_terms():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = ProSeNetwork(
            SequenceEncoder(torch.randn(9, 5), 4), torch.randn(3, 4), torch.randn(2, 3), scale=2.0
        ).eval()
    batch = WordBatch(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), torch.tensor([0, 1]))
    network.requires_grad_(False)
    vectors, prototypes = 2.0 * network.encoder(batch), network.prototypes
    distances = torch.tensor([[squared(x, p) for p in prototypes] for x in vectors])
    logits = torch.exp(-distances) @ network.weight.T
    gaps = [
        max(0.0, 5.0 - math.sqrt(squared(prototypes[i], prototypes[j]))) ** 2
        for i in range(3)
        for j in range(i)
    ]
    expected = (
        -logits.log_softmax(dim=1)[[0, 1], [0, 1]].mean()
        + 0.1 * sum(min(row) for row in distances.tolist()) / 2
        + 0.2 * sum(min(column) for column in distances.T.tolist()) / 3
        + 0.3 * sum(gaps) / 3
        + 0.4 * network.weight.abs().sum() / 3
    )
    weights = ProSeNetClassifier(
        clustering=0.1, evidence=0.2, diversity=0.3, sparsity=0.4, d_min=5.0
    )
    assert float(network.loss(batch, weights)) == pytest.approx(float(expected), rel=1e-4)


def test_every_prototype_is_a_training_document_of_its_own(prosenet, reviews):
    shown = prosenet.prototypes_
    assert [reviews.labels[item.row] for item in shown] == [item.label for item in shown]
    # What is shown is what is used: a document is at distance 0 of the prototype it is.
    vectors = prosenet.network_.prototypes
    corpus = prosenet._corpus(prosenet._words([item.text for item in shown]))
    encoded = read_corpus(prosenet.network_.encode, corpus, torch.device("cpu"))
    assert torch.allclose(encoded, vectors, atol=1e-3)


def test_the_evidence_adds_up_to_the_lead_of_the_class(prosenet, reviews):
    explanation = prosenet.explain(reviews.texts[0])
    mine = explanation.probabilities[str(explanation.label)]
    lead = sum(item.weight for item in explanation.evidence)
    assert 1 / (1 + math.exp(-lead)) == pytest.approx(mine, abs=1e-4)
    assert {item.label for item in explanation.evidence} <= {"good", "bad"}


def test_the_number_of_prototypes_is_chosen_on_validation_documents(reviews):
    rival = ProSeNetClassifier(**QUICKEST).fit(reviews.texts, reviews.labels)
    accuracies = rival.validation_accuracies_
    assert list(accuracies) == [5, 20, 50]  # of the paper's sizes, those with documents enough
    best = max(accuracies.values())
    chosen = min(size for size, accuracy in accuracies.items() if accuracy == best)
    assert len(rival.prototypes_) == chosen
    assert rival.validation_accuracy_ == best
