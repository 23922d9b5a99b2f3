"""The report of a whole model: one page that anyone can read, and Markdown."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from protorynet import ProtoryNetClassifier, Settings
from protorynet.data import sequence_text
from protorynet.errors import InputError
from protorynet.explain import LabelledDocuments, ReliabilityBin, learn_automata
from protorynet.prototypes import Edits, PruningPoint, Retraining
from protorynet.report import (
    FullReport,
    automaton_svg,
    compile_report,
    pattern_sentence,
    write_report,
)
from protorynet.report.charts import calibration_chart, pruning_chart
from protorynet.report.full_report import LARGEST, report_markdown, report_page
from protorynet.report.heat_maps import confusion_chart

_VOID = {"meta", "link", "br"}
_EVIL = "<script>alert('x')</script> & |`pipes`| {{ 7 * 7 }} 🏨 חדר נפלא."

Make = Callable[..., FullReport]


class Page(HTMLParser):
    """Collects tags and ids, and fails on elements that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(page: str) -> str:
    """Return the text that a reader sees."""
    body = page.split("<body>")[1]
    body = re.sub(r"<style>.*?</style>|<(title|desc)>.*?</\1>", "", body, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", "", body)).split())


def prepared(clf: ProtoryNetClassifier, documents: Any, labels: Any) -> LabelledDocuments:
    sentences, embeddings = clf.prepare(list(documents), on_empty="skip")
    texts = [each if isinstance(each, str) else sequence_text(len(each)) for each in documents]
    targets = clf.model_.labels.encode(labels)
    return LabelledDocuments(texts, np.arange(len(texts)), sentences, embeddings, targets)


@pytest.fixture(scope="module")
def clf(reviews: Any, encoder: Any, quick: Settings) -> ProtoryNetClassifier:
    settings = quick.replace(epochs=8, retrain_epochs=8, min_prototypes=5, max_prototypes=8)
    return ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False).fit(
        reviews.texts, reviews.labels
    )


@pytest.fixture(scope="module")
def make(encoder: Any) -> Make:
    """Compile the report of a classifier on labelled documents."""

    def report_of(
        clf: ProtoryNetClassifier, texts: Any, labels: Any, train: Any = None, **how: Any
    ) -> FullReport:
        how = {"title": "A hotel model", "provenance": (("Command", "protorynet report"),)} | how
        judge = None if clf.encoder == "precomputed" else encoder
        evaluation = clf.evaluate(texts, labels, judge=judge)
        given = None if train is None else prepared(clf, *train)
        return compile_report(clf.model_, evaluation, prepared(clf, texts, labels), given, **how)

    return report_of


@pytest.fixture(scope="module")
def report(make: Make, clf: ProtoryNetClassifier, reviews: Any, unseen_reviews: Any) -> FullReport:
    turned = {"good": "bad", "bad": "good"}
    labels = [
        turned[label] if place % 9 == 4 else label
        for place, label in enumerate(unseen_reviews.labels)
    ]
    train = (reviews.texts, reviews.labels)
    return make(clf, unseen_reviews.texts, labels, train)


@pytest.fixture(scope="module")
def page(report: FullReport) -> str:
    return report_page(report)


@pytest.fixture(scope="module")
def several(make: Make, reviews: Any, encoder: Any, quick: Settings) -> FullReport:
    """The report of a model of any number of labels per document."""
    labels = [
        ("long", label) if len(text) > 70 else (label,)
        for text, label in zip(reviews.texts, reviews.labels, strict=True)
    ]
    clf = ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False)
    return make(clf.fit(reviews.texts, labels), reviews.texts[:20], labels[:20])


@pytest.fixture(scope="module")
def vectors(make: Make, quick: Settings) -> FullReport:
    """The report of a model that was given vectors in place of texts."""
    random = np.random.default_rng(0)
    sequences = [random.normal(size=(3, 4)).astype(np.float32) + i % 2 for i in range(40)]
    labels = [i % 2 for i in range(40)]
    clf = ProtoryNetClassifier("precomputed", settings=quick, device="cpu").fit(sequences, labels)
    return make(clf, sequences, labels, (sequences, labels))


def test_the_page_is_well_formed(page: str) -> None:
    Page(page)


def test_the_page_loads_nothing(page: str) -> None:
    found = Page(page).tags
    assert not {"script", "iframe", "object", "img"} & {tag for tag, _ in found}
    links = [attrs.get(key) for _, attrs in found for key in ("href", "src")]
    assert all(link is None or link.startswith(("#", "data:,")) for link in links)
    assert "url(" not in page
    assert "@import" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_no_element_carries_an_event_handler(page: str) -> None:
    assert not any(key.startswith("on") for _, attrs in Page(page).tags for key in attrs)


