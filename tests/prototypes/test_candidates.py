"""Which sentences may become prototypes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from protorynet.prototypes import distinct_candidates, is_complete, is_readable, marking_words

_ANY_TEXT = st.text(st.characters(), max_size=60)  # lone surrogates included
# Any text, and text that gets as far as the rules for English.
_SOME_WORDS = ("we", "who", "that", "is", "been", "rooms", "made", "never", "it's", ",", "3")
_WORDY = _ANY_TEXT | st.lists(st.sampled_from(_SOME_WORDS), max_size=9).map(
    lambda words: " ".join(["The", *words]) + "."
)


def bare(sentence: str) -> str:
    return "".join(c for c in sentence.casefold() if c.isalnum()) or sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "Mr.",
        "Whatever.) .",
        "12 34 56 78 90",
        "See http://example.org for more of this",
        "This is <b>bold</b> and more",
        "word " * 31,
        "好。",
    ],
)
def test_fragments_numbers_markup_and_paragraphs_are_neither_readable_nor_complete(sentence):
    assert not is_readable(sentence)
    assert not is_complete(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The room we booked was not ready!",
        "Thank you for your feedback and for staying with us.",  # a leak that should be seen
        "When we arrived, the pool was closed.",
        "The actors never seem to care.",
        "Does anyone know where the pool is?",
        "Mr. Hill is a Canadian painter (born 1950).",
        "“Night Train” is a thriller about a lost suitcase.",
        "Das Frühstück war reichlich und lecker.",
        "Номер был чистым и уютным.",
        "الغرفة نظيفة والموظفون لطفاء جدا.",
        "होटल का कमरा बहुत साफ था।",
        "호텔 직원들이 정말 친절하고 좋았습니다.",
        "这家酒店的房间非常干净。",
    ],
)
def test_statements_and_questions_of_any_language_are_complete(sentence):
    assert is_complete(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        # English without a main clause.
        "Great location and friendly staff.",
        "The best hotel we ever stayed in.",
        "When we came back to the room.",
        "No more, no less.",
        "You won't by the end of this film.",
        "Check the price before you book.",
        # These hang on another.
        "And, of course, someone does get shot.",
        "He did it for them.",
        "This cost us a whole day.",
        "Und das Zimmer war auch schmutzig.",
        "但是这家酒店的房间非常脏。",
        # Pieces, lists, shouts and markup.
        "does anyone know where the pool is?",
        "Who knows? The pool is closed.",
        "the room was clean and quiet.",
        "The room was clean and quiet",
        "- The room was clean and quiet.",
        "The room (and the bath was clean.",
        "The room was sooo clean and quiet.",
        "The room was clean and quiet!!!",
        "THE ROOM WAS CLEAN AND QUIET.",
        "The room was clean.The staff was kind.",
        "The room was " + "very " * 22 + "clean.",
        "酒店好。",
    ],
)
def test_what_does_not_stand_by_itself_is_not_complete(sentence):
    assert not is_complete(sentence)


@given(_WORDY, st.text(" \t\n\u3000", max_size=4))
def test_any_text_gets_an_answer_that_space_after_it_does_not_change(sentence, space):
    assert is_complete(sentence + space) == is_complete(sentence)
    assert is_readable(sentence) or not is_complete(sentence)


@given(st.lists(_ANY_TEXT | st.sampled_from(["I love it!", "i love IT", "I love it"]), max_size=20))
def test_candidates_differ_in_more_than_case_and_are_readable_unless_too_few_are(sentences):
    positions = distinct_candidates(sentences).tolist()
    chosen = [sentences[position] for position in positions]
    assert positions == sorted(positions)
    assert bool(chosen) == bool(sentences)
    assert len(set(map(bare, chosen))) == len(chosen)
    readable = {bare(text) for text in chosen if is_readable(text)}
    assert all(map(is_readable, chosen)) or len(readable) < 2


def complete(count: int) -> list[str]:
    names = [first + second + third for first in "BGJKVXZ" for second in "aeo" for third in "lmnrs"]
    pairs = [f"{one} {two}" for one in names for two in names]
    return [f"The actor {pair} was good in it." for pair in pairs[:count]]


def test_two_hundred_complete_sentences_keep_the_others_out():
    sentences = ["No more, no less.", *complete(200)]
    assert distinct_candidates(sentences).tolist() == list(range(1, 201))


def test_a_complete_form_is_preferred_to_an_earlier_careless_one():
    careless = [sentence.lower() for sentence in complete(200)]
    assert distinct_candidates([*careless, *complete(200)]).tolist() == list(range(200, 400))


def test_words_that_fall_into_groups_by_chance_mark_none():
    rng = np.random.default_rng(0)
    vocabulary = ["".join(letters) for letters in product("bdfklmnprt", "aeiou", "dklmnrst")]
    common = 1 / np.arange(1, len(vocabulary) + 1)
    texts = [" ".join(rng.choice(vocabulary, 8, p=common / common.sum())) for _ in range(2_000)]
    by_chance = marking_words(texts, rng.integers(0, 20, len(texts)), 20)
    assert sum(map(len, by_chance)) <= 5


def test_a_word_that_one_sentence_of_two_hundred_holds_does_not_mark_their_group():
    texts = ["The soup was cold."] * 1_990 + ["The soup was for Merk."] * 10
    texts += ["The room was small."] * 2_000
    assert marking_words(texts, np.repeat([0, 1], 2_000), 2) == [
        ("soup", "cold"),
        ("room", "small"),
    ]


def test_several_cores_find_the_same_candidates(monkeypatch):
    sentences = [text.lower() for text in complete(9)] + complete(230) + complete(5)
    alone = distinct_candidates(sentences)
    monkeypatch.setattr("protorynet.prototypes.candidates._SENTENCES_AT_ONCE", 50)
    monkeypatch.setattr("protorynet.threads.count_threads", lambda: 4)
    assert distinct_candidates(sentences).tolist() == alone.tolist()
