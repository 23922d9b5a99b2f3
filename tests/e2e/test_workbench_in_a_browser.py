"""The workbench in a real browser: each page's main path, and every page open to everyone."""

import csv
import io
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chromium import Window, needs_browser
from protorynet import ProtoryNetClassifier

pytest.importorskip("fastapi", reason="needs protorynet[server]")
expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = needs_browser

PAGES = ("read", "prototypes", "patterns", "mistakes", "batch", "trust")
EVIL = "<script>document.title = 'run'</script> <img src='http://example.invalid/a.png'> 🏨 חדר."
TEXT = "The room was lovely. The bed was broken. We stayed for two nights."
PATIENCE = 60_000  # milliseconds, on a machine that does other things as well


@pytest.fixture(scope="module")
def models(tiny_bert_folder, reviews, quick, single, tmp_path_factory):
    """Tiny models whose training texts hold markup; the inn's prototypes are single sentences."""
    folder: Path = tmp_path_factory.mktemp("models")
    texts = [f"{text} {EVIL}" for text in reviews.texts]
    for name, kind in {"hotel": quick, "inn": single}.items():
        settings = replace(kind, min_prototypes=4, retrain_epochs=2)
        classifier = ProtoryNetClassifier(str(tiny_bert_folder), settings=settings, device="cpu")
        classifier.fit(texts, reviews.labels).save(folder / name)
    return folder


@pytest.fixture(scope="module")
def table(reviews, unseen_reviews, tmp_path_factory):
    """Labelled texts with markup; some of the labels are wrong, so that there are mistakes."""
    turned = {"good": "bad", "bad": "good"}
    train = zip(reviews.texts, reviews.labels, strict=True)
    test = zip(unseen_reviews.texts, unseen_reviews.labels, strict=True)
    rows = [(f"{text} {EVIL}", label, "train") for text, label in train]
    rows += [
        (f"{text} {EVIL}", turned[label] if number < 14 else label, "test")
        for number, (text, label) in enumerate(test)
    ]
    path: Path = tmp_path_factory.mktemp("table") / "reviews.csv"
    return write_csv(path, [("text", "label", "split"), *rows])


def write_csv(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def save(page: Any, button: str) -> Path:
    """Press a button that saves a file, and return where it lies."""
    with page.expect_download() as saved:
        page.get_by_role("button", name=button).click()
    return Path(saved.value.path())


def read_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))


@contextmanager
def served(**options: Any) -> Iterator[str]:
    """Serve, and give the address."""
    from protorynet.server import ServerConfig
    from server_scene import running

    with running(ServerConfig(device="cpu", **options)) as server:
        yield f"{server.url}/"


@pytest.fixture(scope="module")
def address(models, table, tmp_path_factory):
    """A server that tests only read from."""
    folder = shutil.copytree(models, tmp_path_factory.mktemp("served") / "models")
    with served(models={name: folder / name for name in ("hotel", "inn")}, data=table) as url:
        yield url


@pytest.fixture
def own_address(models, table, tmp_path):
    """A server of the test's own, to edit."""
    own = shutil.copytree(models, tmp_path / "models")
    with served(models={name: own / name for name in ("hotel", "inn")}, data=table) as url:
        yield url


class Visitor(Window):
    """Somebody with the workbench open."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        super().__init__(browser, **options)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.address = address
        self.page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)

    def open(self, page: str) -> Any:
        """Open a page, and wait until it has what it asked for."""
        self.page.goto(f"{self.address}#/{page}")
        self.page.wait_for_selector("main h1")
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until nothing is computed or asked for any more."""
        self.page.wait_for_load_state("networkidle")
        self.page.wait_for_selector("progress, .quiet-wait", state="detached")

    def check(self) -> None:
        """Nothing was complained of, run or asked for elsewhere."""
        assert self.complaints == []
        assert "run" not in self.page.title()
        assert all(url.startswith((self.address, "blob:", "data:")) for url in self.asked)


