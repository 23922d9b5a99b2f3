"""A survey taken in a real browser by two people at once, through crashes, on either database."""

import signal
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from survey_scene import Process, small_survey

from chromium import Window, needs_browser
from protorynet_lab.survey import Storage, write_survey

pytestmark = needs_browser


class Person(Window):
    """Someone with a browser window of their own."""

    def __init__(self, browser: Any, *, width: int = 1280, scheme: str = "light") -> None:
        super().__init__(browser, width=width, color_scheme=scheme, bypass_csp=True)

    def check(self) -> None:
        """Nothing was complained of, and nothing asked for elsewhere."""
        assert self.complaints == []
        assert all(url.startswith(("http://127.0.0.1:", "data:")) for url in self.asked)

    def start(self, link: str, *, is_technical: bool) -> None:
        self.page.goto(link)
        self.page.get_by_label("Yes, I do" if is_technical else "No, I do not").check()
        with self.page.expect_navigation():
            self.page.get_by_role("button", name="Start").click()

    @property
    def is_done(self) -> bool:
        return bool(self.page.url.endswith("/thanks"))

    def answer(self, number: int = 0) -> str | None:
        """Answer what is shown, and return the key of what was chosen."""
        choices = self.page.locator("input[name=choice]")
        chosen = None
        if choices.count():
            choices.nth(number).check()
            chosen = choices.nth(number).get_attribute("value")
        if self.page.locator("input[name=ease]").count():
            self.page.locator("input[name=ease]").nth(3).check()
        # A page that is about to be replaced can still be looked at: wait for the next one.
        with self.page.expect_navigation():
            self.page.locator("button[type=submit]").click()
        return chosen


def test_two_people_finish_though_a_window_and_a_server_die(browser, tmp_path, database, survey):
    write_survey(survey, tmp_path / "survey.json")
    words = [str(tmp_path / "survey.json"), "--database", database]
    server = Process(*words)
    try:
        first, second = Person(browser), Person(browser, width=390, scheme="dark")
        first.start(server.link, is_technical=True)
        second.start(server.link, is_technical=False)
        chosen = [first.answer(), second.answer(), first.answer(1), second.answer(1)]

        # One window is closed; its owner comes back elsewhere by the address that was shown.
        personal = first.page.url
        first.context.close()
        first = Person(browser)
        first.page.goto(personal)

        # The server is killed right after an answer was confirmed by the next page.
        chosen.append(second.answer())
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
        server = Process(*words, port=server.port)
        second.page.reload()

        while not (first.is_done and second.is_done):
            chosen += [someone.answer() for someone in (first, second) if not someone.is_done]
        for someone in (first, second):
            assert "Thank you" in someone.page.inner_text("h1")
            someone.check()
            assert someone.page.title() != "run"
    finally:
        server.end()
    with closing(Storage(database)) as storage:
        given = storage.responses(survey.id)
        assert storage.n_participants(survey.id) == {"begun": 2, "finished": 2}
    assert [each.choice for each in given] == [choice for choice in chosen if choice is not None]
    assert {each.kind for each in given} == {"technical", "non-technical"}
    assert all(each.seconds is not None and each.seconds >= 0 for each in given)


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("served")
    write_survey(small_survey("only"), folder / "survey.json")
    server = Process(str(folder / "survey.json"))
    yield server
    server.end()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_page_is_open_to_everyone(browser, served, width, scheme):
    someone = Person(browser, width=width, scheme=scheme)
    someone.page.goto(served.link)
    someone.check_access()
    someone.start(served.link, is_technical=True)
    while not someone.is_done:
        someone.check_access()
        someone.answer()
    someone.check_access()
    for visit in (someone.page.go_back, lambda: someone.page.goto(served.link)):
        visit()
        someone.check_access()
    someone.check()
    someone.context.close()


def test_a_survey_can_be_taken_by_keyboard(browser, served):
    someone = Person(browser)
    someone.page.goto(served.link)
    for number, keys in enumerate(("Tab Space Enter", "Tab Space Tab Space Enter"), 1):
        for key in keys.split():
            someone.page.keyboard.press(key)
        someone.page.wait_for_url(f"**/take/*/{number}")
    someone.check()
    someone.context.close()
