"""The trajectory as a picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from protorynet.errors import InputError
from protorynet.report import trajectory_svg

SVG = "{http://www.w3.org/2000/svg}"
DOCUMENTS = [
    "good_review",
    "bad_review",
    "long_review",
    "one_sentence",
    "hostile_review",
    "person",
    "several_labels",
]


def texts(picture: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in picture.iter(f"{SVG}text")]


@pytest.fixture(params=DOCUMENTS)
def picture(request):
    return ElementTree.fromstring(trajectory_svg(request.getfixturevalue(request.param)))


def test_every_picture_is_well_formed_and_named(picture):
    assert picture.get("role") == "img"
    assert picture[0].tag == f"{SVG}title"
    assert picture[1].tag == f"{SVG}desc"


def test_every_mark_lies_within_the_picture(picture):
    for circle in picture.iter(f"{SVG}circle"):
        assert 0 <= float(circle.get("cx")) <= 640
        assert 0 <= float(circle.get("cy")) <= 220


def test_every_line_of_text_begins_within_the_picture(picture):
    assert all(0 <= float(element.get("x")) <= 640 for element in picture.iter(f"{SVG}text"))


def test_each_sentence_has_one_mark_with_its_text(good_review):
    picture = trajectory_svg(good_review)
    for number, sentence in enumerate(good_review.sentences, start=1):
        assert f"<title>S{number}: prototype {sentence.prototype}, score" in picture


def test_scores_above_and_below_one_half_differ_in_shape(good_review):
    picture = trajectory_svg(good_review)
    above = sum(step.scores["positive"] >= 0.5 for step in good_review.sentences)
    assert picture.count("<circle") == above + 1  # and one in the legend


def test_two_classes_name_both_ends_of_the_axis(good_review):
    shown = texts(ElementTree.fromstring(trajectory_svg(good_review)))
    assert {"positive", "negative", "97%"} <= set(shown)


def test_several_classes_label_every_line(person):
    shown = texts(ElementTree.fromstring(trajectory_svg(person)))
    assert {"Person 96%", "Animal 2%", "Building 1%", "NaturalPlace 1%"} <= set(shown)


def test_three_hundred_sentences_have_few_numbers(long_review):
    shown = texts(ElementTree.fromstring(trajectory_svg(long_review)))
    numbers = [text for text in shown if re.fullmatch(r"S\d+", text)]
    assert len(long_review.sentences) == 300
    assert numbers[0] == "S1"
    assert numbers[-1] == "S300"
    assert len(numbers) <= 20


def test_long_class_names_are_shortened_but_named_in_full(person):
    name = "A class name that is far too long for the margin of any picture"
    rename = {"NaturalPlace": name}
    steps = tuple(
        type(step)(
            **{
                **vars(step),
                "scores": {rename.get(key, key): p for key, p in step.scores.items()},
                "running": {rename.get(key, key): p for key, p in step.running.items()},
            }
        )
        for step in person.sentences
    )
    renamed = type(person)(person.document, "Person", steps[-1].running, steps)
    picture = trajectory_svg(renamed)
    assert name in picture
    assert name not in texts(ElementTree.fromstring(picture))


def test_markup_in_sentences_is_escaped(hostile_review):
    picture = trajectory_svg(hostile_review)
    assert "<script" not in picture
    assert "&lt;script&gt;" in picture


def test_colours_come_from_the_surroundings(good_review):
    picture = trajectory_svg(good_review)
    assert "currentColor" in picture
    assert "#000" not in picture


def test_a_picture_too_small_to_read_is_refused(good_review):
    with pytest.raises(InputError, match="100 × 50 pixels is too small"):
        trajectory_svg(good_review, width=100, height=50)


def test_two_classes_level_at_one_half_are_drawn(tied):
    shown = texts(ElementTree.fromstring(trajectory_svg(tied)))
    assert {"positive", "negative", "50%"} <= set(shown)