@contextmanager
def visiting(browser: Any, address: str, **options: Any) -> Iterator[Visitor]:
    visitor = Visitor(browser, address, **options)
    yield visitor
    visitor.check()
    visitor.context.close()


@pytest.fixture
def visitor(browser, address):
    with visiting(browser, address) as found:
        yield found


@pytest.fixture
def editor(browser, own_address):
    with visiting(browser, own_address) as found:
        yield found


@pytest.fixture(params=[(1280, "light"), (360, "dark")], ids=str)
def look(browser, address, request):
    width, scheme = request.param
    options = {"color_scheme": scheme, "bypass_csp": True, "reduced_motion": "reduce"}
    with visiting(browser, address, width=width, height=800, **options) as found:
        yield found


@pytest.mark.parametrize("name", [*(f"{name}/hotel" for name in PAGES), "prototypes/inn"])
def test_every_page_is_open_to_everyone_and_fits_its_window(look, name):
    page = look.open(name)
    if name == "prototypes/hotel":
        page.locator(".family-title button").first.click()
        page.locator(".member input").first.check()
        page.get_by_role("button", name="Your sentences like it").first.click()
        page.wait_for_selector(".near li")
    elif name == "prototypes/inn":
        page.locator(".row-body").first.click()
        page.wait_for_selector(".near li")
    look.settle()
    look.check_access()


def type_text(page: Any) -> None:
    page.get_by_label("Your text").fill(TEXT)
    page.wait_for_function(
        "() => document.querySelectorAll('.step').length === 3 && "
        "document.querySelector('.step-said').textContent.includes('The room was lovely')"
    )


def test_reading_draws_the_line_and_shows_each_sentence_beside_its_prototype(visitor):
    page = visitor.open("read/hotel")
    assert page.locator(".step").count() > 0, "an example is shown to whoever comes first"
    type_text(page)
    assert page.locator(".trajectory .dot").count() >= 3
    page.locator(".step-body").nth(1).hover()
    card = page.locator(".card")
    expect(card).to_contain_text("The bed was broken.")
    expect(card).to_contain_text("Left out")
    expect(page.locator(".step-family").nth(1)).to_contain_text("prototype")
    page.get_by_label("Mark the words that make them alike").check()
    page.wait_for_selector(".card mark")


def test_a_text_that_is_too_long_has_no_answer_and_is_told_so(visitor):
    page = visitor.open("read/hotel")
    type_text(page)
    page.get_by_label("Your text").fill("The room was lovely. " * 3_000)
    expect(page.get_by_role("alert")).to_contain_text("Shorten it")
    expect(page.locator(".verdict")).to_have_count(0)
    # The browser reports the refusal, which is what is asked for here.
    visitor.complaints.clear()


def test_a_text_of_many_sentences_is_summed_up(visitor):
    page = visitor.open("read/hotel")
    page.get_by_label("Your text").fill("The room was lovely. The bed was broken. " * 8)
    expect(page.locator(".cut")).to_contain_text("Of 16 sentences these 8 change the answer most")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".step")).to_have_count(16)


def test_the_number_of_a_late_sentence_stands_apart_from_its_text(visitor):
    page = visitor.open("read/hotel")
    page.get_by_label("Your text").fill("The room was lovely. " * 12)
    expect(page.locator(".step-number").last).to_have_text("12")
    gap = """number => {
        const said = document.createRange();
        said.selectNode(number.nextSibling);
        const digits = document.createRange();
        digits.selectNodeContents(number);
        return said.getClientRects()[0].left - digits.getBoundingClientRect().right;
    }"""
    assert page.locator(".step-number").last.evaluate(gap) > 3


def test_two_texts_are_read_side_by_side(visitor):
    page = visitor.open("read/hotel")
    page.get_by_role("button", name="Compare with another text").click()
    page.get_by_label("The other text").fill("The pool was awful.")
    expect(page.locator(".reader").nth(1).locator(".step")).to_have_count(1)
    expect(page.locator(".verdict")).to_have_count(2)


