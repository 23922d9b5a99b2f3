"""Fragments for notebooks, self-contained pages, and what every view says decided."""

import re
from dataclasses import replace
from html import unescape

import pytest
from html_outline import Outline, check_page

from protorynet.errors import InputError
from protorynet.explain import AutomatonReading, DecidingPattern, Explanation, WordEffect
from protorynet.report import (
    ModelStory,
    explanation_page,
    model_page,
    prototypes_page,
)


@pytest.fixture
def story(movie_prototypes, evaluation, good_review, bad_review):
    return ModelStory(
        title="Movie reviews, read sentence by sentence",
        subtitle="A model that judges 2,500 reviews by 12 sentences anyone can read.",
        facts=(("Accuracy", "88.7%"), ("Training time", "3 min 12 s")),
        prototypes=movie_prototypes,
        evaluation=evaluation,
        examples=(("It gets this one right", good_review), ("It changes its mind", bad_review)),
    )


@pytest.fixture
def pages(tmp_path, story, request, movie_prototypes):
    names = ["good_review", "hostile_review", "person", "one_sentence", "several_labels"]
    explanations = [request.getfixturevalue(name) for name in names]
    hostile = replace(story, title="<b>&", subtitle='"', facts=(("<i>", "<u>"),))
    model_page(story, tmp_path / "model.html")
    model_page(replace(hostile, examples=()), tmp_path / "bare.html")
    explanation_page(explanations, tmp_path / "many.html")
    explanation_page([request.getfixturevalue("long_review")], tmp_path / "long.html")
    prototypes_page(movie_prototypes, tmp_path / "prototypes.html")
    families = request.getfixturevalue("movie_families")
    prototypes_page(families, tmp_path / "families.html")
    prototypes_page(families, tmp_path / "open.html", members=True)
    model_page(replace(story, prototypes=families), tmp_path / "cards.html")
    explanation_page([request.getfixturevalue("strange_review")], tmp_path / "strange.html")
    return {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}


def test_every_page_is_well_formed_and_links_to_each_text(pages, tmp_path, movie_prototypes):
    for page in pages.values():
        check_page(page)
    assert len(pages["long"].encode()) < 1_000_000
    assert pages["long"].count('<li class="pn-step') == 300
    found = Outline(pages["many"]).tags
    targets = {f"#{attrs['id']}" for _, attrs in found if "id" in attrs}
    assert targets == {attrs["href"] for tag, attrs in found if tag == "a"}
    with pytest.raises(InputError, match="at least one document"):
        explanation_page([], tmp_path / "none.html")
    with pytest.raises(InputError, match="cannot be written"):
        prototypes_page(movie_prototypes, tmp_path / "model.html" / "page.html")


def test_the_model_page_shows_what_it_is_given_escaped_and_leaves_the_rest_out(pages, story):
    first_screen = flat(pages["model"].split("<main")[1]).split("88.7%")[0]
    assert "one of 12 real sentences, the prototypes, that it resembles most" in first_screen
    shown = [value for fact in story.facts for value in fact]
    shown += [item.sentence for item in story.prototypes]
    shown += [caption for caption, _ in story.examples]
    shown += [measure.meaning for measure in story.evaluation.measures]
    text = unescape(pages["model"])
    assert [part for part in shown if part not in text] == []
    assert "How it reads" not in pages["bare"]
    assert "&lt;b&gt;&amp;" in pages["bare"]
    assert "&lt;u&gt;" in pages["bare"]


def test_families_are_cards_with_all_members_folded_away(pages, movie_prototypes, movie_families):
    for page in (pages["families"], pages["cards"], movie_families._repr_html_()):
        assert page.count('<li class="pn-card') == len(movie_families)
        assert page.count("<details>") == 2
        card = flat(page.split('<li class="pn-card')[1].split("<details>")[0])
        assert "best · <i>film</i>" in card
        assert "5 sentences that differ" in card
        assert "Simply the best." not in card
        folded = flat(page.split("<details>")[1].split("</details>")[0])
        assert "Show all 5 sentences" in folded
        assert "304100%Simply the best." in folded
    assert pages["open"].count("<details open>") == 2
    assert "pn-card" not in movie_prototypes._repr_html_().split("</style>")[1]


def test_every_view_names_the_member_its_prototype_and_what_is_unfamiliar(pages, strange_review):
    picture = strange_review.to_svg()
    for view in (strange_review._repr_html_(), pages["strange"], picture):
        assert "4 of the 7 sentences are unlike anything in the training data" in flat(view)
        shown = flat(view.split("</svg>")[-1] if view != picture else view)
        assert shown.lower().count("unlike anything in the training data") >= 4
        assert "prototype 17: How I came to see it" in shown
        assert "My aunt &lt;b&gt;took&lt;/b&gt; me." in view


