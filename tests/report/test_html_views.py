"""Fragments for notebooks and self-contained pages."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files

import pytest

import protorynet.report
from protorynet.errors import InputError
from protorynet.explain import Rationale, WordEffect
from protorynet.report import (
    explanation_fragment,
    explanation_page,
    model_page,
    prototypes_fragment,
    prototypes_page,
    rationale_fragment,
)

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """Collects tags and fails on elements that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def outline(html: str) -> Outline:
    parser = Outline()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture
def pages(tmp_path, story, good_review, hostile_review, person, movie_prototypes):
    hostile = replace(story, title="<b>&", subtitle='"', facts=(("<i>", "<u>"),))
    model_page(story, tmp_path / "model.html")
    model_page(replace(hostile, evaluation=None, examples=()), tmp_path / "bare.html")
    explanation_page([good_review], tmp_path / "one.html")
    explanation_page([good_review, hostile_review, person], tmp_path / "many.html")
    prototypes_page(movie_prototypes, tmp_path / "prototypes.html")
    return {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}


def test_every_page_is_well_formed(pages):
    for page in pages.values():
        outline(page)


def test_no_page_needs_a_script_or_the_network(pages):
    for page in pages.values():
        found = outline(page)
        assert not {"script", "iframe", "object", "img"} & {tag for tag, _ in found.tags}
        links = [attrs.get(key) for _, attrs in found.tags for key in ("href", "src")]
        assert all(link is None or link.startswith(("#", "data:,")) for link in links)
        assert "url(" not in page
        assert "@import" not in page


def test_no_page_carries_an_event_handler(pages):
    for page in pages.values():
        assert not any(key.startswith("on") for _, attrs in outline(page).tags for key in attrs)


def test_pages_suit_phones_dark_rooms_and_paper(pages):
    for page in pages.values():
        assert 'name="viewport"' in page
        assert "prefers-color-scheme: dark" in page
        assert "@media print" in page


def test_the_model_page_explains_itself_before_it_shows_figures(pages):
    first_screen = unescape(re.sub(r"<[^>]+>", "", pages["model"].split("<main")[1])).split("88.7%")
    assert "one of 12 real sentences, the prototypes, that it resembles most" in first_screen[0]


def test_the_model_page_shows_facts_prototypes_examples_and_measures(pages, story):
    text = unescape(pages["model"])
    shown = [value for fact in story.facts for value in fact]
    shown += [item.sentence for item in story.prototypes]
    shown += [caption for caption, _ in story.examples]
    shown += [measure.meaning for measure in story.evaluation.measures]
    assert [part for part in shown if part not in text] == []


def test_a_model_page_without_evaluation_and_examples_leaves_their_sections_out(pages):
    assert "How far to trust it" not in pages["bare"]
    assert "How it reads" not in pages["bare"]


def test_titles_and_facts_are_escaped(pages):
    assert "&lt;b&gt;&amp;" in pages["bare"]
    assert "&lt;u&gt;" in pages["bare"]


def test_a_page_of_several_texts_links_to_each(pages):
    found = outline(pages["many"]).tags
    targets = {attrs["id"] for _, attrs in found if "id" in attrs}
    assert {f"#{target}" for target in targets} == {
        attrs["href"] for tag, attrs in found if tag == "a"
    }


def test_a_page_without_explanations_is_refused(tmp_path):
    with pytest.raises(InputError, match="at least one document"):
        explanation_page([], tmp_path / "none.html")


def test_a_page_that_cannot_be_written_is_an_input_error(tmp_path, movie_prototypes):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        prototypes_page(movie_prototypes, tmp_path / "file" / "page.html")


def test_a_fragment_shows_every_sentence_with_its_figures(good_review):
    text = unescape(explanation_fragment(good_review))
    for sentence in good_review.sentences:
        assert f"<span>{sentence.text}</span>" in text
        assert sentence.prototype_sentence in text
    assert '<span class="pn-value">−22</span>' in text


@pytest.mark.parametrize("name", ["good_review", "one_sentence", "person", "several_labels"])
def test_every_fragment_is_well_formed(name, request):
    outline(explanation_fragment(request.getfixturevalue(name)))


def test_three_hundred_sentences_give_three_hundred_steps(long_review):
    assert explanation_fragment(long_review).count('<li class="pn-step') == 300


def test_three_hundred_sentences_stay_a_small_page(long_review, tmp_path):
    explanation_page([long_review], tmp_path / "long.html")
    assert (tmp_path / "long.html").stat().st_size < 1_000_000