def test_two_texts_side_by_side_are_open_to_everyone(look):
    page = look.open("read/hotel")
    page.get_by_role("button", name="Compare with another text").click()
    expect(page.locator(".verdict")).to_have_count(2)
    look.settle()
    look.check_access()


def test_a_changed_sentence_moves_the_line_and_leaves_a_ghost(visitor):
    page = visitor.open("read/hotel")
    type_text(page)
    before = page.locator(".trajectory .line.strong").get_attribute("d")
    page.locator(".step-body").nth(1).click()
    page.get_by_label("Change the sentence").fill("The bed was lovely.")
    page.wait_for_selector(".what-if")
    assert page.locator(".trajectory .ghost").get_attribute("d") == before
    assert page.locator(".trajectory .line.strong").get_attribute("d") != before
    page.keyboard.press("Enter")
    assert page.get_by_label("Your text").input_value() == TEXT.replace("broken", "lovely")
    page.get_by_role("button", name="Put it back").click()
    page.wait_for_selector(".what-if", state="detached")
    assert page.get_by_label("Your text").input_value() == TEXT


def test_the_keyboard_alone_reads_and_changes_a_sentence(visitor):
    page = visitor.open("read/hotel")
    type_text(page)
    page.locator(".step-body").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type("The pool was awful.")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.dataset.step === '1'")
    assert "The pool was awful." in page.get_by_label("Your text").input_value()


def test_a_tap_shows_a_sentence_and_a_second_one_changes_it(browser, address):
    phone = {"width": 360, "height": 740, "has_touch": True, "is_mobile": True}
    with visiting(browser, address, **phone) as visitor:
        page = visitor.open("read/hotel")
        type_text(page)
        page.locator(".step-body").nth(1).tap()
        page.wait_for_selector(".step .card")
        assert page.get_by_label("Change the sentence").count() == 0
        page.locator(".step-body").nth(1).tap()
        page.get_by_label("Change the sentence").wait_for()


def test_a_shared_link_carries_the_text_past_the_server(visitor):
    page = visitor.open("read/inn")
    text = f"The room was lovely. {EVIL}"
    page.get_by_label("Your text").fill(text)
    page.locator(".step-said", has_text="The room was lovely.").first.wait_for()
    page.get_by_role("button", name="Copy link").click()
    page.get_by_text("Copied. The text is in the link").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector(".step")
    assert page.get_by_label("Your text").input_value() == text
    assert page.locator(".chooser select").input_value() == "inn"
    visitor.asked = [url for url in visitor.asked if url != "about:blank"]
    assert not any("lovely" in url.split("#")[0] for url in visitor.asked)


def test_a_reading_is_saved_as_a_harmless_page_and_as_a_picture(visitor, browser, tmp_path):
    page = visitor.open("read/hotel")
    page.get_by_label("Your text").fill(f"The room was lovely. {EVIL}")
    page.locator(".step-said", has_text="document.title").first.wait_for()
    assert save(page, "Save picture").read_bytes().startswith(b"\x89PNG")
    file = tmp_path / "reading.html"
    shutil.copy(save(page, "Save page"), file)
    offline = browser.new_page()
    asked: list[str] = []
    offline.on("request", lambda request: asked.append(request.url))
    offline.goto(file.as_uri())
    assert "document.title" in offline.inner_text("main")
    assert offline.title() != "run"
    assert asked == [file.as_uri()]
    offline.close()