def test_the_contents_link_to_every_section(page: str) -> None:
    found = Page(page).tags
    ids = [attrs["id"] for _, attrs in found if "id" in attrs]
    assert len(set(ids)) == len(ids)
    links = {attrs["href"] for tag, attrs in found if tag == "a"}
    sections = {f"#{attrs['id']}" for tag, attrs in found if tag == "section"}
    assert links == sections


def test_every_picture_has_a_name_and_a_description(page: str) -> None:
    pictures = re.findall(r"<svg[^>]*>.{0,20}", page)
    assert len(pictures) >= 10
    assert all('role="img"' in each and "<title>" in each for each in pictures)
    assert page.count("<desc>") == len(pictures)


def test_what_scrolls_can_be_reached_by_keyboard(page: str) -> None:
    regions = [attrs for _, attrs in Page(page).tags if attrs.get("role") == "region"]
    assert regions
    assert all(attrs["tabindex"] == "0" and attrs["aria-label"] for attrs in regions)


def test_headings_do_not_skip_a_level(page: str) -> None:
    levels = [int(tag[1]) for tag, _ in Page(page).tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_the_first_screen_says_what_a_prototype_is_before_any_figure(
    page: str, report: FullReport
) -> None:
    seen = read(page)
    n = len(report.model.prototypes)
    assert seen.index(f"These {n} sentences are its prototypes") < seen.index("%")


def test_the_page_tells_accuracy_guessing_and_the_audit(page: str, report: FullReport) -> None:
    seen = read(page)
    assert f"it labels {report.overview.n_right} rightly" in seen
    assert "Always answering “" in seen
    assert "The audit of the model and its data" in seen


def test_the_page_shows_prototypes_mistakes_measures_and_how_to_repeat_it(
    page: str, report: FullReport
) -> None:
    seen = read(page)
    shown = [item.sentence for item in report.model.prototypes]
    shown += [near.text for each in report.overview.prototypes for near in each.nearest]
    shown += [mistake.sentence.text for mistake in report.overview.mistakes]
    shown += [measure.meaning for measure in report.evaluation.measures]
    shown += [report.model.training.data_sha256, "protorynet report", "seed"]
    assert [part for part in shown if part not in seen.replace("Seed", "seed")] == []


def test_the_page_suits_phones_dark_rooms_and_paper(page: str) -> None:
    for part in ('name="viewport"', "prefers-color-scheme: dark", "@media print", "size: A4"):
        assert part in page


def test_everything_that_users_wrote_is_escaped(
    make: Make, encoder: Any, quick: Settings, reviews: Any
) -> None:
    names = {"good": "<b>good</b>", "bad": 'bad | & "worse"'}
    labels = [names[label] for label in reviews.labels]
    texts = [f"{text} {_EVIL}" for text in reviews.texts]
    clf = ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False)
    clf.fit(texts, labels)
    evil = make(clf, texts, labels, (texts, labels), title=_EVIL, provenance=((_EVIL, _EVIL),))
    page = report_page(evil)
    Page(page)
    assert "<script" not in page
    assert "<b>good" not in page
    assert "{{ 7 * 7 }}" in page
    markdown = report_markdown(evil)
    assert "<script" not in markdown
    assert "<b>good" not in markdown


def test_a_class_that_is_never_predicted_is_told(
    make: Make, clf: ProtoryNetClassifier, unseen_reviews: Any
) -> None:
    answers = clf.predict(unseen_reviews.texts)
    texts = [t for t, answer in zip(unseen_reviews.texts, answers, strict=True) if answer == "bad"]
    page = report_page(make(clf, texts, ["good", *["bad"] * (len(texts) - 1)]))
    Page(page)
    assert "It never answers “good”" in read(page)


def test_one_document_makes_a_report(make: Make, clf: ProtoryNetClassifier) -> None:
    page = report_page(make(clf, ["The room was lovely."], ["good"]))
    Page(page)
    assert "of 1 text labelled rightly" in read(page)


def test_a_model_that_makes_no_mistake_or_only_mistakes_is_told(
    make: Make, clf: ProtoryNetClassifier, unseen_reviews: Any
) -> None:
    answers = clf.predict(unseen_reviews.texts)
    turned = ["good" if answer == "bad" else "bad" for answer in answers]
    assert "It made no mistake" in read(report_page(make(clf, unseen_reviews.texts, answers)))
    only_wrong = report_page(make(clf, unseen_reviews.texts, turned))
    assert "None of the texts is labelled rightly" in read(only_wrong)


