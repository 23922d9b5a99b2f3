import re
import string
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import sentencex
from hypothesis import example, given, settings, strategies as st
from numpy.typing import NDArray

from protorynet.data import Sentences, Splitter, split_documents, splitting
from protorynet.errors import EmptyDocumentError, InputError

NOT_SURROGATES = st.characters(exclude_categories=["Cs"])
# fmt: off
TRICKY = st.sampled_from([
    "<br>", "<BR/>", "<br />", "\n", "\r\n", "\u2028", "\xa0", "\u3000", "\x00", "\u200b", " ",
    ". ", "! ", "?", "...", ").", ", ", "_", "—", '"', "'", "«", "(", "[1]", "1. ", "5.50 ",
    "Mr. ", "U.S. ", "e.g. ", "A", "Hello there", "word", "İ", "ß", "日本語。", "e\u0301",
    "😀", "👩\u200d👩\u200d👧", "\n> ", "\n>> ", "\n-- \n", "\n- ", "\nFrom: ", "\n\n", "</A>",
    "<p>", "&amp;", "&lt;", "and then it went on for quite a while in lower-case",
])
# fmt: on
DOCUMENT = st.one_of(
    st.text(NOT_SURROGATES, max_size=60), st.lists(TRICKY, max_size=25).map("".join)
)
SPLITTER = st.sampled_from([Splitter(), Splitter("lines"), Splitter("paper")])
MARKUP = re.compile(r"<[/a-z][^<>]*>|&[#a-z][^;]*;|[a-z]{1,3}> ", re.IGNORECASE)


