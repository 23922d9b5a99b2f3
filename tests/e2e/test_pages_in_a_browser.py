"""Every page in a real browser: no complaint, no request, and open to everyone."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chromium import needs_browser, violations, watch
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

PAGES = ("explanation", "prototypes", "model", "report")
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


class Visit:
    """A page opened in the browser, and what happened meanwhile."""

    def __init__(self, browser: Any, path: Path, width: int, scheme: str) -> None:
        # Scripts are let in for the checker only: the pages themselves forbid them.
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
        )
        self.page = self.context.new_page()
        self.complaints, self.asked = watch(self.page)
        self.page.goto(path.as_uri())


@pytest.fixture(
    scope="module",
    params=product(PAGES, [(1400, "light"), (390, "dark")]),
    ids=str,
)
def visit(browser, folder, request):
    name, (width, scheme) = request.param
    opened = Visit(browser, folder / f"{name}.html", width, scheme)
    yield opened
    opened.context.close()


def test_the_browser_neither_complains_nor_asks_a_host_nor_scrolls_sideways(visit):
    assert visit.complaints == []
    assert visit.page.title() != "run"
    assert visit.asked
    assert all(url.startswith(("file://", "data:")) for url in visit.asked)
    root = "document.documentElement"
    assert visit.page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")


def test_nothing_bars_anyone_from_the_page(visit):
    assert violations(visit.page) == []


def test_the_report_can_be_read_by_keyboard(browser, folder):
    page = Visit(browser, folder / "report.html", 1400, "light").page
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.getAttribute('href')"))
    sections = page.evaluate("[...document.querySelectorAll('section')].map(e => '#' + e.id)")
    assert set(sections) <= reached


def test_names_of_classes_have_the_width_of_a_phone(browser, folder):
    page = Visit(browser, folder / "report.html", 360, "light").page
    panel = page.get_by_role("heading", name="Class by class").locator("..")
    name = panel.locator("tbody th").first
    assert name.bounding_box()["width"] > 200


def test_the_report_prints_what_it_folds_away(browser, folder):
    page = Visit(browser, folder / "report.html", 1400, "light").page
    for media, is_shown in (("screen", False), ("print", True)):
        page.emulate_media(media=media)
        seen = page.locator("body").inner_text()
        for folded in ("Tick: share in training.", "Seed of the training"):
            assert (folded in seen) == is_shown, (media, folded)


def test_pages_print_on_a4(browser, folder):
    page = Visit(browser, folder / "report.html", 1400, "light").page
    printed = page.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF-")
    # A4 is 595 by 842 points; browsers round up or down.
    assert b"/MediaBox [0 0 59" in printed
