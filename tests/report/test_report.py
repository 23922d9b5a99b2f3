"""The report of a whole model: one page that anyone can read, and Markdown."""

import itertools
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from html_outline import Outline, check_page
from sklearn.base import clone

from prepared_documents import prepare
from protorynet import ProtoryNetClassifier
from protorynet.explain import learn_automata
from protorynet.figures import ClassFigures, ReliabilityBin
from protorynet.prototypes import Edits, Retraining
from protorynet.report import FullReport, compile_report, write_report

_EVIL = "<script>alert('x')</script> & |`pipes`| {{ 7 * 7 }} 🏨 חדר נפלא."
_OTHER = {"good": "bad", "bad": "good"}


def written(report: FullReport, *, as_markdown: bool = False) -> str:
    with TemporaryDirectory() as folder:
        write_report(report, Path(folder) / "report", as_markdown=as_markdown)
        return (Path(folder) / "report").read_text(encoding="utf-8")


def read(page: str) -> str:
    """Return the text that a reader sees on a well-formed page."""
    check_page(page)
    body = page.split("<body>")[1]
    body = re.sub(r"<style>.*?</style>|<(title|desc)>.*?</\1>", "", body, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", "", body)).split())


@pytest.fixture(scope="module")
def clf(reviews, encoder, quick):
    settings = quick.replace(
        members=1, epochs=8, retrain_epochs=8, min_prototypes=5, max_prototypes=8
    )
    clf = ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False)
    return clf.fit(reviews.texts, reviews.labels)


@pytest.fixture(scope="module")
def make(encoder):
    """Compile the report of a classifier on labelled documents."""

    def make_report(clf: Any, texts: Any, labels: Any, train: Any = None, **how: Any) -> FullReport:
        how = {"title": "A hotel model", "provenance": (("Command", "protorynet report"),)} | how
        judge = None if clf.encoder == "precomputed" else encoder
        evaluation = clf.evaluate(texts, labels, judge=judge)
        given = None if train is None else prepare(clf, *train)
        return compile_report(clf.model_, evaluation, prepare(clf, texts, labels), given, **how)

    return make_report


@pytest.fixture(scope="module")
def report(make, clf, reviews, unseen_reviews):
    labels = [
        _OTHER[label] if number % 9 == 4 else label
        for number, label in enumerate(unseen_reviews.labels)
    ]
    return make(clf, unseen_reviews.texts, labels, (reviews.texts, reviews.labels))


@pytest.fixture(scope="module")
def page(report):
    return written(report)


