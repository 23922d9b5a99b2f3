"""The participants' pages over real HTTP, and who may read answers."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from markupsafe import escape
from sqlalchemy import text
from survey_scene import EVIL, Form, answer, begin, running, small_survey

from protorynet.server import KeyFile, ServerConfig
from protorynet_lab.survey import Storage, Survey, survey_app
from protorynet_lab.survey.orders import steps_for
from protorynet_lab.survey.people import new_token


@pytest.fixture
def link(light_storage: Storage, survey: Survey) -> Iterator[str]:
    """The invitation of a survey that is served."""
    light_storage.keep_survey(survey)
    invitation = light_storage.invite(survey.id)
    with running(survey_app(light_storage)) as address:
        yield f"{address}/survey/join/{invitation.token}"


@pytest.fixture
def client(link: str) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=httpx.URL(link).copy_with(path="/"), follow_redirects=True
    ) as opened:
        yield opened


def taken(client: httpx.Client, link: str, technical: str = "yes") -> list[httpx.Response]:
    """Take the survey from start to end, and return all pages."""
    pages = [begin(client, link, technical)]
    while "<form" in pages[-1].text:
        pages.append(answer(client, pages[-1]))
    return pages


def test_a_survey_can_be_taken_without_scripts(client, link, light_storage, survey) -> None:
    pages = taken(client, link)
    assert "Thank you" in pages[-1].text
    assert len(light_storage.responses(survey.id)) == 4
    assert light_storage.n_participants(survey.id) == {"begun": 1, "finished": 1}


def test_many_people_at_once_lose_nothing(link, light_storage, survey) -> None:
    def take(place: int) -> str:
        base = httpx.URL(link).copy_with(path="/")
        with httpx.Client(base_url=base, follow_redirects=True, timeout=60) as own:
            return taken(own, link, "yes" if place % 2 else "no")[-1].text

    with ThreadPoolExecutor(16) as people:
        assert all("Thank you" in page for page in people.map(take, range(16)))
    told = light_storage.responses(survey.id)
    assert len(told) == 16 * 4
    spread = Counter((each.kind, each.model) for each in told)
    assert set(spread.values()) == {4 * 4}


def test_technical_or_not_is_asked_once_and_kept(client, link, light_storage, survey) -> None:
    pages = taken(client, link, technical="no")
    assert not any('name="technical"' in page.text for page in pages)
    assert {each.kind for each in light_storage.responses(survey.id)} == {"non-technical"}


def test_starting_without_an_answer_asks_again(client, link) -> None:
    form = Form.of(client.get(link).text)
    again = client.post(form.action, data={"own": form.values["own"][0]})
    assert again.status_code == 422
    assert 'role="alert"' in again.text
    assert Form.of(again.text).values["own"] == form.values["own"]


def test_starting_twice_begins_once(client, link, light_storage, survey) -> None:
    form = Form.of(client.get(link).text)
    data = {"own": form.values["own"][0], "technical": "yes"}
    first, second = client.post(form.action, data=data), client.post(form.action, data=data)
    assert first.url == second.url
    assert light_storage.n_participants(survey.id)["begun"] == 1


def test_a_token_of_ones_own_making_must_look_like_one(client, link) -> None:
    form = Form.of(client.get(link).text)
    made = client.post(form.action, data={"own": "1", "technical": "yes"})
    assert made.status_code == 422


def test_sending_an_answer_twice_keeps_the_first(client, link, light_storage, survey) -> None:
    page = begin(client, link)
    form = Form.of(page.text)
    first, second = form.values["choice"][:2]
    client.post(form.action, data={"choice": first, "ease": "4"})
    onward = client.post(form.action, data={"choice": second, "ease": "1"})
    assert onward.status_code == 200
    assert [each.choice for each in light_storage.responses(survey.id)] == [first]


def test_going_back_shows_the_answer_that_is_stored(client, link) -> None:
    page = begin(client, link)
    chosen = Form.of(page.text).values["choice"][0]
    answer(client, page)
    back = client.get(page.url)
    assert "Your answer is stored" in back.text
    assert "<form" not in back.text
    assert f'value="{chosen}" required checked' in back.text


def test_nobody_skips_ahead(client, link) -> None:
    page = begin(client, link)
    ahead = client.get(str(page.url).removesuffix("1") + "3")
    assert ahead.url == page.url


def test_the_thanks_come_last(client, link) -> None:
    page = begin(client, link)
    early = client.get(str(page.url).removesuffix("1") + "thanks")
    assert early.url == page.url


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"choice": "7"},
        {"ease": "3"},
        {"choice": "999", "ease": "3"},
        {"choice": "7", "ease": "6"},
    ],
)
def test_half_an_answer_is_asked_for_again_and_not_stored(
    client, link, light_storage, survey, data
) -> None:
    page = begin(client, link)
    again = client.post(Form.of(page.text).action, data=data)
    assert again.status_code == 422
    assert 'role="alert"' in again.text
    assert light_storage.responses(survey.id) == []


def test_a_closed_tab_loses_nothing(client, link) -> None:
    page = answer(client, begin(client, link))
    with httpx.Client(follow_redirects=True) as elsewhere:
        personal = str(page.url).rpartition("/")[0]
        assert elsewhere.get(personal).url == page.url


def test_the_invitation_leads_back_who_has_begun(client, link) -> None:
    page = answer(client, begin(client, link))
    welcome = client.get(link)
    personal = httpx.URL(str(page.url).rpartition("/")[0]).path
    assert f'href="{personal}"' in welcome.text


def test_the_invitation_thanks_who_has_finished(client, link) -> None:
    taken(client, link)
    assert "You have taken part already" in client.get(link).text


def test_someone_else_may_begin_in_the_same_browser(client, link, light_storage, survey) -> None:
    taken(client, link)
    taken(client, link, technical="no")
    assert light_storage.n_participants(survey.id) == {"begun": 2, "finished": 2}


def test_markup_in_texts_is_only_ever_shown(client, link) -> None:
    for page in taken(client, link):
        assert "<script" not in page.text
        assert "<img" not in page.text


def test_texts_are_shown_whole(client, link) -> None:
    shown = "".join(page.text for page in taken(client, link))
    assert str(escape(EVIL)) in shown


def test_pages_tell_neither_the_model_nor_the_answer(client, link) -> None:
    for page in taken(client, link):
        assert "k15" not in page.text
        assert "k100" not in page.text
        assert "expected" not in page.text


def test_pages_forbid_scripts_frames_and_other_sites(client, link) -> None:
    for page in taken(client, link):
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "script-src" not in policy
        assert page.headers["referrer-policy"] == "same-origin"
        assert page.headers["cache-control"] == "no-store"


def test_the_cookie_is_for_this_site_only(client, link) -> None:
    form = Form.of(client.get(link).text)
    data = {"own": form.values["own"][0], "technical": "yes"}
    cookie = client.post(form.action, data=data, follow_redirects=False).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/survey" in cookie


_STRANGER = "bQeL4Oh5oncd9VWsr6w3Ig"  # a token's form, and nobody's


@pytest.mark.parametrize(
    "path",
    [
        "/survey/join/nothing",
        f"/survey/join/{_STRANGER}",
        f"/survey/take/{_STRANGER}",
        f"/survey/take/{_STRANGER}/1",
        f"/survey/take/{_STRANGER}/thanks",
        "/survey/join/" + "a" * 5000,
        "/survey/join/%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00",
        "/survey/take/..%2f..%2f..%2fetc%2fpasswd",
    ],
)
def test_a_link_that_leads_nowhere_says_so(client, path) -> None:
    page = client.get(path)
    assert page.status_code == 404
    assert "Traceback" not in page.text


def test_an_invitation_is_no_personal_link(client, link) -> None:
    assert client.get(link.replace("/join/", "/take/")).status_code == 404


def test_the_token_of_another_survey_does_not_enter_this_one(
    client, link, light_storage, survey
) -> None:
    other = small_survey("elsewhere", seed=9)
    light_storage.keep_survey(other)
    token = new_token()
    light_storage.enter(other, token, "technical")
    answered = client.post(link, data={"own": token, "technical": "yes"})
    assert answered.status_code == 404


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"a" * 20_000, {"content-type": "application/x-www-form-urlencoded"}, 413),
        (b"{}", {"content-type": "application/json"}, 422),
        (b"--x\r\nbroken", {"content-type": "multipart/form-data; boundary=x"}, 422),
        (b"choice=%ff%fe&ease=\xff", {"content-type": "application/x-www-form-urlencoded"}, 422),
        (b"", {}, 422),
    ],
    ids=["too large", "json", "broken", "no utf-8", "empty"],
)
def test_whatever_is_sent_is_answered_by_a_page(client, link, content, headers, status) -> None:
    page = begin(client, link)
    answered = client.post(Form.of(page.text).action, content=content, headers=headers)
    assert answered.status_code == status
    assert "text/html" in answered.headers["content-type"]
    assert "Traceback" not in answered.text


def test_a_body_of_unknown_length_is_refused(client, link) -> None:
    page = begin(client, link)
    answered = client.post(Form.of(page.text).action, content=iter([b"choice=7"]))
    assert answered.status_code == 413


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ("Content-Length: 00000000000000100000", "own=" + "a" * 99_996),
        (
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            f"186a0\r\n{'a' * 100_000}\r\n0\r\n\r\n",
        ),
    ],
    ids=["zeros", "chunks"],
)
def test_a_length_that_lies_does_not_let_a_large_form_in(link, headers, body) -> None:
    url = httpx.URL(link)
    request = (
        f"POST {url.path} HTTP/1.1\r\nHost: {url.netloc.decode()}\r\nConnection: close\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\n{headers}\r\n\r\n{body}"
    )
    with socket.create_connection((url.host, url.port), timeout=10) as connection:
        connection.sendall(request.encode())
        assert connection.recv(12) == b"HTTP/1.1 413"


def test_a_file_in_place_of_an_answer_is_refused(client, link) -> None:
    page = begin(client, link)
    answered = client.post(Form.of(page.text).action, files={"choice": b"7"})
    assert answered.status_code == 422


@pytest.mark.parametrize("number", ["0", "-1", "99", "1e3", "٣", "9" * 400])
def test_a_page_number_out_of_range_leads_back_or_is_refused(client, link, number) -> None:
    page = begin(client, link)
    answered = client.get(str(page.url).removesuffix("1") + number)
    assert answered.status_code in (200, 422)
    assert "Traceback" not in answered.text


def test_a_database_that_fails_is_told_without_details(client, link, light_storage) -> None:
    page = begin(client, link)
    with light_storage.engine.execution_options(writes=True).begin() as connection:
        connection.execute(text("DROP TABLE answers"))
    failed = answer(client, page)
    assert failed.status_code == 503
    assert "could not be stored" in failed.text
    assert "answers" not in failed.text.replace("answers are", "")


def test_styles_are_kept_and_named_by_their_content(client, link) -> None:
    _, _, rest = client.get(link).text.partition('rel="stylesheet" href="')
    styles = client.get(rest.partition('"')[0])
    assert styles.headers["content-type"].startswith("text/css")
    assert "immutable" in styles.headers["cache-control"]


def test_the_survey_alone_has_no_way_to_read_answers(client) -> None:
    for path in ("/v1/surveys", "/openapi.json", "/docs"):
        assert client.get(path).status_code == 404


class Keys:
    """A key of each scope."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.secrets = {
            scope: KeyFile(path).create(scope)[0] for scope in ("predict", "edit", "admin")
        }  # type: ignore[arg-type]

    def headers(self, scope: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secrets[scope]}"}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("keys") / "keys.json")


