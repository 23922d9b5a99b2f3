"""Every page in a real browser: no complaint, no request, and open to everyone."""

from pathlib import Path

import numpy as np
import pytest

from chromium import Window, needs_browser
from protorynet import ProtoryNetClassifier
from protorynet.explain import LabelledDocuments
from protorynet.report import (
    ModelStory,
    compile_report,
    explanation_page,
    model_page,
    prototypes_page,
    write_report,
)

pytestmark = needs_browser

_EVIL = " <script>document.title = 'run'</script> <img src='http://example.invalid/a.png'> 🏨 חדר."


@pytest.fixture(scope="module")
def folder(reviews, unseen_reviews, encoder, quick, tmp_path_factory):
    """A folder with a page of each kind, made from texts that hold markup."""
    clf = ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False)
    texts = [text + _EVIL for text in reviews.texts]
    clf.fit(texts, reviews.labels)

    def prepared(texts: list[str], labels: list[str]) -> LabelledDocuments:
        targets = clf.model_.labels.encode(labels)
        return LabelledDocuments(texts, np.arange(len(texts)), *clf.prepare(texts), targets)

    turned = [*reversed(unseen_reviews.labels[:4]), *unseen_reviews.labels[4:]]
    evaluation = clf.evaluate(unseen_reviews.texts, turned, judge=encoder)
    explanations = clf.explain([*unseen_reviews.texts[:2], texts[0]])
    story = ModelStory(
        "A hotel model" + _EVIL,
        "Reviews, sentence by sentence.",
        (("Accuracy", "90%"),),
        clf.prototypes_,
        evaluation,
        (("A review", explanations[0]),),
    )
    documents, train = prepared(unseen_reviews.texts, turned), prepared(texts, reviews.labels)
    report = compile_report(clf.model_, evaluation, documents, train, title="Report")
    folder: Path = tmp_path_factory.mktemp("pages")
    explanation_page(explanations, folder / "explanation.html")
    prototypes_page(clf.prototypes_, folder / "prototypes.html")
    model_page(story, folder / "model.html")
    write_report(report, folder / "report.html")
    return folder


@pytest.mark.parametrize("name", ["explanation", "prototypes", "model", "report"])
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_a_page_is_open_to_everyone_and_neither_complains_nor_asks_a_host(
    browser, folder, name, width, scheme
):
    window = Window(browser, width=width, color_scheme=scheme, bypass_csp=True)
    window.page.goto((folder / f"{name}.html").as_uri())
    assert window.complaints == []
    assert window.page.title() != "run"
    assert window.asked
    assert all(url.startswith(("file://", "data:")) for url in window.asked)
    window.check_access()
    window.context.close()


@pytest.fixture
def report(browser, folder):
    """The report, opened."""
    window = Window(browser, width=1400)
    window.page.goto((folder / "report.html").as_uri())
    yield window.page
    window.context.close()


def test_the_report_can_be_read_by_keyboard(report):
    reached = set()
    for _ in range(40):
        report.keyboard.press("Tab")
        reached.add(report.evaluate("document.activeElement.getAttribute('href')"))
    sections = report.evaluate("[...document.querySelectorAll('section')].map(e => '#' + e.id)")
    assert set(sections) <= reached


def test_names_of_classes_have_the_width_of_a_phone(report):
    report.set_viewport_size({"width": 360, "height": 900})
    panel = report.get_by_role("heading", name="Class by class").locator("..")
    name = panel.locator("tbody th").first
    assert name.bounding_box()["width"] > 200


def test_the_report_prints_what_it_folds_away(report):
    for media, is_shown in (("screen", False), ("print", True)):
        report.emulate_media(media=media)
        seen = report.locator("body").inner_text()
        for folded in ("Tick: share in training.", "Seed of the training"):
            assert (folded in seen) == is_shown, (media, folded)


def test_pages_print_on_a4(report):
    printed = report.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF-")
    # A4 is 595 by 842 points; browsers round up or down.
    assert b"/MediaBox [0 0 59" in printed