def test_a_prototype_is_renamed_another_dropped_and_the_model_published(editor):
    page = editor.open("prototypes/inn")
    count = page.locator(".row").count()
    page.get_by_label("Search").fill("no such words anywhere")
    page.get_by_text("No prototype holds these words.").wait_for()
    page.get_by_label("Search").fill("")
    page.wait_for_function(f"() => document.querySelectorAll('.row').length === {count}")
    page.get_by_label("Sort by").select_option("id")
    editor.settle()
    page.locator(".row-body").first.click()
    page.wait_for_selector(".near li")
    page.locator(".near-rows button").first.click()
    page.get_by_role("dialog").get_by_text("See how the model reads it").wait_for()
    page.keyboard.press("Escape")
    page.get_by_label("Name", exact=True).fill("dirty <script>document.title = 'run'</script>")
    page.get_by_role("button", name="Rename").click()
    page.locator(".changes li", has_text="dirty").wait_for()
    editor.settle()  # what is like a prototype is not known once it is dropped
    page.get_by_role("button", name="Drop this prototype").click()
    page.locator(".changes li", has_text="dropped").wait_for()
    page.wait_for_function(f"() => document.querySelectorAll('.row').length === {count - 1}")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function(f"() => document.querySelectorAll('.row').length === {count}")
    editor.settle()
    page.get_by_role("button", name="Drop this prototype").click()
    page.locator(".changes li", has_text="dropped").wait_for()
    page.get_by_role("button", name="Train the reader again").click()
    figures = page.locator(".figures")
    figures.wait_for()
    expect(figures).to_contain_text("Answers right")
    page.get_by_label("Note for the new version").fill("without the first")
    page.get_by_role("button", name="Publish as a new version").click()
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text("answers everybody who uses “inn”")
    asked.get_by_role("button", name="Publish now").click()
    page.get_by_text("Version 2 is served now.").first.wait_for()
    page.get_by_text("Version 2 (served)").wait_for()
    expect(page.locator("h1")).to_have_text(re.compile(f"The {count - 1} sentence"))


def test_a_prototype_is_merged_into_another_which_keeps_its_id(editor):
    page = editor.open("prototypes/hotel")
    names = page.locator(".family-tags > .soft")
    ids = sorted((name.split()[-1] for name in names.all_inner_texts()), key=int)
    page.get_by_label("Sort by").select_option("id")
    expect(names).to_have_text([f"Prototype {number}" for number in ids])
    others = ids[1:]
    page.locator(".family-title button").first.click()
    page.get_by_label("Merge into").select_option(others[-1])
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(names).to_have_text([f"Prototype {number}" for number in others])
    kept = page.locator(".family", has_text="others merged into it")
    expect(kept).to_contain_text(f"Prototype {others[-1]}")


def test_the_sentences_of_a_prototype_are_searched_added_moved_split_off_and_dropped(editor):
    page = editor.open("prototypes/hotel")
    sizes = [int(size) for size in re.findall(r"Its (\d+) sentences", page.inner_text("main"))]
    large = page.locator(".family", has_text=f"Its {max(sizes)} sentences").first
    large.locator(".family-title button").click()
    large.locator(".member").first.wait_for()
    number = large.locator(".family-tags > .soft").inner_text()
    card = page.locator(".family").filter(has=page.get_by_text(number, exact=True))

    def count(size: int) -> None:
        expect(card.locator(".family-facts")).to_contain_text(f"Its {size} sentence")
        editor.settle()

    for word in ("bed", "pool", "lobby"):
        card.get_by_label("Add a sentence").fill(f"The town has a {word}.")
        card.get_by_role("button", name="Add", exact=True).click()
        page.locator(".changes li", has_text=f"has a {word}").wait_for()
    count(max(sizes) + 3)
    card.get_by_label("Search its sentences").fill("town has")
    for size, action in enumerate(("Make them a new prototype", "Drop them", "Move")):
        expect(card.locator(".member")).to_have_count(3 - size)
        card.locator(".member input").first.check()
        if action == "Move":
            card.get_by_label("Move to").select_option(index=1)
        card.get_by_role("button", name=action, exact=True).click()
        count(max(sizes) + 2 - size)
    page.get_by_role("button", name="Undo").click()
    count(max(sizes) + 1)


