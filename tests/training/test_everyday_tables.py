"""Tables as people have them, of real texts: a hundred classes, and queries of one sentence."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from protorynet import ProtoryNetClassifier, read_table
from protorynet.data import split_documents
from protorynet.training.families import count_families

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all((DATA / f"{name}.parquet").is_file() for name in ("newsgroups20", "dbpedia")),
        reason="newsgroups20.parquet and dbpedia.parquet are not in ../shared/data",
    ),
]


def read_some(name: str, split: str, count: int, letters: int) -> tuple[list[str], list[str]]:
    table = read_table(DATA / f"{name}.parquet", text="text", label="label", split=split)
    rows = np.random.default_rng(0).permutation(len(table))[:count]
    return [table.texts[row][:letters] for row in rows], [str(table.labels[row]) for row in rows]


def bag_of_words(train: tuple[list[str], list[str]], test: tuple[list[str], list[str]]) -> float:
    bags = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    line = LogisticRegression(C=10, max_iter=1000).fit(bags.fit_transform(train[0]), train[1])
    return line.score(bags.transform(test[0]), test[1])


def test_a_hundred_classes_are_learned_at_least_three_quarters_as_well_as_by_a_bag_of_words():
    """Parts of newsgroups by their words, which a bag of words has an easy game with."""
    texts, groups = read_some("newsgroups20", "train", 4_000, 400)
    words = TfidfVectorizer(min_df=3, max_df=0.2, stop_words="english").fit_transform(texts)
    labels = np.array(groups, object)
    for group in set(groups):
        own = np.flatnonzero(np.array(groups) == group)
        parts = KMeans(5, random_state=0, n_init=1).fit_predict(words[own])
        labels[own] = [f"{group} {part}" for part in parts]
    train, test = (texts[:3_000], list(labels[:3_000])), (texts[3_000:], list(labels[3_000:]))
    clf = ProtoryNetClassifier(device="cpu", on_empty="skip").fit(*train)
    assert len(set(train[1])) > 90
    assert 100 < len(clf.prototypes_) <= count_families(20, len(clf.classes_))
    found, floor = clf.score(*test), bag_of_words(train, test)
    print(f"by ids {found:.3f}, bag of words {floor:.3f}; {clf.model_.training.seconds}")
    assert found >= 0.75 * floor


def test_queries_of_one_sentence_are_learned_as_well_as_by_a_bag_of_words():
    parts = []
    for split, count in (("train", 1_500), ("test", 1_000)):
        texts, labels = read_some("dbpedia", split, count, 2_000)
        sentences = split_documents(texts)
        starts = np.cumsum(sentences.lengths) - sentences.lengths
        parts.append(([sentences.texts[start] for start in starts], labels))
    clf = ProtoryNetClassifier(device="cpu").fit(*parts[0])
    assert clf.score(*parts[1]) >= bag_of_words(*parts)