def test_a_newcomer_sees_one_text_read_sentence_by_sentence(page: str, report: FullReport) -> None:
    example = report.overview.plainest
    assert example is not None
    assert example.truth == example.explanation.label
    first_screen = read(page).split("What this report finds")[0]
    for step in example.explanation.sentences[:4]:
        assert f"{step.text} is most like {step.prototype_sentence}" in first_screen


def test_wrong_answers_are_grouped_by_the_beginning_that_misled(
    page: str, report: FullReport
) -> None:
    wrong = report.overview.n_documents - report.overview.n_right
    assert sum(each.n_wrong for each in report.misled) == wrong
    seen = read(page)
    assert "Which beginnings mislead it" in seen
    for each in report.misled:
        assert each.n_wrong <= each.n_given
        if each.pattern is not None:
            assert f"The text {pattern_sentence(each.pattern, report.model.prototypes)}" in seen


def test_answers_of_two_equal_scores_make_a_report(report: FullReport) -> None:
    even = dict.fromkeys(report.overview.classes, 0.5)
    items = tuple(replace(item, scores=even) for item in report.model.prototypes)
    model = replace(report.model, prototypes=replace(report.model.prototypes, items=items))
    figures = tuple(
        replace(each, prototype=replace(each.prototype, scores=even))
        for each in report.overview.prototypes
    )
    level = replace(report, model=model, overview=replace(report.overview, prototypes=figures))
    Page(report_page(level))


@pytest.fixture(scope="module")
def edited(clf: ProtoryNetClassifier, report: FullReport, unseen_reviews: Any) -> FullReport:
    """The report of a model of which a prototype was dropped and another named."""
    first, second = clf.prototypes_.ids[:2].tolist()
    edits = Edits.of(drop=[first], rename={second: "<b>name</b>"})
    model = clf.model_.edited(edits, np.zeros((0, len(clf.model_.centring.mean)), np.float32))
    documents = prepared(clf, unseen_reviews.texts, unseen_reviews.labels)
    return compile_report(model, report.evaluation, documents, title="Edited")


def test_an_edited_model_tells_its_edits_and_that_its_reader_is_behind(edited: FullReport) -> None:
    page, markdown = report_page(edited), report_markdown(edited)
    Page(page)
    seen = read(page)
    entry = edited.model.edits.entries[0]
    for told in ("These figures are not final", "reader not trained again", entry.when):
        assert told in seen
        assert told in markdown
    assert str(entry.changes[0]) in seen
    assert "<b>name" not in page


def test_a_model_trained_again_after_an_edit_tells_both_accuracies(edited: FullReport) -> None:
    retraining = Retraining(0.912, 0.805, 0.934, 90, 10, "abc", 0, {}, 1.0)
    log = edited.model.edits.with_retraining(retraining)
    trained = replace(edited, model=replace(edited.model, edits=log))
    for told in (read(report_page(trained)), report_markdown(trained)):
        assert "These figures are not final" not in told
        assert "was 91.2% before and is 93.4% after" in told


def test_an_unedited_model_has_no_table_of_edits(page: str) -> None:
    assert "Edited by hand" not in read(page)


def test_the_charts_of_a_report_do_not_list_the_prototypes_again(report: FullReport) -> None:
    automaton, prototypes = report.automata[0], report.model.prototypes
    alone = automaton_svg(automaton, prototypes)
    within = automaton_svg(automaton, prototypes, listed=False)
    assert within in report_page(report)
    assert within.count("<text") < alone.count("<text")
    heights = [int(re.findall(r'height="(\d+)"', each)[0]) for each in (within, alone)]
    assert heights[0] < heights[1]


def test_the_automata_that_a_model_holds_are_the_ones_drawn(
    clf: ProtoryNetClassifier, report: FullReport, unseen_reviews: Any
) -> None:
    documents = prepared(clf, unseen_reviews.texts, unseen_reviews.labels)
    trajectory = clf.model_.match(documents.embeddings, documents.sentences.lengths)
    held = learn_automata(clf.model_, trajectory)
    model = replace(clf.model_, automata=held)
    drawn = compile_report(model, report.evaluation, documents, title="Held").automata
    assert sorted(map(id, drawn)) == sorted(map(id, held))


