import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from protorynet.encoders import EmbeddingCache
from protorynet.errors import InputError


class Named:
    def __init__(self, fingerprint: str = "named-1") -> None:
        self.name = "named"
        self.fingerprint = fingerprint

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        return vectors_of(sentences)


def vectors_of(sentences: list[str]) -> NDArray[np.float32]:
    """Vectors that tell by themselves which sentence they belong to."""
    numbers = [int(text.rpartition(" ")[2]) for text in sentences]
    return np.array([[n, n + 0.5, -n] for n in numbers], dtype=np.float32)


def numbered(start: int, stop: int) -> list[str]:
    # Lone surrogates, which JSON may smuggle in, have no place in UTF-8.
    return [f"\ud800 sentence {number}" for number in range(start, stop)]


def files(folder: Path, ending: str = ".npy") -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.name.endswith(ending))


def fill(cache: EmbeddingCache, start: int, stop: int, encoder: Any = None) -> None:
    sentences = numbered(start, stop)
    cache.put(encoder or Named(), sentences, vectors_of(sentences))


@pytest.mark.parametrize("fingerprint", ["../../escape", "/etc", "", "\ud7ff\x00*?"])
def test_any_fingerprint_has_a_place_of_its_own(fingerprint, tmp_path, monkeypatch):
    cache = EmbeddingCache(tmp_path / "cache")
    fill(cache, 0, 100, Named(fingerprint))
    assert cache.get(Named(fingerprint), numbered(0, 100))[0].all()
    assert not cache.get(Named(f"{fingerprint}2"), numbered(0, 100))[0].any()
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    # A release that computed other vectors is another place as well.
    monkeypatch.setattr("protorynet.encoders.embedding_cache.VECTORS_VERSION", 1)
    assert not cache.get(Named(fingerprint), numbered(0, 100))[0].any()


def test_only_many_sentences_are_kept_for_all_caches_and_no_text_is_stored(tmp_path):
    first, second = EmbeddingCache(tmp_path), EmbeddingCache(tmp_path)
    fill(first, 0, 63)
    assert files(tmp_path) == []
    assert not second.get(Named(), numbered(0, 100))[0].any()
    fill(first, 0, 100)
    assert second.get(Named(), numbered(0, 100))[0].all()
    assert all(b"sentence" not in path.read_bytes() for path in files(tmp_path))


def test_clearing_frees_what_the_cache_wrote_and_nothing_else(tmp_path):
    cache = EmbeddingCache(tmp_path)
    fill(cache, 0, 100)
    size = sum(path.stat().st_size for path in files(tmp_path))
    mine = tmp_path / ("0" * 32) / "notes.npy"
    mine.parent.mkdir()
    mine.write_text("kept")
    assert cache.size() == cache.clear() == size > 0
    assert files(tmp_path) == [mine]
    assert not cache.get(Named(), numbered(0, 100))[0].any()


def test_the_limit_is_kept_by_dropping_the_least_recently_used(tmp_path):
    segment = 100 * (24 + 12) + 2 * 128
    cache = EmbeddingCache(tmp_path, limit_bytes=3 * segment)
    for start in (0, 100, 200):
        fill(cache, start, start + 100)
        for path in files(tmp_path, ".keys.npy"):
            status = path.stat()
            os.utime(path, (status.st_atime - 100, status.st_mtime - 100))
    cache.get(Named(), numbered(0, 100))
    fill(cache, 300, 400)
    found = cache.get(Named(), numbered(0, 400))[0].reshape(4, 100).all(axis=1)
    assert cache.size() <= 3 * segment
    assert found.tolist() == [True, False, True, True]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-5] ^= 0x20  # a number stays one, of another size
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("ending", "damage"),
    [
        (".keys.npy", truncate),
        (".vectors.npy", flip),
        (".vectors.npy", lambda path: np.save(path, np.load(path)[::-1])),
        (".vectors.npy", Path.unlink),
    ],
)
@pytest.mark.filterwarnings("ignore:embeddings cached in")
def test_a_damaged_segment_is_ignored_and_removed(ending, damage, tmp_path):
    fill(EmbeddingCache(tmp_path), 0, 100)
    damage(files(tmp_path, ending)[0])
    cache = EmbeddingCache(tmp_path)
    assert not cache.get(Named(), numbered(0, 100))[0].any()
    assert files(tmp_path) == []
    fill(cache, 50, 200)
    assert cache.get(Named(), numbered(0, 200))[0].sum() == 150