def test_hostile_sentences_are_shown_as_they_are(hostile_review):
    fragment = explanation_fragment(hostile_review)
    assert "<script" not in fragment
    assert hostile_review.sentences[0].text in unescape(fragment)
    assert not re.search("[\x00\x1b\ud800]", fragment)


def test_text_of_either_direction_sets_its_own(hostile_review):
    assert '<p class="pn-text" dir="auto">' in explanation_fragment(hostile_review)


def test_the_styles_of_a_fragment_touch_nothing_else(good_review, place_prototypes):
    for fragment in (explanation_fragment(good_review), prototypes_fragment(place_prototypes)):
        styles = re.search(r"<style>(.*?)</style>", fragment, re.DOTALL).group(1)
        styles = re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL)
        selectors = re.findall(r"([^{}]+)\{", styles)
        parts = [
            part.strip()
            for selector in selectors
            for part in re.split(r",(?![^(]*\))", selector.strip())
        ]
        assert all(part.startswith((".protorynet", "@container")) for part in parts)


def test_the_prototypes_of_several_classes_name_their_strongest_class(place_prototypes):
    assert '<bdi class="pn-class">NaturalPlace</bdi>' in prototypes_fragment(place_prototypes)


def test_the_same_explanation_gives_the_same_page(good_review):
    assert explanation_fragment(good_review) == explanation_fragment(good_review)


def test_templates_lie_inside_the_package():
    names = {item.name for item in files("protorynet.report").joinpath("templates").iterdir()}
    assert {"page.html", "page.css", "fragment.css", "parts.html"} <= names


def test_exported_names_are_sorted_and_exist():
    assert protorynet.report.__all__ == sorted(protorynet.report.__all__)
    assert all(hasattr(protorynet.report, name) for name in protorynet.report.__all__)


def test_importing_the_room_loads_neither_rich_nor_jinja2():
    code = "import sys, protorynet.report; sys.exit(bool({'rich', 'jinja2'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def worded(good_review):
    """The last sentence has a word that matters, one that does little, and one against."""
    step = good_review.sentences[-1]
    words = (
        WordEffect("One", 0, 3, 0.01),
        WordEffect("finest", 11, 17, 0.2),
        WordEffect("films", 18, 23, 0.07),
        WordEffect("year", 31, 35, -0.3),
    )
    found = replace(step, words=words, prototype_words=(WordEffect("best", 19, 23, 0.15),))
    return replace(good_review, sentences=(*good_review.sentences[:-1], found))


def marks(html: str) -> list[tuple[str, str]]:
    return re.findall(r'<mark class="pn-word pn-word-(\d)"[^>]*>([^<]*)</mark>', html)


def test_words_are_marked_by_how_much_they_matter(worded):
    assert marks(explanation_fragment(worded)) == [("3", "finest"), ("2", "films"), ("3", "best")]


def test_marked_sentences_read_as_before(worded):
    fragment = explanation_fragment(worded)
    plain = unescape(re.sub(r"</?mark[^>]*>", "", fragment))
    assert f'<p class="pn-text pn-marked" dir="auto">{worded.sentences[-1].text}</p>' in plain
    assert worded.sentences[-1].prototype_sentence in plain


def test_the_key_tells_of_words_only_where_they_are_marked(good_review, worded):
    assert "Marked words" in explanation_fragment(worded)
    assert "Marked words" not in explanation_fragment(good_review)


def test_a_rationale_shows_both_sentences_escaped():
    sentence, prototype = "<b>Bad</b> & 'so'", "</p><script>"
    hostile = Rationale(
        sentence,
        3,
        prototype,
        0.5,
        (WordEffect("Bad</b> & 'so'", 3, len(sentence), 0.1),),
        (WordEffect(prototype, 0, len(prototype), 0.1),),
    )
    fragment = rationale_fragment(hostile)
    outline(fragment)
    assert "<b>Bad" not in fragment
    assert "<script" not in fragment
    assert marks(fragment)[1] == ("3", "&lt;/p&gt;&lt;script&gt;")
    assert hostile._repr_html_() == fragment


def test_the_runner_up_is_named(good_review):
    step = good_review.sentences[0]
    assert f"(next: {step.runner_up}, 0.63)" in explanation_fragment(good_review)


def test_classes_of_the_same_probability_are_told(tied):
    fragment = explanation_fragment(tied)
    assert "level with <bdi>positive</bdi>" in fragment
    assert '<span class="pn-verdict pn-hue-1"><bdi>negative</bdi>' in fragment
