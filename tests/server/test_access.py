"""Who may do what: keys, their scopes route by route, hosts and origins."""

import re
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from protorynet.errors import InputError
from protorynet.server import KeyFile, ServerConfig, create_app
from protorynet.server.api_keys import SCOPES, Scope
from protorynet.server.api_pages import route_scopes
from server_scene import TEXTS, error_code, running, serving

PUBLIC = "/ /assets/{name:path} /docs /docs/style.css /healthz /openapi.json /readyz /{name}"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory):
    """A key of each scope, and the file that they are in."""
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    made = {scope: KeyFile(path).create(scope, name=f"of {scope}")[0] for scope in SCOPES}
    return {"file": str(path), **made}


@pytest.fixture(scope="module")
def guarded(hotel, secrets, tmp_path_factory):
    """A server of everything, with keys and a model to spoil."""
    folder = tmp_path_factory.mktemp("guarded")
    copied = Path(shutil.copytree(hotel, folder / "hotel"))
    config = replace(_everything(copied, folder), keys=Path(secrets["file"]))
    with running(config) as server:
        yield server


def test_only_these_routes_outside_the_pages_are_public(hotel, tmp_path):
    scopes = route_scopes(create_app(_everything(hotel, tmp_path)))
    public = {path for (_, path), scope in scopes.items() if scope is None}
    pages = {path for path in public if path.startswith("/survey")}
    assert public - pages == set(PUBLIC.split())


def test_a_keys_scope_is_enforced_on_each_route(guarded, secrets):
    wrong = []
    for (method, path), needed in route_scopes(guarded.app).items():
        url = re.sub(r"\{[^}]+\}", "1", path.replace("{name}", "hotel"))
        for scope in (None, *SCOPES):
            headers = {"Authorization": f"Bearer {secrets[scope]}"} if scope else {}
            status = guarded.client.request(method, url, headers=headers).status_code
            # Whoever is let in may still learn that there is no such thing.
            gate = status if status in (401, 403) else 200
            if gate != _expected(needed, scope):
                wrong.append((method, path, scope, status))
    assert wrong == []


def test_a_body_without_a_key_is_refused_unread(guarded):
    response = guarded.client.post("/v1/models/hotel/predict", content=b"no json")
    assert (response.status_code, error_code(response)) == (401, "key_needed")
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("given", ["Bearer guess", "Bearer", "Basic abc", "", "Bearer \xe9"])
def test_what_is_no_key_is_refused(guarded, given):
    response = guarded.client.get("/v1/models", headers={"Authorization": given.encode("latin-1")})
    assert (response.status_code, error_code(response)) == (401, "key_needed")


def test_a_revoked_key_is_refused_at_once(guarded, secrets):
    keys = KeyFile(Path(secrets["file"]))
    secret, key = keys.create("predict")
    headers = {"Authorization": f"Bearer {secret}"}
    assert guarded.client.get("/v1/models", headers=headers).status_code == 200
    keys.revoke(key.id)
    assert guarded.client.get("/v1/models", headers=headers).status_code == 401


def test_a_key_file_that_breaks_or_is_gone_lets_nobody_in(hotel, tmp_path, caplog):
    path = tmp_path / "keys.json"
    secret, _ = KeyFile(path).create("admin")
    headers = {"Authorization": f"Bearer {secret}"}
    with serving(hotel, keys=path) as server:
        kept = path.read_bytes()
        spoilers = [
            lambda: path.write_text("{}"),
            lambda: path.write_text('{"keys": [{"scope": "root"}]}'),
            lambda: path.write_text(""),
            lambda: [path.unlink(), path.symlink_to("/dev/zero")],
            path.unlink,
        ]
        for spoil in spoilers:
            caplog.clear()
            spoil()
            for route in ("/v1/models", "/metrics"):
                response = server.client.get(route, headers=headers)
                assert (response.status_code, error_code(response)) == (503, "keys_unreadable")
                assert path.name not in response.text
            assert [each.message for each in caplog.records].count("keys cannot be read") == 1
        path.write_bytes(kept)
        assert server.client.get("/v1/models", headers=headers).status_code == 200