@pytest.fixture(scope="module")
def whole(
    keys: Keys, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Storage, Survey]]:
    """The whole server, with keys and a survey that someone has taken."""
    from protorynet.server import create_app

    survey = small_survey("k15", "k100")
    database = f"sqlite:///{tmp_path_factory.mktemp('whole') / 'survey.db'}"
    storage = Storage(database)
    storage.keep_survey(survey)
    someone = storage.enter(survey, new_token(), "technical")
    for step in steps_for(survey, someone.model, someone.kind, someone.number):
        choice = None if step.question is None else step.question.expected
        storage.answer(someone, step.id, choice, n_steps=5)
    with running(create_app(ServerConfig(models={}, keys=keys.path, database=database))) as address:
        yield address, storage, survey
    storage.close()


ADMIN = ["", "/{id}/answers.csv", "/{id}/analysis"]


@pytest.mark.parametrize("path", ADMIN)
def test_answers_are_closed_to_those_without_a_key(whole, path) -> None:
    address, _, survey = whole
    assert httpx.get(f"{address}/v1/surveys{path.format(id=survey.id)}").status_code == 401


@pytest.mark.parametrize("scope", ["predict", "edit"])
@pytest.mark.parametrize("path", ADMIN)
def test_answers_are_closed_to_keys_of_a_smaller_scope(whole, keys, path, scope) -> None:
    address, _, survey = whole
    asked = f"{address}/v1/surveys{path.format(id=survey.id)}"
    assert httpx.get(asked, headers=keys.headers(scope)).status_code == 403