def test_a_text_walks_through_the_chart_step_by_step(visitor):
    page = visitor.open("patterns/hotel")
    page.get_by_label("Your text").fill(TEXT)
    page.locator(".walk li", has_text="The bed was broken.").wait_for()
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("0 of 3").wait_for()
    page.get_by_role("button", name="Next sentence").click()
    page.locator(".walk li.here", has_text="The room was lovely.").wait_for()
    expect(page.locator(".state.here")).to_have_count(1)
    expect(page.locator(".walk li.here")).to_have_text(re.compile(r"(up \d+|down \d+|stays)"))
    names = page.locator(".way-label text").all_text_contents()
    assert names
    assert not any(name.strip().isdigit() for name in names), "arrows bear words, not ids"


def test_a_phone_shows_the_words_of_the_chart_whole(browser, address):
    def widen(route: Any) -> None:
        response = route.fetch()
        found = response.json()
        for each in found["prototypes"]:
            each["words"] = ["recommendations"]
        route.fulfill(response=response, json=found)

    with visiting(browser, address, width=390, height=844) as visitor:
        visitor.page.route("**/prototypes", widen)
        page = visitor.open("patterns/hotel")
        page.get_by_label("Your text").fill(TEXT)
        expect(page.locator(".way-label.marked text").first).to_contain_text("recomm")
        cut = """chart => [...chart.querySelectorAll("text")].filter(text => {
            const [own, whole] = [text, chart].map(each => each.getBoundingClientRect());
            return own.left < whole.left || own.right > whole.right;
        }).map(text => text.textContent)"""
        assert page.locator(".ladder").evaluate(cut) == []


@pytest.mark.parametrize("answer", ["bad", "good"])
def test_the_chart_that_nobody_chose_is_that_of_the_answer(visitor, answer):
    def answer_so(route: Any) -> None:
        response = route.fetch()
        found = [each | {"label": answer} for each in response.json()["explanations"]]
        route.fulfill(response=response, json={"explanations": found})

    visitor.page.route("**/explain", answer_so)
    page = visitor.open("patterns/hotel")
    expect(page.get_by_role("heading", name=f"All it does for “{answer}”")).to_be_visible()


def test_a_mistake_is_blamed_marked_and_exported(editor):
    page = editor.open("mistakes/hotel")
    first = page.locator(".mistake", has=page.locator(".to-blame")).first
    expect(first.locator(".blame")).to_contain_text("Without it, the model would be")
    first.get_by_role("button", name="Show its course").click()
    first.locator(".step.blamed").wait_for()
    first.get_by_label("The label is wrong").check()
    first.get_by_placeholder("Note").fill("sarcasm")
    first.get_by_role("button", name="Save note").click()
    first.get_by_role("button", name="Save note").wait_for(state="detached")
    page.get_by_label("Label marked wrong").select_option("true")
    page.get_by_text("; 1 fit the filter").wait_for()
    (row,) = read_csv(save(page, "Save as CSV"))
    assert "sarcasm" in row.values()


def test_batch_can_be_tried_with_the_texts_of_the_server(visitor):
    page = visitor.open("batch/hotel")
    page.get_by_role("button", name="texts of this server").click()
    page.get_by_role("button", name="Read all texts").click()
    expect(page.locator(".pager")).to_contain_text("of 100 texts")


