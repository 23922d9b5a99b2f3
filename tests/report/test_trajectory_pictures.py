"""The trajectory as a picture: within a page, and in a file of its own with the text beside it."""

import re
import sys
from xml.etree import ElementTree

import pytest

from protorynet.errors import InputError, MissingExtraError
from protorynet.report import explanation_svg, picture_png, trajectory_svg

SVG = "{http://www.w3.org/2000/svg}"
DOCUMENTS = ["good_review", "bad_review", "long_review", "one_sentence", "hostile_review"]
DOCUMENTS += ["person", "several_labels", "tied"]


def texts(picture: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(picture).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_picture_is_well_formed_named_and_of_the_size_asked_for(name, request, tmp_path):
    explanation = request.getfixturevalue(name)
    picture = ElementTree.fromstring(trajectory_svg(explanation))
    assert picture.get("role") == "img"
    assert [picture[0].tag, picture[1].tag] == [f"{SVG}title", f"{SVG}desc"]
    for circle in picture.iter(f"{SVG}circle"):
        assert 0 <= float(circle.get("cx")) <= 640
        assert 0 <= float(circle.get("cy")) <= 220
    assert all(0 <= float(text.get("x")) <= 640 for text in picture.iter(f"{SVG}text"))
    for width in (320, 380, 960):
        picture = ElementTree.fromstring(explanation_svg(explanation, width=width))
        assert (picture.get("width"), picture[0].tag) == (str(width), f"{SVG}title")
    pytest.importorskip("resvg_py")
    explanation.to_png(tmp_path / "picture.png", width=400)
    image = (tmp_path / "picture.png").read_bytes()
    assert image.startswith(b"\x89PNG")
    assert int.from_bytes(image[16:20], "big") == 800


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("good_review", {"positive", "negative", "97%"}),
        ("tied", {"positive", "negative", "50%"}),
        ("person", {"Person 96%", "Animal 2%", "Building 1%", "NaturalPlace 1%"}),
    ],
)
def test_ends_of_an_axis_and_lines_of_classes_are_named(name, names, request):
    assert names <= set(texts(trajectory_svg(request.getfixturevalue(name))))


def test_three_hundred_sentences_have_few_numbers_and_the_weightiest_are_written(long_review):
    shown = texts(trajectory_svg(long_review))
    numbers = [text for text in shown if re.fullmatch(r"S\d+", text)]
    assert (numbers[0], numbers[-1]) == ("S1", "S300")
    assert len(numbers) <= 20
    shown = texts(explanation_svg(long_review))
    assert "The 12 of 300 sentences that matter most" in shown
    assert sum(text.startswith("like ") for text in shown) == 12


@pytest.mark.parametrize("draw", [trajectory_svg, explanation_svg])
def test_markup_is_escaped_and_control_characters_are_gone(draw, hostile_review):
    picture = draw(hostile_review)
    assert "<script" not in picture
    assert "&lt;script&gt;" in picture
    assert "\x1b" not in picture
    assert "\u202e" not in "".join(texts(picture))
    if draw is explanation_svg:
        nodes = ElementTree.fromstring(picture).iter(f"{SVG}text")
        (line,) = [node for node in nodes if "נפלא" in (node.text or "")]
        assert line.get("text-anchor") == "end"


def test_each_sentence_has_a_mark_and_its_text_stands_beside_the_trajectory(good_review, tied):
    assert "level with positive: nothing tips the scale" in texts(explanation_svg(tied))
    shown = " ".join(texts(explanation_svg(good_review)))
    picture = trajectory_svg(good_review)
    above = sum(step.scores["positive"] >= 0.5 for step in good_review.sentences)
    assert picture.count("<circle") == above + 1  # and one in the legend
    for number, step in enumerate(good_review.sentences, start=1):
        assert picture.count(f"<title>S{number}: prototype {step.prototype}, score") == 1
        assert step.text in shown
        assert f"like {step.prototype}: {step.prototype_sentence}" in shown


def test_sizes_and_files_that_are_no_good_are_refused(good_review, tmp_path):
    with pytest.raises(InputError, match="100 × 50 pixels is too small"):
        trajectory_svg(good_review, width=100, height=50)
    for width in (10, 5000):
        with pytest.raises(InputError, match=f"{width} pixels wide"):
            explanation_svg(good_review, width=width)
    with pytest.raises(InputError, match="scale=0 should be between"):
        picture_png(explanation_svg(good_review), scale=0)
    picture = good_review.to_svg(tmp_path / "new" / "picture.svg", width=400)
    assert (tmp_path / "new" / "picture.svg").read_text(encoding="utf-8") == picture
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        good_review.to_svg(tmp_path / "file" / "picture.svg")


def test_without_the_extra_a_png_says_what_to_install(good_review, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'protorynet\[png\]'"):
        good_review.to_png(tmp_path / "picture.png")
