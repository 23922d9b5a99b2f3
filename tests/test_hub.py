"""Models to and from the Hugging Face hub: its own client against a small hub on this machine."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import huggingface_hub
import pytest
from huggingface_hub import constants

from protorynet import ProtoryNetClassifier
from protorynet.errors import InputError, ModelFormatError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "/api/models/me/hotel"


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as a model needs: make a repository, commit to it, list it, read it."""

    files: dict[str, bytes]

    def do_POST(self):
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith(f"{REPO}/preupload/"):
            paths = [file["path"] for file in json.loads(content)["files"]]
            modes = [{"path": p, "uploadMode": "regular", "shouldIgnore": False} for p in paths]
            self.answer({"files": modes})
            return
        if self.path.startswith(f"{REPO}/commit/"):
            for line in map(json.loads, content.splitlines()):
                value = line["value"]
                if line["key"] == "file":
                    self.files[value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "deletedFile":
                    del self.files[value["path"]]
        url = f"{constants.ENDPOINT}/me/hotel"
        self.answer({"url": url, "commitUrl": f"{url}/commit/{COMMIT}", "commitOid": COMMIT})

    def do_GET(self):
        name = self.path.partition(f"/me/hotel/resolve/{COMMIT}/")[2]
        if name in self.files:
            self.answer(self.files[name])
        elif self.path.startswith(f"{REPO}/tree/"):
            sizes = {path: len(content) for path, content in self.files.items()}
            files = [{"path": p, "size": n, "oid": COMMIT} for p, n in sizes.items()]
            self.answer([{"type": "file", **file} for file in files])
        elif self.path.startswith(REPO):
            siblings = [{"rfilename": path} for path in self.files]
            self.answer({"id": "me/hotel", "sha": COMMIT, "siblings": siblings})
        else:
            self.answer({"error": "Repository not found"}, 404)

    do_HEAD = do_GET

    def answer(self, content, status=200):
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hash(content)}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if status == 404:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Start a hub, and return its files by name."""
    handler = type("OwnHub", (Hub,), {"files": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", url)
    template = f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield handler.files
    server.shutdown()
    server.server_close()


def test_a_model_goes_to_the_hub_and_comes_back_the_same(hub, fitted, encoder, reviews):
    hub |= {"edits.json": b"of an earlier model", "figures.csv": b"of others"}
    assert fitted.push_to_hub("me/hotel", token="t").endswith("/me/hotel")
    assert "edits.json" not in hub
    assert hub["figures.csv"] == b"of others"
    card = huggingface_hub.ModelCard(hub["README.md"].decode()).data
    assert (card.library_name, card.pipeline_tag) == ("protorynet", "text-classification")
    again = ProtoryNetClassifier.from_pretrained("me/hotel", encoder=encoder, cache=False)
    assert (again.predict_proba(reviews.texts) == fitted.predict_proba(reviews.texts)).all()


def test_what_is_not_there_is_one_line(hub):
    with pytest.raises(ModelFormatError, match=r"'me/motel' cannot be fetched \(.*access token"):
        ProtoryNetClassifier.from_pretrained("me/motel")
    with pytest.raises(InputError, match="neither a model directory that exists nor a name"):
        ProtoryNetClassifier.from_pretrained("models/v1/hotel")
