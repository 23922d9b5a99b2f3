"""Files and directories are replaced whole or not at all."""

import os
from pathlib import Path

import pytest

from protorynet.errors import InputError
from protorynet.files import check_replaceable, read_limited, replaced_directory, write_atomically

posix_only = pytest.mark.skipif(os.name != "posix", reason="needs pipes, links and permissions")


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@posix_only
def test_pipes_and_devices_are_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    for name in ("pipe", "zeros"):
        with pytest.raises(OSError, match="no plain file"):
            read_limited(tmp_path / name, 10)


@posix_only
def test_files_and_directories_get_the_users_usual_permissions(tmp_path):
    write_atomically(tmp_path / "file", "x")
    with replaced_directory(tmp_path / "folder"):
        pass
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~mask
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o777 & ~mask


@pytest.fixture
def old(tmp_path):
    """A directory with a file."""
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").write_text("old")
    return path


@pytest.mark.parametrize("failing", [1, 2])
def test_a_failure_while_swapping_leaves_the_old_directory(old, monkeypatch, failing):
    real, calls = Path.rename, []

    def rename(self: Path, target: Path) -> Path:
        calls.append(self)
        if len(calls) == failing:
            fail()
        return real(self, target)

    monkeypatch.setattr("protorynet.files._exchange", lambda *names: False)
    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="No space left"), replaced_directory(old) as fresh:
        (fresh / "new").write_text("new")
    assert (old / "old").read_text() == "old"
    assert listing(old.parent) == ["model"]


@posix_only
def test_a_link_stays_a_link_and_what_it_points_to_is_replaced(old):
    folder, file = old.with_name("folder link"), old.with_name("file link")
    folder.symlink_to(old)
    file.symlink_to(old / "new")
    with replaced_directory(folder) as fresh:
        (fresh / "new").write_text("new")
    write_atomically(file, "newer")
    assert folder.is_symlink()
    assert file.is_symlink()
    assert (old / "new").read_text() == "newer"


@posix_only
def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, "sent")
        assert os.read(reader, 10) == b"sent"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ([], None),
        ([".DS_Store"], None),
        (["lid"], None),
        (["lid", "side", ".DS_Store"], None),
        (["side"], "exists and is not a box; choose another name"),
        (["lid", "thesis.txt"], r"holds 'thesis\.txt', which is no part of a box"),
    ],
)
def test_only_an_empty_folder_or_one_of_the_same_kind_may_be_replaced(tmp_path, held, message):
    def check(folder: Path) -> None:
        check_replaceable(folder, kind="a box", marks=["lid"], is_own={"lid", "side"}.__contains__)

    for name in held:
        (tmp_path / name).touch()
    check(tmp_path / "new")
    if message is None:
        check(tmp_path)
    else:
        with pytest.raises(InputError, match=message):
            check(tmp_path)
        with pytest.raises(InputError, match="exists and is not a box"):
            check(tmp_path / held[0])