def test_keys_made_and_revoked_at_the_same_moment_are_all_made_and_all_revoked(tmp_path):
    path = tmp_path / "keys.json"
    old = [KeyFile(path).create("predict")[1].id for _ in range(20)]
    with ThreadPoolExecutor(8) as threads:
        made = [threads.submit(KeyFile(path).create, "edit") for _ in old]
        revoked = [threads.submit(KeyFile(path).revoke, name) for name in old]
    expected = {each.result()[1].id for each in made}
    assert [each.exception() for each in revoked] == [None] * len(old)
    left = KeyFile(path).keys()
    assert {key.id for key in left} == expected


def test_a_key_is_kept_as_a_digest_in_a_file_for_its_owner_alone(tmp_path):
    path = tmp_path / "keys.json"
    secret, key = KeyFile(path).create("edit", name="alice")
    assert secret not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(secret.split("_", 1)[1]) >= 43  # 256 bits
    with pytest.raises(InputError, match=f"its keys are {key.id}"):
        KeyFile(path).revoke("other")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "example.org", ""])
def test_listening_to_others_needs_keys(hotel, tmp_path, host):
    with pytest.raises(InputError, match="API keys are needed"):
        ServerConfig(models={"hotel": hotel}, host=host)
    ServerConfig(models={"hotel": hotel}, host=host, keys=tmp_path / "keys.json")


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b", ".a", "a.", "a b", "ä", "a" * 65, "a\n"])
def test_a_tricky_model_name_is_refused(hotel, name):
    with pytest.raises(InputError, match="cannot be a model's name"):
        ServerConfig(models={name: hotel})


def test_without_keys_only_loopback_host_names_are_answered(server):
    # A page elsewhere may have its own name point to this machine, and read what it gets.
    for host in ("example.org", "localhost.example.org", "", "127.0.0.1.nip.io", "["):
        response = server.client.get("/v1/models", headers={"Host": host})
        assert (response.status_code, error_code(response)) == (400, "unknown_host"), host
    for host in ("localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000"):
        assert server.client.get("/v1/models", headers={"Host": host}).status_code == 200, host


def test_own_pages_may_send_and_those_of_other_sites_may_not(server):
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    assert server.predict(TEXTS, headers=own).status_code == 200
    others = ({"Origin": "https://example.org"}, {"Origin": "null"})
    for headers in (*others, {"Sec-Fetch-Site": "cross-site"}):
        response = server.predict(TEXTS, headers=headers)
        assert (response.status_code, error_code(response)) == (403, "foreign_origin")


@pytest.mark.parametrize("path", ["/", "/docs", "/v1/models", "/nothing", "/healthz"])
def test_every_answer_has_the_security_headers(server, path):
    origin = {"Origin": "https://example.org"}
    headers = server.client.get(path, headers=origin, follow_redirects=True).headers
    assert not any(name.startswith("access-control") for name in headers)
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_a_request_id_is_taken_over_only_if_harmless(server):
    for given, same in (("abc-1", True), ("a b", False), ("x" * 65, False)):
        answer = server.client.get("/healthz", headers={"X-Request-ID": given})
        assert (answer.headers["x-request-id"] == given) is same


def test_readers_look_at_drafts_versions_and_mistakes_and_only_editors_change_them(server):
    found = [
        (method, path, scope)
        for (method, path), scope in route_scopes(server.app).items()
        if re.search(r"/(draft|versions|mistakes)\b", path)
    ]
    assert len(found) > 10
    for method, path, scope in found:
        assert scope == ("predict" if method == "GET" else "edit"), path


def _everything(hotel: Path, tmp_path: Path) -> ServerConfig:
    database = f"sqlite:///{tmp_path / 'surveys.db'}"
    return ServerConfig(models={"hotel": hotel}, device="cpu", database=database)


def _expected(needed: str | None, scope: Scope | None) -> int:
    """Return the status that a missing or too small key must get; 200 where it is let in."""
    if needed is None:
        return 200
    if scope is None:
        return 401
    return 200 if SCOPES.index(scope) >= SCOPES.index(needed) else 403