def test_a_table_is_read_at_once_and_shown_by_group_and_time(visitor, unseen_reviews, tmp_path):
    rows = [
        (f"{text} {EVIL}", f"<b>city</b> {number % 3}", f"2026-{number % 6 + 1:02}-01")
        for number, text in enumerate(unseen_reviews.texts)
    ]
    path = write_csv(tmp_path / "stays.csv", [("review", "city", "date"), *rows])
    page = visitor.open("batch/hotel")
    page.locator(".drop input").set_input_files(path)
    page.get_by_label("Column of the texts").select_option("review")
    page.get_by_label("Column of groups").select_option("city")
    page.get_by_label("Column of dates").select_option("date")
    page.get_by_role("button", name="Read all texts").click()
    page.get_by_text("What comes up how often").wait_for()
    page.wait_for_selector(".tally")
    page.get_by_role("button", name="Over time").click()
    page.wait_for_selector(".spark")
    page.get_by_role("button", name="By city").click()
    page.locator(".group-choice select").select_option("<b>city</b> 1")
    page.locator(".tick-mark").first.wait_for()
    page.locator(".tally summary").first.click()
    page.get_by_role("button", name="Show these").first.click()
    assert page.get_by_label("Has a sentence like").input_value()
    page.get_by_label("Has a sentence like").select_option("")
    page.locator("#rows").get_by_label("Answered").select_option(index=1)
    page.locator(".batch-rows li").first.wait_for()
    predicted = [row["prediction"] for row in read_csv(save(page, "Download CSV"))]
    assert len(predicted) == len(rows)
    assert set(predicted) <= {"good", "bad"}


def test_trust_is_explained_in_plain_words(visitor):
    shown = visitor.open("trust/hotel").inner_text("main")
    for words in ("answered correctly", "are what the labels say", "Before you use it"):
        assert words in shown


def test_what_the_audit_lists_can_be_read(visitor):
    page = visitor.open("trust/hotel")
    listed = page.locator(".listed", has=page.locator("button", has_text=re.compile(r"^row \d")))
    listed.first.locator("summary").click()
    listed.first.locator("button").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("See how the model reads it")


def test_a_cell_of_the_confusion_matrix_and_a_slice_lead_to_their_mistakes(visitor):
    page = visitor.open("mistakes/hotel")
    cell = page.locator(".confusion td a").first
    count = int(cell.inner_text())
    cell.click()
    expect(page.get_by_text(f"; {count} fit the filter")).to_be_visible()
    page.get_by_role("button", name="Clear the filter").click()
    page.locator(".slices button").first.click()
    expect(page.locator(".slices button[aria-pressed='true']")).to_have_count(1)


def test_another_model_is_chosen_by_name(visitor):
    page = visitor.open("prototypes/hotel")
    page.locator(".chooser select").select_option("inn")
    page.wait_for_url("**#/prototypes/inn")
    page.goto(f"{visitor.address}#/read/nobody")
    expect(page.get_by_text("No model named “nobody” is served here.")).to_be_visible()


def test_a_key_is_asked_for_once_and_what_it_forbids_is_said(browser, models, table, tmp_path):
    from protorynet.server import KeyFile

    own = Path(shutil.copytree(models / "hotel", tmp_path / "hotel"))
    secret, _ = KeyFile(tmp_path / "keys.json").create("predict")
    with served(models={"hotel": own}, data=table, keys=tmp_path / "keys.json") as address:
        visitor = Visitor(browser, address)
        page = visitor.page
        page.goto(address)
        page.get_by_label("API key").fill("wrong")
        page.get_by_role("button", name="Use this key").click()
        page.get_by_text("The key was not accepted.").wait_for()
        page.get_by_label("API key").fill(secret)
        page.get_by_role("button", name="Use this key").click()
        page.wait_for_selector(".step")
        assert page.evaluate("Object.keys(localStorage).length") == 0
        assert not any(secret in url for url in visitor.asked)
        page.get_by_role("link", name="Prototypes").click()
        page.locator(".family-title button").first.click()
        page.get_by_role("button", name="Drop this prototype").click()
        page.get_by_role("alert").get_by_text("edit").first.wait_for()
        visitor.context.close()


def test_a_server_that_is_gone_is_reported_in_plain_words(browser, own_address):
    visitor = Visitor(browser, own_address)
    page = visitor.open("read/hotel")
    visitor.context.set_offline(True)
    page.get_by_label("Your text").fill("Anything at all.")
    expect(page.get_by_text("The server does not answer.")).to_be_visible()
    visitor.context.close()