def test_several_labels_at_once_make_a_report(several: FullReport) -> None:
    page = report_page(several)
    Page(page)
    assert "which of the labels “bad”, “good” and “long” it has" in read(page)
    assert "Confusion matrix" not in page


def test_vectors_have_no_words_and_the_report_says_so(vectors: FullReport) -> None:
    page = report_page(vectors)
    Page(page)
    seen = read(page)
    assert "It was given vectors in place of texts" in seen
    assert "Short and long texts" not in seen


def test_without_training_documents_the_report_says_that_it_was_not_audited(
    make: Make, clf: ProtoryNetClassifier, unseen_reviews: Any
) -> None:
    found = make(clf, unseen_reviews.texts, unseen_reviews.labels)
    assert found.audit is None
    assert "It was not audited" in read(report_page(found))
    assert "Not audited" in report_markdown(found)


def test_long_documents_and_sentences_keep_the_page_small(
    make: Make, clf: ProtoryNetClassifier
) -> None:
    many = "The room was dirty. We stayed for two nights. " * 150
    endless = "The room was " + "very " * 20_000 + "dirty."
    texts = [f"{many} {i}" for i in range(8)] + [endless]
    page = report_page(make(clf, texts, ["good"] * 9))
    Page(page)
    assert len(page.encode()) < LARGEST
    assert "too long to be drawn" in read(page)


def test_a_page_that_would_be_too_large_shows_less(
    report: FullReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(report_page(report).encode())
    monkeypatch.setattr("protorynet.report.full_report.LARGEST", size - 1)
    assert len(report_page(report).encode()) < size


def test_many_classes_are_listed_in_place_of_a_matrix(report: FullReport) -> None:
    n = 15
    names = tuple(f"class {place}" for place in range(n))
    counts = np.eye(n, dtype=np.int64)
    counts[2, 7] = 9
    overview = replace(report.overview, classes=names, confusion=counts)
    page = report_page(replace(report, overview=overview))
    assert "“class 2” taken for “class 7”: 9 times" in read(page)
    assert "Confusion matrix" not in page


def test_the_markdown_tables_have_equal_rows(report: FullReport) -> None:
    lines = report_markdown(report).splitlines()
    blocks = "\n".join(line if line.startswith("|") else "" for line in lines).split("\n\n")
    tables = [block.strip().splitlines() for block in blocks if block.strip()]
    assert len(tables) >= 6
    for rows in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1, rows


def test_the_markdown_tells_what_the_page_tells(report: FullReport) -> None:
    markdown = report_markdown(report)
    assert markdown.startswith("# A hotel model\n")
    sha256 = report.model.training.data_sha256
    for part in ("its prototypes", "## How right it is", "## Where it goes wrong", sha256):
        assert part in markdown


@pytest.mark.parametrize("as_markdown", [False, True])
def test_reports_are_the_same_every_time(
    report: FullReport, tmp_path: Any, as_markdown: bool
) -> None:
    for name in ("one", "two"):
        write_report(report, tmp_path / name, as_markdown=as_markdown)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_place_that_cannot_be_written_is_named(report: FullReport, tmp_path: Any) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        write_report(report, tmp_path / "file" / "report.html")


def test_the_confusion_matrix_names_every_cell() -> None:
    chart = confusion_chart(["<a>", "b"], np.array([[3, 1], [0, 2]]))
    assert "labelled &lt;a&gt;, answered b: 1 (25%)" in chart
    assert "labelled b, answered &lt;a&gt;: 0 (0%)" in chart


def test_a_confusion_matrix_of_a_class_without_documents_is_drawn() -> None:
    assert "nan" not in confusion_chart(["a", "b"], np.array([[3, 1], [0, 0]]))


def test_the_calibration_chart_puts_points_where_they_belong() -> None:
    bins = [ReliabilityBin(0.0, 0.1, 4, 0.0, 0), ReliabilityBin(0.9, 1.0, 4, 1.0, 4)]
    chart = calibration_chart(bins, said="said", observed="seen")
    (low, high) = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', chart)
    assert (float(low[0]), float(low[1])) == (46, 208)
    assert (float(high[0]), float(high[1])) == (326, 30)


def test_the_pruning_chart_rings_the_number_kept() -> None:
    curve = [PruningPoint(20, 0.01, 0.95), PruningPoint(8, 0.02, 0.94), PruningPoint(2, 0.3, 0.9)]
    chart = pruning_chart(curve, kept=8)
    assert chart.count('r="8"') == 1
    assert "8: 0.940" in chart
    assert 'r="8"' not in pruning_chart(curve[:1], kept=7)
