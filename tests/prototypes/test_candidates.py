"""Which sentences may become prototypes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protorynet.prototypes import distinct_candidates, is_readable

_ANY_TEXT = st.text(st.characters(), max_size=60)  # lone surrogates included


def bare(sentence: str) -> str:
    return "".join(c for c in sentence.casefold() if c.isalnum()) or sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "The room was clean and quiet.",
        "It's a great film!",
        "Das Zimmer war schön.",
        "Очень хороший отель.",
        "这家酒店非常好。",
        "とても良い映画でした。",
    ],
)
def test_whole_sentences_are_readable(sentence: str) -> None:
    assert is_readable(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "Mr.",
        "Whatever.) .",
        "More",
        "12 34 56 78 90",
        "- - - - -",
        "See http://example.org for more of this",
        "This is <b>bold</b> and more",
        "word " * 31,
        "a " * 150,
        "好。",
    ],
)
def test_fragments_numbers_markup_and_paragraphs_are_not(sentence: str) -> None:
    assert not is_readable(sentence)


@given(_ANY_TEXT)
def test_any_text_gets_an_answer(sentence: str) -> None:
    assert is_readable(sentence) in (True, False)


@given(st.lists(_ANY_TEXT | st.sampled_from(["I love it!", "i love IT", "I love it"]), max_size=20))
def test_candidates_differ_in_more_than_case_and_punctuation(sentences: list[str]) -> None:
    chosen = distinct_candidates(sentences).tolist()
    bared = [bare(sentences[place]) for place in chosen]
    assert len(set(bared)) == len(bared)
    assert chosen == sorted(chosen)


@given(st.lists(_ANY_TEXT, max_size=20))
def test_every_sentence_is_readable_or_too_few_are(sentences: list[str]) -> None:
    chosen = [sentences[place] for place in distinct_candidates(sentences)]
    readable = {bare(text) for text in chosen if is_readable(text)}
    assert all(map(is_readable, chosen)) or len(readable) < 2


@given(st.lists(_ANY_TEXT, min_size=1, max_size=20))
def test_there_is_always_a_candidate(sentences: list[str]) -> None:
    assert len(distinct_candidates(sentences)) >= 1


def test_unreadable_sentences_serve_where_there_is_nothing_better() -> None:
    assert distinct_candidates(["Mr.", "mr", "!!", "Dr."]).tolist() == [0, 2, 3]