def test_a_folder_that_cannot_be_written_warns_once_and_goes_on(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = EmbeddingCache(tmp_path / "file" / "cache")
    with pytest.warns(RuntimeWarning, match=r"file.cache.*PROTORYNET_CACHE"):
        fill(cache, 0, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fill(cache, 0, 100)
    assert not cache.get(Named(), numbered(0, 100))[0].any()


CHILD = f"""
import os, sys, time
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_embedding_cache import *
cache = EmbeddingCache(Path(sys.argv[1]))
"""


def start(code: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD + code, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_cache_goes_on_after_another_process_removes_what_it_is_writing(tmp_path, monkeypatch):
    cache, synced = EmbeddingCache(tmp_path), os.fsync

    def sync_and_clear(descriptor: int) -> None:
        synced(descriptor)
        EmbeddingCache(tmp_path).clear()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", sync_and_clear)
            fill(cache, 0, 100)
        assert files(tmp_path, "") == []
        fill(cache, 100, 200)
    assert cache.get(Named(), numbered(0, 200))[0].tolist() == [False] * 100 + [True] * 100


def test_two_processes_share_a_cache_without_losing_anything(tmp_path):
    code = """
first = {first}
for start in range(first, 4000, 200):
    fill(cache, start, start + 100)
    assert cache.get(Named(), numbered(start, start + 100))[0].all()
small = EmbeddingCache(Path(sys.argv[1] + "/small"), limit_bytes=20_000)
for start in range(0, 1500, 100):
    fill(small, start, start + 100)
    small.get(Named(), numbered(0, 1500))
"""
    children = [start(code.replace("{first}", str(first)), tmp_path) for first in (0, 100)]
    assert [child.communicate(timeout=60)[1] for child in children] == ["", ""]
    found, vectors = EmbeddingCache(tmp_path).get(Named(), numbered(0, 4000))
    assert found.all()
    np.testing.assert_array_equal(vectors, vectors_of(numbered(0, 4000)))
    assert EmbeddingCache(tmp_path / "small").size() <= 20_000


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="XDG is for other systems")
@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"PROTORYNET_CACHE": "{tmp}/mine"}, "mine"),
        ({"XDG_CACHE_HOME": "{tmp}"}, "protorynet/embeddings"),
        ({"XDG_CACHE_HOME": "relative"}, ".cache/protorynet/embeddings"),
    ],
)
def test_the_folder_comes_from_the_environment(variables, folder, monkeypatch, tmp_path):
    monkeypatch.delenv("PROTORYNET_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in variables.items():
        monkeypatch.setenv(name, value.replace("{tmp}", str(tmp_path)))
    assert EmbeddingCache().folder == tmp_path / folder


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500_000_000),
        ("4GB", 4_000_000_000),
        ("1.5 GiB", 3 * 2**29),
        ("10k", 10_000),
        ("0", 0),
        ("", 4 * 2**30),
        *((text, None) for text in ["lots", "-1GB", "4 parsecs", "GB", "1e9", "４GB"]),
    ],
)
def test_the_limit_comes_from_the_environment_or_is_refused(text, size, monkeypatch, tmp_path):
    monkeypatch.setenv("PROTORYNET_CACHE_LIMIT", text)
    if size is not None:
        assert EmbeddingCache(tmp_path).limit_bytes == size
        return
    with pytest.raises(InputError, match="write it like '500MB'"):
        EmbeddingCache(tmp_path)


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        (f"int8/{'a' * 32}.onnx.sha256", True),
        (f"static/.{'f' * 32}.x7k_2p.old/static.json", True),
        ("static/site.css", False),
    ],
)
def test_clearing_removes_faster_encoders_and_what_was_left_half_written(name, is_ours, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"12345")
    cache = EmbeddingCache(tmp_path)
    assert cache.size() == cache.clear() == (5 if is_ours else 0)
    assert path.exists() is not is_ours
