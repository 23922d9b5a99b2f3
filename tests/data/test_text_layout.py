import textwrap

import pytest
from hypothesis import given, strategies as st

from protorynet.data import Splitter, split_documents
from protorynet.errors import InputError

PROSE = """
Dr. Hill came to the hotel late in the evening, and nobody was there to give him his key. He
waited for an hour! Then a friendly woman from New York, who had lost hers as well, showed him the
way to a small office behind the stairs, where both were helped at once. The rooms were clean,
large and quiet; the breakfast, however, was cold and rather small. Would he come again? Surely.
""".replace("\n", " ").strip()


def sentences_of(document: str, **options: str) -> list[str]:
    return list(split_documents([document], splitter=Splitter(**options)).texts)


@given(st.integers(45, 95), st.sampled_from(["\n", "\r\n", "<br />", " \n  ", "\n> ", "\n>> > "]))
def test_wrapped_prose_has_the_sentences_of_the_unwrapped(width, end):
    mark = end[1:] if ">" in end and "<" not in end else ""
    wrapped = textwrap.wrap(PROSE, width, break_on_hyphens=False)
    assert sentences_of(mark + end.join(wrapped)) == sentences_of(PROSE)


def test_a_wrapped_sentence_points_to_its_lines():
    text = "> It was a room that had\n> been cleaned. Fine."
    sentences = split_documents([text])
    assert sentences.texts == ("It was a room that had been cleaned.", "Fine.")
    assert (sentences.starts.tolist(), sentences.ends.tolist()) == ([2, 41], [40, 46])
    assert text[2:40] == "It was a room that had\n> been cleaned."


@pytest.mark.parametrize(
    "lines",
    [
        ["Roses are red and full of thorns", "Violets are blue", "Sugar is sweet", "So are you"],
        ["eggs", "milk", "bread and butter"],
        ["We need these things for the journey to the south:", "- two large bags", "- one tent"],
        ["A hotel as it should be", PROSE.split(". ")[1]],
        ["From: hill@example.org (Dr. Hill)", "Organization: The Hotel", "Lines: 12"],
        ["Room        12    clean", "Breakfast    3    cold and small"],
        [
            "I will not come again",
            "--",
            "Dr. Hill, The Hotel, 12 Long Street, Springfield",
            "Physician",
        ],
        ["Thanks in advance for every answer,", "Joe"],
    ],
    ids=lambda lines: lines[0][:20],
)
def test_lists_verses_headings_headers_and_signatures_stay_apart(lines):
    assert sentences_of("\n".join(lines)) == [line for line in lines if line != "--"]


@pytest.mark.parametrize(
    ("document", "sentences"),
    [
        ("> So you say.\n>> And I?\nNo.", ["So you say.", "And I?", "No."]),
        (
            "Subject: a long one that\n goes on\nDate: now",
            ["Subject: a long one that goes on", "Date: now"],
        ),
        ('Shares of <A HREF="x?t=AXP.N">AXP.N</A> rose.', ["Shares of AXP.N rose."]),
        ("I saw it on TV.I loved it.", ["I saw it on TV.", "I loved it."]),
        ("&quot;Good.&quot; Tom &amp; I", ['"Good."', "Tom & I"]),
        ("<p>One</p><p>Two <b>three</b></p>", ["One", "Two three"]),
        ("Is a <b and c> d? Mail <me@x.org>.", ["Is a <b and c> d?", "Mail <me@x.org>."]),
        ("1. First this. Then\n(2) Last. Yes.", ["1. First this.", "Then", "(2) Last.", "Yes."]),
        (
            "The room is well-\nknown for its view of the sea.",
            ["The room is well-known for its view of the sea."],
        ),
    ],
)
def test_quotations_headers_and_markup_are_read_as_a_person_would(document, sentences):
    assert sentences_of(document) == sentences


def test_the_language_says_where_a_sentence_ends():
    text = "Er kam am 3. Mai. Sie nicht."
    assert sentences_of(text, language="de") == ["Er kam am 3. Mai.", "Sie nicht."]
    assert sentences_of(text) == ["Er kam am 3.", "Mai.", "Sie nicht."]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"language": "german"}, r"language='german' is not .*did you mean 'de'\?"),
        ({"language": "xx"}, r"language='xx' is not one of the 35 .*'en' does for others"),
        ({"language": ["de"]}, r"language=.*is not one of the 35"),
        ({"rule": "spacy"}, "splitter='spacy' is not one of 'sentencex', 'lines', 'paper'"),
    ],
)
def test_an_unknown_language_or_rule_is_refused_with_the_nearest(how, message):
    with pytest.raises(InputError, match=message):
        Splitter(**how)


def test_models_of_before_split_at_every_line_end():
    assert Splitter.read("sentencex") == Splitter("lines")
    assert Splitter.read("paper") == Splitter("paper")
    text = "It was a room that had\nbeen <b>cleaned</b>."
    assert sentences_of(text, rule="lines") == text.split("\n")
