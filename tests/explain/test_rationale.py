"""Why a sentence is like a prototype: the words, found by leaving each out."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from protorynet import ProtoryNetClassifier as Classifier
from protorynet.data import Splitter
from protorynet.errors import InputError
from protorynet.explain import explain_matches, explain_words
from protorynet.explain.leave_one_out import Rationale, leave_out, word_spans

SENTENCE = "The room was clean, but the breakfast was awful."


class Counting:
    """An encoder that remembers what it was given."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder
        self.calls: list[list[str]] = []

    def encode(self, sentences: list[str]) -> Any:
        self.calls.append(sentences)
        return self.encoder.encode(sentences)


def similarity(clf: Classifier, encoder: Any, text: str, other: str) -> float:
    """Compare two texts the slow way."""
    vectors = clf.model_.add_words(encoder.encode([text, other]), [text, other])
    one, two = clf.model_.embed(vectors).double()
    return float(np.exp(-(one - two).norm().item() / clf.model_.settings.psi_squared))


def explain_match(model: Any, encode: Any, sentence: str, member_id: int) -> Rationale:
    (why,) = explain_matches(model, encode, [(sentence, member_id)])
    return why


def test_an_effect_is_the_similarity_with_the_word_minus_without_in_either_sentence(clf, encoder):
    member = clf.prototypes_[-1].members[-1]
    why = explain_match(clf.model_, encoder.encode, SENTENCE, member.id)
    whole = similarity(clf, encoder, SENTENCE, member.sentence)
    assert why.similarity == pytest.approx(whole, abs=1e-5)
    sides = ((why.words, SENTENCE, member.sentence),)
    sides += ((why.prototype_words, member.sentence, SENTENCE),)
    for words, text, other in sides:
        for word in words:
            less = similarity(clf, encoder, text[: word.start] + text[word.end :], other)
            assert word.effect == pytest.approx(whole - less, abs=1e-5)


def test_many_matches_are_encoded_in_one_call_and_each_text_once(clf, encoder):
    counting = Counting(encoder)
    first, second = (member.id for member in clf.prototypes_.members[:2])
    matches = [(SENTENCE, first), (SENTENCE, second), ("Clean!", first), (SENTENCE, first)]
    found = explain_matches(clf.model_, counting.encode, matches)
    (texts,) = counting.calls
    assert len(texts) == len(set(texts))
    assert found[0] == found[3]
    assert explain_matches(clf.model_, counting.encode, []) == []


def test_the_words_of_a_long_sentence_are_left_out_in_groups(clf, encoder):
    long = " ".join(f"word{n}" for n in range(1000))
    counting = Counting(encoder)
    why = explain_match(clf.model_, counting.encode, long, clf.prototypes_.members[0].id)
    assert len(why.words) == 40
    assert " ".join(word.text for word in why.words) == long
    assert len(counting.calls[0]) <= 82


def test_a_model_of_the_papers_splitter_reads_words_as_it_reads_sentences(clf, encoder):
    counting = Counting(encoder)
    model = replace(clf.model_, splitter=Splitter("paper"))
    why = explain_match(model, counting.encode, "It WAS, clean!", clf.prototypes_.members[0].id)
    assert [word.text for word in why.words] == ["It", "WAS", "clean"]
    assert {"it was clean", "was clean", "it clean", "it was"} <= set(counting.calls[0])


def test_a_word_left_out_leaves_no_gap_and_the_only_word_nothing_alike(clf, encoder):
    counting = Counting(encoder)
    explain_match(clf.model_, counting.encode, "The room, though, was fine.", 1)
    rests = {"room, though, was fine.", "The, though, was fine.", "The room,, was fine."}
    rests |= {"The room, though, fine.", "The room, though, was."}
    assert rests <= set(counting.calls[0])
    why = explain_match(clf.model_, counting.encode, "Clean", 1)
    assert [word.effect for word in why.words] == [why.similarity]
    assert "" not in counting.calls[1]


def test_explanations_carry_the_words_of_their_matches(clf, encoder, unseen_reviews):
    plain = clf.explain(unseen_reviews.texts[:3])
    for before, after in zip(plain, explain_words(clf.model_, encoder, plain), strict=True):
        assert after.has_words
        assert not before.has_words
        for step in after.sentences:
            why = explain_match(clf.model_, encoder.encode, step.text, step.member)
            assert step.similarity == pytest.approx(why.similarity, abs=1e-6)
            assert [word.text for word in step.words] == [word.text for word in why.words]
            assert [word.effect for word in step.prototype_words] == pytest.approx(
                [word.effect for word in why.prototype_words], abs=1e-6
            )


def test_json_has_words_only_where_they_were_asked_for(clf, encoder):
    plain = clf.explain(SENTENCE)
    assert "words" not in plain.to_dict()["sentences"][0]
    (told,) = explain_words(clf.model_, encoder, [plain])
    step = json.loads(json.dumps(told.to_dict()))["sentences"][0]
    assert set(step["words"][0]) == set(step["prototype_words"][0])
    assert set(step["words"][0]) == {"text", "start", "end", "effect"}
    with pytest.raises(InputError, match="precomputed vectors knows no words"):
        explain_words(clf.model_, None, [plain])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It wasn't well-known: 3.5 stars!", ["It", "wasn't", "well-known", "3.5", "stars"]),
        ("このレストランは美味しい。", ["この", "レストラン", "は", "美味", "しい"]),
        ("这家酒店很好", ["这家", "酒店", "很好"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("סרט נפלא, אהבתי", ["סרט", "נפלא", "אהבתי"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("👨‍👩‍👧 so 👍🏽!", ["👨‍👩‍👧", "so", "👍🏽"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        (" ?! ", ["?!"]),
        ("  ", []),
    ],
)
def test_words_of_many_languages_are_found(text, words):
    assert [text[start:end] for start, end in word_spans(text, 40)] == words


@given(st.text(max_size=60), st.integers(1, 12))
def test_words_are_in_order_and_leaving_one_out_takes_nothing_else_but_space(text, most):
    found = word_spans(text, most)
    assert len(found) <= most
    assert bool(found) == bool(text.strip())
    ends = [0, *(end for _, end in found)]
    for (start, end), before in zip(found, ends, strict=False):
        assert before <= start < end <= len(text)
        assert text[start:end].strip()
        rest = leave_out(text, (start, end))
        assert "".join(rest.split()) == "".join((text[:start] + " " + text[end:]).split())
