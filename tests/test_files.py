"""Files and directories are replaced whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from protorynet.errors import InputError
from protorynet.files import (
    check_replaceable,
    read_limited,
    replaced_directory,
    write_atomically,
)


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_file_within_the_limit_is_read_and_a_larger_one_is_not(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"four")
    assert read_limited(tmp_path / "a", 4) == b"four"
    with pytest.raises(OSError, match="larger than 3 bytes"):
        read_limited(tmp_path / "a", 3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes by name here")
def test_pipes_and_devices_are_never_waited_for(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    for name in ("pipe", "zeros"):
        with pytest.raises(OSError, match="no plain file"):
            read_limited(tmp_path / name, 10)


def test_a_file_is_written_with_its_parents(tmp_path) -> None:
    path = tmp_path / "a" / "b" / "file.txt"
    write_atomically(path, "Größe ☃")
    assert path.read_text(encoding="utf-8") == "Größe ☃"
    write_atomically(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert listing(path.parent) == ["file.txt"]


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, moment) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    monkeypatch.setattr(*{"fsync": (os, "fsync"), "replace": (Path, "replace")}[moment], fail)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert listing(tmp_path) == ["file.txt"]


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert listing(tmp_path) == ["file.txt"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_files_and_directories_get_the_users_usual_permissions(tmp_path) -> None:
    write_atomically(tmp_path / "file", "x")
    with replaced_directory(tmp_path / "folder"):
        pass
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~mask
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o777 & ~mask


def test_a_new_directory_appears_complete(tmp_path) -> None:
    path = tmp_path / "a" / "model"
    with replaced_directory(path) as fresh:
        assert not path.exists()
        (fresh / "file").write_text("new")
    assert (path / "file").read_text() == "new"
    assert listing(path.parent) == ["model"]


def test_an_old_directory_is_replaced_as_a_whole(tmp_path) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").write_text("old")
    with replaced_directory(path) as fresh:
        (fresh / "new").write_text("new")
        assert listing(path) == ["old"]
    assert listing(path) == ["new"]
    assert listing(tmp_path) == ["model"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_in_the_block_leaves_the_old_directory(tmp_path, error) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").write_text("old")
    with pytest.raises(error), replaced_directory(path) as fresh:  # noqa: PT012
        (fresh / "new").write_text("half")
        raise error
    assert (path / "old").read_text() == "old"
    assert listing(tmp_path) == ["model"]


@pytest.mark.parametrize("failing", [1, 2])
def test_a_failure_while_swapping_leaves_the_old_directory(tmp_path, monkeypatch, failing) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").write_text("old")
    real, calls = Path.rename, []

    def rename(self: Path, target: Path) -> Path:
        calls.append(self)
        if len(calls) == failing:
            fail()
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="No space left"), replaced_directory(path) as fresh:
        (fresh / "new").write_text("new")
    assert (path / "old").read_text() == "old"
    assert listing(tmp_path) == ["model"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_stays_a_link_and_its_directory_is_replaced(tmp_path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    with replaced_directory(link) as fresh:
        (fresh / "new").write_text("new")
    assert link.is_symlink()
    assert (real / "new").read_text() == "new"
    assert listing(tmp_path) == ["link", "real"]


def _check(folder: Path) -> None:
    check_replaceable(folder, kind="a box", marks=["lid"], is_own={"lid", "side"}.__contains__)


@pytest.mark.parametrize(
    "held", [[], [".DS_Store"], ["lid"], ["lid", "side"], ["lid", ".DS_Store"]]
)
def test_an_empty_folder_and_one_of_the_same_kind_may_be_replaced(tmp_path, held) -> None:
    for name in held:
        (tmp_path / name).touch()
    _check(tmp_path)


def test_a_place_that_is_free_may_be_taken(tmp_path) -> None:
    _check(tmp_path / "new")


def test_a_folder_without_what_its_kind_always_has_is_not_replaced(tmp_path) -> None:
    (tmp_path / "side").touch()
    with pytest.raises(InputError, match="exists and is not a box; choose another name"):
        _check(tmp_path)


def test_a_folder_in_which_something_would_be_lost_is_not_replaced(tmp_path) -> None:
    for name in ("lid", "thesis.txt"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"holds 'thesis\.txt', which is no part of a box"):
        _check(tmp_path)


def test_a_file_is_not_replaced_by_a_folder(tmp_path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="exists and is not a box"):
        _check(tmp_path / "file")


def test_writing_through_a_link_keeps_the_link(tmp_path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, "told")
        assert os.read(reader, 10) == b"told"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