@dataclass(frozen=True)
class Letters:
    """Counts a token per three characters, as a word-piece tokeniser roughly does."""

    window: int

    def count_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([2 + -(-len(text) // 3) for text in texts], dtype=np.int64)


def sentences_of(document: str, **options) -> list[str]:
    return list(split_documents([document], on_empty="skip", **options).texts)


def spans_of(sentences: Sentences, documents: list[str]) -> list[str]:
    places = zip(sentences.documents, sentences.starts, sentences.ends, strict=True)
    return [documents[document][start:end] for document, start, end in places]


def letters(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def is_symbol(char: str) -> bool:
    return not char.isascii() and unicodedata.category(char).startswith("S")


@given(DOCUMENT, SPLITTER)
@example("A\xa0.", Splitter())
@example("Hi<br>Ho<BR />Hu", Splitter())
def test_places_are_in_order_without_space_around_and_hold_every_letter(document, splitter):
    sentences = split_documents([document], splitter=splitter, on_empty="skip")
    edges = np.stack([sentences.starts, sentences.ends], axis=1).ravel()
    assert (np.diff(edges) >= 0).all()
    assert (sentences.starts < sentences.ends).all()
    assert ((edges >= 0) & (edges <= len(document))).all()
    spans = list(zip(sentences.starts, sentences.ends, strict=True))
    written = [document[start:end] for start, end in spans]
    assert written == [text.strip() for text in written]
    covered = np.zeros(len(document), dtype=bool)
    for start, end in [*spans, *(match.span() for match in MARKUP.finditer(document))]:
        covered[start:end] = True
    outside = [char for char, is_in in zip(document, covered, strict=True) if not is_in]
    assert not any(char.isalnum() for char in outside)


@given(st.lists(DOCUMENT, max_size=4))
def test_a_sentence_is_what_stands_in_its_span(documents):
    sentences = split_documents(documents, splitter=Splitter("lines"), on_empty="skip")
    assert list(sentences.texts) == spans_of(sentences, documents)


@given(st.lists(st.lists(TRICKY, max_size=25).map("".join), max_size=4))
def test_a_sentence_has_the_letters_of_its_span_without_markup(documents):
    sentences = split_documents(documents, on_empty="skip")
    for text, span in zip(sentences.texts, spans_of(sentences, documents), strict=True):
        assert letters(text) == letters(MARKUP.sub("", span))


@pytest.mark.parametrize(
    ("document", "sentences"),
    [
        ("Mr. Hill paid $5.50. He left.", ["Mr. Hill paid $5.50.", "He left."]),
        ("日本語です。次の文。", ["日本語です。", "次の文。"]),
        ("Cafe\u0301 😀 there. Yes.", ["Cafe\u0301 😀 there.", "Yes."]),
        # A piece of punctuation joins the sentence before it, but none of another line.
        *((it, [it]) for it in ["Whatever.) .", "It was fine. ...", "Wow! ). !"]),
        ("Fine.\n...\nGood.", ["Fine.", "Good."]),
        *((it, [it.strip()]) for it in ["...", ":)", " ?! "]),
        # An emoji, a symbol or a sign of any script is a sentence.
        *((f"Fine.\n{it}", ["Fine.", it]) for it in "👍♥→५中"),
        ("word " * 5_000 + "end. Next one.", ["word " * 5_000 + "end.", "Next one."]),
        ("He left. Mr. Hill said so. " * 2_000, ["He left.", "Mr. Hill said so."] * 2_000),
    ],
    ids=lambda value: repr(value[:12]),
)
def test_sentences_are_as_a_reader_would_split_them(document, sentences):
    assert sentences_of(document) == sentences


@pytest.mark.parametrize("end", ["<br>", "<br/>", "<br />", "<BR />", "\n", "\r\n", "\u2028"])
@pytest.mark.parametrize("rule", ["sentencex", "lines", "paper"])
def test_line_ends_that_are_no_wraps_end_a_sentence_and_belong_to_none(end, rule):
    sentences = sentences_of(f"one two{end}three four", splitter=Splitter(rule))
    assert sentences == ["one two", "three four"]


@given(DOCUMENT)
@example("?<")
def test_only_a_document_without_words_has_a_sentence_without_any(document):
    texts = sentences_of(document)
    means = [any(char.isalnum() or is_symbol(char) for char in text) for text in texts]
    assert all(means) or not any(means)


def test_a_panic_of_sentencex_falls_back_to_plain_rules(monkeypatch, capfd):
    monkeypatch.setattr(
        splitting, "segment", lambda language, text: sentencex.segment(language, "A\xa0.")
    )
    assert sentences_of("One here. Two here! Three") == ["One here.", "Two here!", "Three"]


def test_the_paper_splits_at_every_full_stop_which_belongs_to_the_place():
    sentences = split_documents(["It's  GREAT! 5.5 of 10?"], splitter=Splitter("paper"))
    assert sentences.texts == ("its great", "5", "5 of 10")
    assert (sentences.starts.tolist(), sentences.ends.tolist()) == ([0, 13, 15], [12, 15, 23])


@given(DOCUMENT)
def test_the_paper_reads_no_punctuation_and_no_capitals(document):
    for text in sentences_of(document, splitter=Splitter("paper")):
        assert not set(text) & set(string.punctuation)
        assert text == text.lower() == " ".join(text.split())


@given(DOCUMENT, SPLITTER, st.integers(3, 12))
def test_every_piece_fits_the_window(document, splitter, window):
    texts = sentences_of(document, splitter=splitter, counter=Letters(window))
    assert all(Letters(window).count_tokens(texts) <= window)


@given(DOCUMENT, st.integers(3, 12))
def test_pieces_lose_nothing_of_a_sentence(document, window):
    whole = "".join(sentences_of(document))
    pieces = "".join(sentences_of(document, counter=Letters(window)))
    assert "".join(pieces.split()) == "".join(whole.split())


@pytest.mark.parametrize(
    ("sentence", "window", "pieces"),
    [
        (
            "the room was large and clean; the breakfast, however, was cold and rather small",
            20,
            ["the room was large and clean;", "the breakfast, however, was cold and rather small"],
        ),
        ("abc", 1, ["a", "b", "c"]),
    ],
    ids=["after a clause", "a character that never fits does not hang"],
)
def test_a_long_sentence_is_cut_where_it_reads_best(sentence, window, pieces):
    assert sentences_of(sentence, counter=Letters(window)) == pieces


def test_words_and_numbers_are_not_cut_and_pieces_are_balanced():
    pieces = sentences_of("many words " * 20, counter=Letters(22))
    assert {word for piece in pieces for word in piece.split()} == {"many", "words"}
    pieces = sentences_of("it was sold for 1,000,000 dollars in all", counter=Letters(12))
    assert any("1,000,000" in piece for piece in pieces)
    lengths = [len(piece) for piece in sentences_of("word " * 211, counter=Letters(100))]
    assert max(lengths) < 2 * min(lengths)


@pytest.mark.parametrize(
    "unit",
    ["word ", "a", "«", "'", "😀", "a! ", '"a. ', "<br", "\n.", "[(", "> ", "a\n> ", "&a", "<a b"],
)
def test_no_piece_of_a_giant_document_overflows_the_window(unit):
    text = unit * (200_000 // len(unit))
    pieces = sentences_of(text, counter=Letters(256))
    assert max(Letters(256).count_tokens(pieces), default=0) <= 256


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(["Good. Bad!", "", "  \n", "<br /><br />", "One", "\u200b"])), SPLITTER
)
def test_documents_without_a_sentence_are_left_without_or_reported(documents, splitter):
    empty = [row for row, text in enumerate(documents) if text not in ("Good. Bad!", "One")]
    if splitter.rule == "paper":
        empty = [row for row in empty if documents[row] != "\u200b"]
    lengths = split_documents(documents, splitter=splitter, on_empty="skip").lengths
    assert np.flatnonzero(lengths == 0).tolist() == empty
    if empty:
        with pytest.raises(EmptyDocumentError) as caught:
            split_documents(documents, splitter=splitter)
        assert caught.value.rows == empty


@pytest.mark.parametrize(
    ("documents", "how", "message"),
    [
        (["good", None], {}, r"row 1 .*NoneType; expected str"),
        (["fine", "broken \ud800"], {}, r"row 1 .*half a Unicode character \('\\ud800'\)"),
        ([], {"on_empty": "drop"}, "on_empty='drop' is not one of 'error', 'skip'"),
    ],
)
def test_what_is_not_text_and_unknown_choices_are_refused(documents, how, message):
    with pytest.raises(InputError, match=message):
        split_documents(documents, **how)
