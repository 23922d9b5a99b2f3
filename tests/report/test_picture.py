"""The trajectory with the text beside it, as a file of its own."""

from __future__ import annotations

import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from protorynet.errors import InputError, MissingExtraError
from protorynet.report import explanation_svg, picture_png

SVG = "{http://www.w3.org/2000/svg}"
DOCUMENTS = ["good_review", "long_review", "one_sentence", "hostile_review", "person", "tied"]


def texts(picture: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(picture).iter(f"{SVG}text")]


@pytest.mark.parametrize("width", [320, 380, 960])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_picture_is_well_formed_and_as_wide_as_asked(name, width, request):
    explanation = request.getfixturevalue(name)
    root = ElementTree.fromstring(explanation_svg(explanation, width=width))
    assert root.get("width") == str(width)
    assert root[0].tag == f"{SVG}title"


def test_the_text_stands_beside_the_trajectory(good_review):
    shown = " ".join(texts(explanation_svg(good_review)))
    for step in good_review.sentences:
        assert step.text in shown
        assert f"like {step.prototype}: {step.prototype_sentence}" in shown


def test_of_three_hundred_sentences_those_that_matter_most_are_written(long_review):
    shown = texts(explanation_svg(long_review))
    assert "The 12 of 300 sentences that matter most" in shown
    assert sum(text.startswith("like ") for text in shown) == 12


def test_markup_is_escaped_and_control_characters_are_gone(hostile_review):
    picture = explanation_svg(hostile_review)
    assert "<script" not in picture
    assert "\x1b" not in picture
    assert "\u202e" not in "".join(texts(picture))


def test_a_sentence_from_the_right_stands_at_the_right(hostile_review):
    root = ElementTree.fromstring(explanation_svg(hostile_review))
    (line,) = [node for node in root.iter(f"{SVG}text") if "נפלא" in (node.text or "")]
    assert line.get("text-anchor") == "end"


def test_text_without_spaces_is_broken_into_lines(one_sentence):
    step = replace(one_sentence.sentences[0], text="とても美味しいレストラン" * 12)
    shown = texts(explanation_svg(replace(one_sentence, sentences=(step,)), width=380))
    assert all(len(line) < 40 for line in shown)
    assert any(line.endswith("…") for line in shown)


def test_classes_of_the_same_probability_are_told(tied):
    assert "level with positive: nothing tips the scale" in texts(explanation_svg(tied))


@pytest.mark.parametrize("width", [10, 5000])
def test_a_width_that_cannot_be_read_is_refused(good_review, width):
    with pytest.raises(InputError, match=f"{width} pixels wide"):
        explanation_svg(good_review, width=width)


def test_the_picture_is_written_and_returned(good_review, tmp_path):
    picture = good_review.to_svg(tmp_path / "new" / "picture.svg", width=400)
    assert (tmp_path / "new" / "picture.svg").read_text(encoding="utf-8") == picture


def test_a_place_that_cannot_be_written_is_an_input_error(good_review, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        good_review.to_svg(tmp_path / "file" / "picture.svg")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_png_has_twice_the_pixels(name, request, tmp_path):
    pytest.importorskip("resvg_py")
    explanation = request.getfixturevalue(name)
    explanation.to_png(tmp_path / "picture.png", width=400)
    image = (tmp_path / "picture.png").read_bytes()
    assert image.startswith(b"\x89PNG")
    assert int.from_bytes(image[16:20], "big") == 800


def test_without_the_extra_a_png_says_what_to_install(good_review, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'protorynet\[png\]'"):
        good_review.to_png(tmp_path / "picture.png")


def test_a_png_of_no_size_is_refused(good_review):
    with pytest.raises(InputError, match="scale=0 should be between"):
        picture_png(explanation_svg(good_review), scale=0)
