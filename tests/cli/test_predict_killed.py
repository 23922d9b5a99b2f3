"""A run with a real model, killed in the middle and gone on with."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_scene import reviews

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

N_ROWS = 3 * 4_096 + 100
COMMAND = "import sys; from protorynet.cli import main; sys.exit(main())"


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finished(*arguments: object) -> str:
    """Run a command that must succeed, and return its remarks."""
    process = start(*arguments)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (0, ""), err
    return err


def kill_after_the_first_part(process: subprocess.Popen[str], parts: Path) -> None:
    deadline = time.monotonic() + 300
    while not list(parts.glob("*.arrow")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.kill()
    process.communicate()


@pytest.mark.slow
def test_a_killed_run_of_a_trained_model_ends_as_an_undisturbed_one(trained, tmp_path) -> None:
    texts = [text for text, _ in reviews()]
    table = {"number": range(N_ROWS), "text": [texts[n % len(texts)] for n in range(N_ROWS)]}
    pq.write_table(pa.table(table), tmp_path / "in.parquet")
    killed, undisturbed = tmp_path / "killed.jsonl", tmp_path / "undisturbed.jsonl"
    arguments = ("predict", trained, tmp_path / "in.parquet", "-o", killed)

    kill_after_the_first_part(start(*arguments), tmp_path / ".killed.jsonl.parts")
    assert not killed.exists()
    assert "going on after" in finished(*arguments, "--resume")
    finished(*arguments[:-1], undisturbed)

    assert killed.read_bytes() == undisturbed.read_bytes()
    assert len(killed.read_bytes().splitlines()) == N_ROWS
    assert not list(tmp_path.glob(".*"))