@pytest.mark.parametrize("path", ADMIN)
def test_answers_are_open_to_a_key_of_scope_admin(whole, keys, path) -> None:
    address, _, survey = whole
    asked = f"{address}/v1/surveys{path.format(id=survey.id)}"
    assert httpx.get(asked, headers=keys.headers("admin")).status_code == 200


@pytest.mark.parametrize(("scope", "status"), [(None, 401), ("edit", 403), ("admin", 201)])
def test_only_admins_invite(whole, keys, scope, status) -> None:
    address, _, survey = whole
    headers = keys.headers(scope) if scope else {}
    invited = httpx.post(f"{address}/v1/surveys/{survey.id}/invitations", headers=headers)
    assert invited.status_code == status
    if status == 201:
        assert httpx.get(address + invited.json()["path"]).status_code == 200


def test_participants_need_no_key_on_the_whole_server(whole) -> None:
    address, storage, survey = whole
    token = storage.invite(survey.id).token
    with httpx.Client(base_url=address, follow_redirects=True) as client:
        pages = taken(client, f"{address}/survey/join/{token}")
    assert "Thank you" in pages[-1].text


def test_a_browsers_form_passes_the_whole_server(whole) -> None:
    address, storage, survey = whole
    token = storage.invite(survey.id).token
    sent = {"Origin": address, "Sec-Fetch-Site": "same-origin"}
    with httpx.Client(base_url=address, follow_redirects=True, headers=sent) as client:
        assert begin(client, f"{address}/survey/join/{token}").status_code == 200


def test_an_unknown_survey_is_not_found(whole, keys) -> None:
    address, _, _ = whole
    for name in ("nothing", "..%2f..%2fetc", "%00"):
        asked = httpx.get(f"{address}/v1/surveys/{name}/analysis", headers=keys.headers("admin"))
        assert asked.status_code == 404
