"""The participants' pages over real HTTP, and who may read answers."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
import uvicorn
from markupsafe import escape
from sqlalchemy import text
from survey_scene import EVIL, answer, begin, read_form, small_survey, take

from protorynet.server import KeyFile, ServerConfig
from protorynet_lab.survey import Storage, new_token, survey_app
from server_scene import running


@pytest.fixture
def link(light_storage, survey) -> Iterator[str]:
    """The invitation of a survey that is served."""
    invitation = light_storage.invite(survey.id)
    config = uvicorn.Config(survey_app(light_storage), log_config=None, ws="none")
    with running(config) as server:
        yield f"{server.url}/survey/join/{invitation.token}"


@pytest.fixture
def client(link) -> Iterator[httpx.Client]:
    with browse(link) as opened:
        yield opened


def browse(link: str, **options: Any) -> httpx.Client:
    base = httpx.URL(link).copy_with(path="/")
    return httpx.Client(base_url=base, follow_redirects=True, timeout=60, **options)


def test_a_survey_can_be_taken_without_scripts(client, link, light_storage, survey):
    pages = take(client, link, technical="no")
    assert "Thank you" in pages[-1].text
    assert not any('name="technical"' in page.text for page in pages)
    given = light_storage.responses(survey.id)
    assert (len(given), {each.kind for each in given}) == (4, {"non-technical"})
    assert light_storage.n_participants(survey.id) == {"begun": 1, "finished": 1}
    assert "You have taken part already" in client.get(link).text
    take(client, link)  # someone else in the same browser
    assert light_storage.n_participants(survey.id) == {"begun": 2, "finished": 2}


def test_pages_only_show_texts_and_tell_neither_the_model_nor_the_answer(client, link):
    pages = take(client, link)
    for page in pages:
        assert not any(
            words in page.text for words in ("<script", "<img", "k15", "k100", "expected")
        )
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "script-src" not in policy
        assert page.headers["referrer-policy"] == "same-origin"
        assert page.headers["cache-control"] == "no-store"
    assert str(escape(EVIL)) in "".join(page.text for page in pages)
    _, _, rest = pages[0].text.partition('rel="stylesheet" href="')
    styles = client.get(rest.partition('"')[0])
    assert styles.headers["content-type"].startswith("text/css")
    assert "immutable" in styles.headers["cache-control"]
    for path in ("/v1/surveys", "/openapi.json", "/docs"):
        assert client.get(path).status_code == 404


@pytest.mark.parametrize("data", [{}, {"technical": "maybe"}, {"own": "1", "technical": "yes"}])
def test_starting_without_an_answer_or_a_token_asks_again(client, link, data):
    action, values = read_form(client.get(link))
    again = client.post(action, data={"own": values["own"][0]} | data)
    assert again.status_code == 422
    assert 'role="alert"' in again.text
    assert "own" in data or read_form(again)[1]["own"] == values["own"]


def test_starting_twice_begins_once_with_a_cookie_of_this_site(client, link, light_storage, survey):
    action, values = read_form(client.get(link))
    data = {"own": values["own"][0], "technical": "yes"}
    sent = [client.post(action, data=data, follow_redirects=False) for _ in range(2)]
    assert sent[0].headers["location"] == sent[1].headers["location"]
    assert light_storage.n_participants(survey.id)["begun"] == 1
    for words in ("HttpOnly", "SameSite=lax", "Path=/survey"):
        assert words in sent[0].headers["set-cookie"]


def test_the_first_answer_stands_and_is_shown(client, link, light_storage, survey):
    page = begin(client, link)
    action, values = read_form(page)
    first, second = values["choice"][:2]
    client.post(action, data={"choice": first, "ease": "4"})
    assert client.post(action, data={"choice": second, "ease": "1"}).status_code == 200
    assert [each.choice for each in light_storage.responses(survey.id)] == [first]
    back = client.get(page.url)
    assert "Your answer is stored" in back.text
    assert "<form" not in back.text
    assert f'value="{first}" required checked' in back.text
    # Nothing is lost with a closed tab.
    personal = str(page.url).rpartition("/")[0]
    assert str(httpx.get(personal, follow_redirects=True).url) == f"{personal}/2"
    assert f'href="{httpx.URL(personal).path}"' in client.get(link).text


@pytest.mark.parametrize("step", ["3", "thanks", "0", "-1", "99", "1e3", "٣", "9" * 400])
def test_nobody_skips_ahead_or_elsewhere(client, link, step):
    page = begin(client, link)
    answered = client.get(str(page.url).removesuffix("1") + step)
    assert answered.url == page.url or answered.status_code == 422
    assert "Traceback" not in answered.text


@pytest.mark.parametrize(
    "data", [{}, {"choice": "7"}, {"ease": "3"}, {"choice": "999", "ease": "3"}, {"ease": "6"}]
)
def test_half_an_answer_is_asked_again_and_not_stored(client, link, light_storage, survey, data):
    again = client.post(begin(client, link).url, data=data)
    assert again.status_code == 422
    assert 'role="alert"' in again.text
    assert light_storage.responses(survey.id) == []


_STRANGER = "bQeL4Oh5oncd9VWsr6w3Ig"  # a token's form, and nobody's


@pytest.mark.parametrize(
    "path",
    [
        "join/nothing",
        f"join/{_STRANGER}",
        *(f"take/{_STRANGER}{rest}" for rest in ("", "/1", "/thanks")),
        "join/" + "a" * 5000,
        "join/" + "%00" * 22,
        "join/" + "ä" * 22,
        "take/..%2f..%2f..%2fetc%2fpasswd",
        "take/INVITATION",
    ],
)
def test_a_link_that_leads_nowhere_says_so(client, link, path):
    page = client.get("/survey/" + path.replace("INVITATION", link.rpartition("/")[2]))
    assert page.status_code == 404
    assert "Traceback" not in page.text


def test_the_token_of_another_survey_does_not_enter_this_one(client, link, light_storage):
    other = small_survey("elsewhere", seed=9)
    light_storage.keep_survey(other)
    token = new_token()
    light_storage.enter(other, token, "technical")
    assert client.post(link, data={"own": token, "technical": "yes"}).status_code == 404


_FORM = {"content-type": "application/x-www-form-urlencoded"}
_MULTIPART = {"content-type": "multipart/form-data; boundary=x"}


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"content": b"a" * 20_000, "headers": _FORM}, 413),
        ({"content": [b"choice=7"]}, 413),
        ({"content": b"{}", "headers": {"content-type": "application/json"}}, 422),
        ({"content": b"--x\r\n", "headers": _MULTIPART}, 422),
        ({"content": b"choice=%ff%fe&ease=\xff", "headers": _FORM}, 422),
        ({"content": b""}, 422),
        ({"files": {"choice": b"7"}}, 422),
    ],
    ids=["too large", "of unknown length", "json", "broken", "no utf-8", "empty", "a file"],
)
def test_whatever_is_sent_is_answered_by_a_page(client, link, sent, status):
    answered = client.post(begin(client, link).url, **sent)
    assert answered.status_code == status
    assert "text/html" in answered.headers["content-type"]
    assert "Traceback" not in answered.text


def test_a_database_that_fails_is_told_without_details(client, link, light_storage):
    page = begin(client, link)
    with light_storage.engine.execution_options(writes=True).begin() as connection:
        connection.execute(text("DROP TABLE answers"))
    failed = answer(client, page)
    assert failed.status_code == 503
    assert "could not be stored" in failed.text
    assert "answers" not in failed.text.replace("answers are", "")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The whole server with a survey: where surveys are, its id, and the headers of each scope."""
    folder, survey = tmp_path_factory.mktemp("whole"), small_survey("k15", "k100")
    with closing(Storage(folder / "survey.db")) as storage:
        storage.keep_survey(survey)
    file = KeyFile(folder / "keys.json")
    scopes = ("predict", "edit", "admin")
    keys = {scope: {"Authorization": f"Bearer {file.create(scope)[0]}"} for scope in scopes}
    database = f"sqlite:///{folder / 'survey.db'}"
    config = ServerConfig(models={}, keys=folder / "keys.json", database=database)
    with running(config) as server:
        yield f"{server.url}/v1/surveys", survey.id, {"": {}, **keys}


def test_only_admins_invite_and_the_invited_need_no_key(whole):
    surveys, survey, keys = whole
    address = surveys.removesuffix("/v1/surveys")
    for scope, status in (("", 401), ("edit", 403), ("admin", 201)):
        invited = httpx.post(f"{surveys}/{survey}/invitations", headers=keys[scope])
        assert invited.status_code == status
    link = address + invited.json()["path"]
    with browse(link, headers={"Origin": address, "Sec-Fetch-Site": "same-origin"}) as client:
        assert "Thank you" in take(client, link)[-1].text
    for unknown in ("nothing", "..%2f..%2fetc", "%00"):
        asked = httpx.get(f"{surveys}/{unknown}/analysis", headers=keys["admin"])
        assert asked.status_code == 404
    item = httpx.get(surveys, headers=keys["admin"]).json()["items"][0]
    assert (item["id"], item["title"]) == (survey, "Hotels & more")
    assert (item["models"], item["begun"], item["finished"]) == (["k15", "k100"], 1, 1)