def test_a_fragment_shows_sentences_figures_and_the_verdict(good_review, tied, hostile_review):
    fragment = hostile_review._repr_html_()
    assert "<script" not in fragment
    assert hostile_review.sentences[0].text in unescape(fragment)
    assert not re.search("[\x00\x1b\ud800]", fragment)
    assert '<p class="pn-text" dir="auto">' in fragment
    text = unescape(good_review._repr_html_())
    for sentence in good_review.sentences:
        assert f"<span>{sentence.text}</span>" in text
        assert sentence.prototype_sentence in text
    assert '<span class="pn-value">−22</span>' in text
    assert "(next: 30, 0.63)" in text
    level = tied._repr_html_()
    assert "level with <bdi>positive</bdi>" in level
    assert '<span class="pn-verdict pn-hue-1"><bdi>negative</bdi>' in level


def test_the_styles_of_a_fragment_touch_nothing_else(good_review, place_prototypes):
    for fragment in (good_review._repr_html_(), place_prototypes._repr_html_()):
        styles = re.search(r"<style>(.*?)</style>", fragment, re.DOTALL).group(1)
        styles = re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL)
        for selector in re.findall(r"([^{}]+)\{", styles):
            for part in re.split(r",(?![^(]*\))", selector):
                assert part.strip().startswith((".protorynet", "@container"))
    assert '<bdi class="pn-class">NaturalPlace</bdi>' in place_prototypes._repr_html_()


def marks(html: str) -> list[tuple[str, str]]:
    return re.findall(r'<mark class="pn-word pn-word-(\d)"[^>]*>([^<]*)</mark>', html)


def test_words_are_marked_by_how_much_they_matter_and_escaped(good_review, worded):
    fragment = worded._repr_html_()
    assert marks(fragment) == [("3", "finest"), ("2", "films"), ("3", "best")]
    plain = unescape(re.sub(r"</?mark[^>]*>", "", fragment))
    assert f'<p class="pn-text pn-marked" dir="auto">{worded.sentences[-1].text}</p>' in plain
    assert "Marked words" in fragment
    assert "Marked words" not in good_review._repr_html_()
    sentence, prototype = "<b>Bad</b> & 'so'", "</p><script>"
    words = (WordEffect("Bad</b> & 'so'", 3, len(sentence), 0.1),)
    others = (WordEffect(prototype, 0, len(prototype), 0.1),)
    hostile = replace(
        worded.sentences[-1],
        text=sentence,
        prototype_sentence=prototype,
        words=words,
        prototype_words=others,
    )
    fragment = replace(worded, sentences=(hostile,))._repr_html_()
    Outline(fragment)
    assert "<b>Bad" not in fragment
    assert marks(fragment)[1] == ("3", "&lt;/p&gt;&lt;script&gt;")


PATTERN = DecidingPattern("good", (7, 4), ("I love <b>it</b>.", "Great food."), 1212, 0.97)
BY_PATTERN = AutomatonReading("good", (0, 1, 1), True, True, 0.96, PATTERN)


def explained(reading: AutomatonReading | None, label: str = "good") -> Explanation:
    return Explanation("It is.", label, {"bad": 0.1, "good": 0.9}, (), reading)


def printed(explanation: Explanation) -> str:
    return " ".join(str(explanation).split())


def flat(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


@pytest.mark.parametrize(
    ("reading", "told"),
    [
        (BY_PATTERN, "he model gives “good” to 97% of the texts that begin with #7 "),
        (BY_PATTERN, "(1,212 texts)"),
        (BY_PATTERN, "#7 “I love <b>it</b>.” → #4 “Great food.”"),
        (
            replace(BY_PATTERN, pattern=None),
            "No beginning gives “good” away here: the text as a whole decides.",
        ),
        (
            AutomatonReading("good", (0, 0, 0), False, False, 0.96, None),
            "differs from the model on this text, as on 4% of the texts it was measured on:",
        ),
    ],
)
def test_terminal_and_page_tell_what_decided(reading, told):
    assert told in printed(explained(reading))
    fragment = explained(reading)._repr_html_()
    assert told in flat(fragment.replace("<q", "“<q").replace("</q>", "</q>”"))
    assert "<b>it" not in fragment


def test_every_view_warns_where_the_reader_is_behind(tmp_path):
    behind = replace(explained(BY_PATTERN), reader_is_behind=True)
    explanation_page([behind, behind], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    told = "Prototypes were edited by hand after the reader was last trained"
    for view in (printed(behind), behind._repr_html_(), page):
        assert view.count(told) == 1
    assert told not in printed(explained(BY_PATTERN)) + explained(BY_PATTERN)._repr_html_()


def test_a_long_name_of_a_class_breaks_between_its_parts_at_every_sentence(good_review):
    shares = {"comp.sys.mac.hardware": 0.8, "sci.med": 0.1, "rec.autos": 0.1}
    step = replace(good_review.sentences[0], scores=shares, running=shares)
    told = replace(
        good_review, label="comp.sys.mac.hardware", probabilities=shares, sentences=(step,)
    )
    assert told._repr_html_().count("comp.<wbr>sys.<wbr>mac.<wbr>hardware") == 2