def test_the_contents_link_to_every_section_and_every_picture_is_named(page):
    found = Outline(page).tags
    ids = [attrs["id"] for _, attrs in found if "id" in attrs]
    assert len(set(ids)) == len(ids)
    links = {attrs["href"] for tag, attrs in found if tag == "a"}
    assert links == {f"#{attrs['id']}" for tag, attrs in found if tag == "section"}
    levels = [int(tag[1]) for tag, _ in found if re.fullmatch("h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in itertools.pairwise([0, *levels]))
    assert "labelled bad, answered bad: " in page
    assert re.search(r"The model keeps \d", page)
    pictures = re.findall(r'<svg[^>]*role="img"[^>]*><title>', page)
    assert len(pictures) == page.count("<svg") == page.count("<desc>") >= 10


def test_the_first_screen_tells_what_a_prototype_is_and_reads_one_text(page, report):
    first_screen = read(page).split("What this report finds")[0]
    told = f"These {len(report.model.prototypes)} sentences are its prototypes"
    assert first_screen.index(told) < first_screen.index("%")
    example = report.overview.plainest
    assert example.truth == example.explanation.label
    for step in example.explanation.sentences[:4]:
        assert f"{step.text} is most like {step.prototype_sentence}" in first_screen


def test_the_page_tells_figures_prototypes_mistakes_measures_and_how_to_repeat_it(page, report):
    shown = [f"it labels {report.evaluation.n_right} correctly", "Always answering “"]
    shown += ["The audit of the model and its data"]
    shown += [item.sentence for item in report.model.prototypes]
    shown += [near.text for each in report.overview.prototypes for near in each.nearest]
    shown += [mistake.sentence.text for mistake in report.overview.mistakes]
    shown += [measure.meaning for measure in report.evaluation.measures]
    shown += [report.model.training.data_sha256, "protorynet report"]
    seen = read(page)
    assert [part for part in shown if part not in seen] == []
    assert "Edited by hand" not in seen


def test_each_chart_is_drawn_a_conclusion_from(page, report):
    seen = read(page)
    for told in ("Most often “", "on average.", "are enough", "Most used is", "carry"):
        assert told in seen, told
    assert {each.kind for each in report.slices} >= {"length", "class"}
    assert "Where its mistakes gather" in seen


def test_a_curve_of_one_point_is_not_drawn(report):
    one = replace(report, overview=replace(report.overview, curve=report.overview.curve[:1]))
    for as_markdown in (False, True):
        asked = "How many prototypes does it need?"
        assert asked in written(report, as_markdown=as_markdown)
        assert asked not in written(one, as_markdown=as_markdown)


def test_everything_that_users_wrote_is_escaped(make, clf, single, reviews):
    names = {"good": "<b>good</b>", "bad": 'bad | & "worse"'}
    labels = [names[label] for label in reviews.labels]
    texts = [f"{text} {_EVIL}" for text in reviews.texts]
    how = {"title": _EVIL, "provenance": ((_EVIL, _EVIL),)}
    quickly = clone(clf).set_params(settings=single)
    evil = make(quickly.fit(texts, labels), texts, labels, (texts, labels), **how)
    assert "{{ 7 * 7 }}" in read(written(evil))
    for view in (written(evil), written(evil, as_markdown=True)):
        assert "<script" not in view
        assert "<b>good" not in view


def test_few_documents_and_extreme_answers_make_a_report(make, clf, unseen_reviews):
    texts = unseen_reviews.texts
    answers = clf.predict(texts).tolist()
    bad = [text for text, answer in zip(texts, answers, strict=True) if answer == "bad"]
    scenes = [
        (["The room was lovely."], ["good"], "of 1 text labelled correctly"),
        (texts, answers, "It made no mistake"),
        (texts, [_OTHER[answer] for answer in answers], "None of the texts is labelled correctly"),
        (bad, ["good", *["bad"] * (len(bad) - 1)], "It never answers “good”"),
    ]
    for documents, labels, told in scenes:
        page = written(make(clf, documents, labels))
        assert told in read(page)
        assert "nan" not in re.findall(r'"([^" ]+)"', page)


def test_families_are_cards_of_few_members_on_a_large_page(
    make, clf, reviews, unseen_reviews, monkeypatch
):
    texts = [f"{text} {_EVIL}" for text in reviews.texts]
    families = clone(clf).set_params(settings=clf.settings.replace(members=50, max_prototypes=2))
    model = families.fit(texts, reviews.labels)
    report = make(model, unseen_reviews.texts, unseen_reviews.labels)
    page = written(report)
    size = max(report.model.prototypes.sizes)
    assert size > 3
    assert f"Show all {size} sentences" in read(page)
    assert "These form 2 groups" in read(page)
    assert "The 2 prototypes it thinks in" in read(page)
    for view in (page, written(report, as_markdown=True)):
        assert f"{size} sentences that " in view
        assert "<script" not in view
    monkeypatch.setattr("protorynet.report.full_report.LARGEST_PAGE", 0)
    assert f"Show 3 of {size} sentences" in read(written(report))


def test_several_labels_and_vectors_make_a_report(make, several, reviews, of_vectors):
    labels = [[name for name in several.classes_ if name in text] for text in reviews.texts[:20]]
    page = written(make(several, reviews.texts[:20], labels))
    assert "which of the labels “pool”, “room” and “staff” it has" in read(page)
    assert "Confusion matrix" not in page
    given, sequences, classes = of_vectors
    seen = read(written(make(given, sequences, classes, (sequences, classes))))
    assert "It was given vectors in place of texts" in seen
    assert "Short and long texts" not in seen


def test_an_edited_model_shows_edits_automata_and_retraining(clf, report, unseen_reviews):
    first, second = clf.prototypes_.ids[:2].tolist()
    edits = Edits.of(drop=[first], rename={second: "<b>name</b>"})
    model = clf.model_.edited(edits, np.zeros((0, len(clf.model_.centring.mean)), np.float32))
    documents = prepare(clf, unseen_reviews.texts, unseen_reviews.labels)
    edited = compile_report(model, report.evaluation, documents, title="Edited")
    held = learn_automata(model, model.match(documents.embeddings, documents.sentences.lengths))
    holding = replace(model, automata=held)
    drawn = compile_report(holding, report.evaluation, documents, title="Held").automata
    assert sorted(map(id, drawn)) == sorted(map(id, held))
    (entry,) = model.edits.entries
    for view in (read(written(edited)), written(edited, as_markdown=True)):
        for told in ("These figures are not final", "reader not trained again", entry.when):
            assert told in view
        assert "It was not audited" in view
    assert "<b>name" not in written(edited)
    retraining = Retraining(0.912, 0.805, 0.934, 90, 10, "abc", 0, {}, 1.0)
    trained = replace(edited, model=replace(model, edits=model.edits.with_retraining(retraining)))
    for view in (read(written(trained)), written(trained, as_markdown=True)):
        assert "These figures are not final" not in view
        assert "was 91.2% before and is 93.4% after" in view


def test_long_documents_and_sentences_keep_the_page_small(make, clf, report, monkeypatch):
    many = "The room was dirty. We stayed for two nights. " * 150
    endless = "The room was " + "very " * 20_000 + "dirty."
    page = written(make(clf, [f"{many} {i}" for i in range(8)] + [endless], ["good"] * 9))
    assert len(page.encode()) < 2_000_000
    assert "too long to be drawn" in read(page)
    size = len(written(report).encode())
    monkeypatch.setattr("protorynet.report.full_report.LARGEST_PAGE", size - 1)
    assert len(written(report).encode()) < size


def test_many_classes_are_listed_in_place_of_a_matrix(report):
    counts = np.eye(15, dtype=np.int64)
    counts[2, 7] = 9
    names = tuple(f"class {number}" for number in range(15))
    classes = tuple(ClassFigures(name, 1, 1, 1) for name in names)
    confusion = tuple(map(tuple, counts.tolist()))
    evaluation = replace(report.evaluation, classes=classes, confusion=confusion)
    overview = replace(report.overview, classes=names)
    page = written(replace(report, overview=overview, evaluation=evaluation))
    assert "What is taken for what" in page
    assert "class 2class 79" in read(page).replace(" 9", "9").replace(" class", "class")
    assert "Confusion matrix" not in page


def test_certainty_of_one_of_many_answers_is_not_measured_from_one_half(report):
    """Of two answers 30% for one is 70% for the other; of many it is a doubtful 30%."""
    bins = tuple(ReliabilityBin(at, at + 0.1, 10, at, n) for at, n in ((0.3, 2), (0.4, 3)))
    for n_classes, told in ((2, "less sure than it should be, by 10.0"), (20, "surer than it sho")):
        names = report.overview.classes + tuple(f"class {n}" for n in range(n_classes - 2))
        evaluation = replace(
            report.evaluation,
            reliability=bins,
            classes=tuple(ClassFigures(name, 1, 1, 1) for name in names),
            confusion=tuple(map(tuple, np.eye(n_classes, dtype=int).tolist())),
        )
        overview = replace(report.overview, classes=names)
        assert told in read(written(replace(report, overview=overview, evaluation=evaluation)))


def test_the_markdown_tells_what_the_page_tells_in_even_tables(report):
    markdown = written(report, as_markdown=True)
    assert markdown == written(report, as_markdown=True)
    assert markdown.startswith("# A hotel model\n")
    sha256 = report.model.training.data_sha256
    for part in ("its prototypes", "## How right it is", "## Where it goes wrong", sha256):
        assert part in markdown
    lines = [line if line.startswith("|") else "" for line in markdown.splitlines()]
    tables = [table.strip().splitlines() for table in "\n".join(lines).split("\n\n")]
    assert sum(map(bool, tables)) >= 6
    for table in filter(None, tables):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1, table
