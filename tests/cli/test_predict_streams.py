"""`protorynet predict` on tables of many chunks: killed, resumed, piped, and without torch."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_scene import Ended, Run, the_error

SCORING = Path(__file__).parents[1] / "inference"
sys.path.insert(0, str(SCORING))
from toy_predictor import exported, open_toy  # noqa: E402

TOY = str(SCORING / "toy_predictor.py")
N_ROWS = 30_000
N_PARTS = 8
posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
HEAVY = ("torch", "transformers", "sklearn", "pandas", "scipy")
# Ctrl-C as a shell in the foreground sends it, whatever started the tests.
STOPPABLE = (
    "import runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
)
WITHOUT = f"""
import runpy, sys

class Blocking:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Blocking())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(autouse=True)
def _toy(monkeypatch) -> None:
    monkeypatch.setattr("protorynet.inference.opening.open_predictor", open_toy)


@pytest.fixture(scope="module")
def big(tmp_path_factory) -> Path:
    """A folder with one table of eight chunks as big.parquet and big.csv, and two toy models."""
    folder = tmp_path_factory.mktemp("big")
    texts = [f"Room {number} was clean. Floor {number % 7} was not." for number in range(N_ROWS)]
    table = pa.table({"number": range(N_ROWS), "text": texts})
    pq.write_table(table, folder / "big.parquet", row_group_size=5_000)
    with (folder / "big.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["number", "text"], *enumerate(texts)])
    exported(folder / "model")
    return folder


def start(
    *arguments: object, code: list[str] | None = None, stdin: Any = None
) -> subprocess.Popen[str]:
    command = [sys.executable, *(code or []), TOY, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, text=True, stdin=stdin, stdout=pipe, stderr=pipe)


def finish(process: subprocess.Popen[str]) -> Ended:
    out, err = process.communicate(timeout=120)
    return Ended(process.returncode, out, err)


def wait_for_parts(output: Path, count: int, process: subprocess.Popen[str]) -> None:
    folder = output.with_name(f".{output.name}.parts")
    deadline = time.monotonic() + 60
    while len(list(folder.glob("*.arrow"))) < count and not output.exists():
        assert process.poll() is None or output.exists()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def stop_halfway(big: Path, model: Path, output: Path) -> Path:
    """Kill a run that has done at least two parts, and return the folder of parts."""
    process = start("predict", model, big / "big.parquet", "-o", output)
    wait_for_parts(output, 2, process)
    process.kill()
    finish(process)
    assert not output.exists()
    return output.with_name(f".{output.name}.parts")


@pytest.fixture
def slow(tmp_path) -> Path:
    return exported(tmp_path / "slow", seconds=0.1)


@posix_only
@pytest.mark.parametrize(("source", "ending"), [("big.parquet", "parquet"), ("big.csv", "jsonl")])
def test_a_run_killed_again_and_again_ends_as_an_undisturbed_one(
    run, big, tmp_path, source, ending
) -> None:
    model = exported(tmp_path / "model", seconds=0.02)
    killed, undisturbed = tmp_path / f"killed.{ending}", tmp_path / f"undisturbed.{ending}"
    draw = random.Random(source + ending)
    arguments = ("predict", model, big / source, "-o", killed)
    # The last one is often killed while the parts are joined, or when all is done.
    for n_parts in (1, 3, N_PARTS):
        process = start(*arguments, "--resume")
        if not killed.exists():
            wait_for_parts(killed, n_parts, process)
        time.sleep(draw.uniform(0, 0.05))
        process.kill()
        finish(process)
    assert finish(start(*arguments, "--resume")).code == 0
    assert run(*arguments[:-1], undisturbed).code == 0
    assert killed.read_bytes() == undisturbed.read_bytes()
    assert not list(tmp_path.glob(".killed*"))


@posix_only
def test_ctrl_c_says_how_to_go_on(big, slow, tmp_path) -> None:
    output = tmp_path / "out.parquet"
    process = start("predict", slow, big / "big.parquet", "-o", output, code=["-c", STOPPABLE])
    wait_for_parts(output, 1, process)
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert (ended.code, ended.out) == (130, "")
    assert "stopped; " in ended.err
    assert ended.err.strip().endswith("Resume with the same command and --resume.")
    assert "Traceback" not in ended.err


@posix_only
def test_what_is_done_is_not_thrown_away_by_chance(fails, big, slow, tmp_path) -> None:
    output = tmp_path / "out.parquet"
    folder = stop_halfway(big, slow, output)
    line = fails("predict", slow, big / "big.parquet", "-o", output)
    assert "rows of" in line
    assert "--resume" in line
    assert len(list(folder.glob("*.arrow"))) >= 2


@posix_only
def test_another_model_or_input_is_not_gone_on_with(run, fails, big, slow, tmp_path) -> None:
    output = tmp_path / "out.parquet"
    stop_halfway(big, slow, output)
    arguments = ("predict", slow, big / "big.parquet", "-o", output, "--resume")
    assert "the input changed" in fails("predict", slow, big / "big.csv", *arguments[3:])
    (slow / "export.json").write_text("0.0")
    assert "the model changed" in fails(*arguments)
    ended = run(*arguments[:-1])
    assert ended.code == 0
    assert "of another run" in ended.err
    assert pq.read_table(output).num_rows == N_ROWS


@posix_only
def test_a_bad_row_far_down_loses_nothing_and_can_be_skipped(run, tmp_path) -> None:
    model, output = exported(tmp_path / "model"), tmp_path / "out.csv"
    source = tmp_path / "in.jsonl"
    texts = [f"Room {number}." for number in range(9_000)]
    texts[8_500] = "..."
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    ended = run("predict", model, source, "-o", output)
    assert "row 8500 (counted from 0)" in the_error(ended, 2)
    assert "8,192 rows are done. Resume with the same command and --resume." in ended.err
    ended = run("predict", model, source, "-o", output, "--resume", "--skip-empty")
    assert ended.code == 0
    assert "resuming after 8,192 rows" in ended.err
    assert len(output.read_text().splitlines()) == 9_000


def test_resume_with_nothing_to_go_on_from_starts(run, big, tmp_path) -> None:
    output = tmp_path / "out.parquet"
    ended = run("predict", big / "model", big / "big.parquet", "-o", output, "--resume")
    assert ended.code == 0
    assert "nothing to resume" in ended.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-", "-o", "out.csv", "--resume"), "standard input cannot be read again"),
        (("big.csv", "--resume"), "--resume needs -o"),
        (("big.csv", "--address", "auto"), "--engine ray"),
        (("big.csv", "--engine", "ray"), "--engine ray needs -o"),
        (("none-*.csv",), "no file matches"),
        (("big.csv", "-"), "standard input"),
        (("big.csv", "-o", "o.csv", "--format", "jsonl"), "files tell their formats"),
        (("big.csv", "big.csv"), "more than once"),
    ],
)
def test_what_cannot_be_done_is_told_at_once(fails, big, monkeypatch, arguments, message) -> None:
    monkeypatch.chdir(big)
    assert message in fails("predict", "model", *arguments)


def test_a_pattern_and_a_pipe(run, big, monkeypatch) -> None:
    ended = run("predict", big / "model", str(big / "*.csv"), "-o", "-", "--format", "jsonl")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [row["number"] for row in rows] == [str(number) for number in range(N_ROWS)]
    renamed = ended.out.replace('"p', '"old_p').replace('"trajectory"', '"old"')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(renamed.encode())))
    ended = run("predict", big / "model", "-", "--text", "text")
    again = list(csv.DictReader(io.StringIO(ended.out)))
    assert [row["trajectory"] for row in again] == [row["trajectory"] for row in rows]
    assert [int(row["row"]) for row in again] == list(range(N_ROWS))


def test_an_exported_model_needs_neither_torch_nor_pandas(big, tmp_path) -> None:
    output = tmp_path / "out.parquet"
    arguments = ("predict", big / "model", big / "big.parquet", "-o", output, "--runtime", "onnx")
    ended = finish(start(*arguments, code=["-c", WITHOUT]))
    assert (ended.code, ended.out) == (0, ""), ended.err
    assert pq.read_table(output).num_rows == N_ROWS


@posix_only
def test_two_runs_do_not_write_the_same_output(fails, big, slow, tmp_path) -> None:
    output = tmp_path / "out.parquet"
    process = start("predict", slow, big / "big.parquet", "-o", output)
    wait_for_parts(output, 1, process)
    for more in ((), ("--resume",)):
        line = fails("predict", big / "model", big / "big.parquet", "-o", output, *more)
        assert "another run is writing" in line
    assert finish(process).code == 0
    assert pq.read_table(output).num_rows == N_ROWS
    assert not list(tmp_path.glob(".*"))


@posix_only
def test_a_model_that_does_not_load_costs_no_rows_that_are_done(run, big, slow, tmp_path) -> None:
    output = tmp_path / "out.parquet"
    folder = stop_halfway(big, slow, output)
    before = sorted(path.name for path in folder.glob("*.arrow"))
    broken = exported(tmp_path / "broken")
    (broken / "export.json").write_text("nonsense")
    assert run("predict", broken, big / "big.parquet", "-o", output).code != 0
    assert sorted(path.name for path in folder.glob("*.arrow")) == before
    assert run("predict", slow, big / "big.parquet", "-o", output, "--resume").code == 0


def test_a_model_that_does_not_load_leaves_nothing_behind(run, big, tmp_path) -> None:
    broken = exported(tmp_path / "broken")
    (broken / "export.json").write_text("nonsense")
    assert run("predict", broken, big / "big.parquet", "-o", tmp_path / "out.csv").code != 0
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]


@posix_only
def test_standard_input_starts_anew_after_a_kill(big, slow, tmp_path) -> None:
    output = tmp_path / "out.jsonl"
    arguments = ("predict", slow, "-", "-o", output)
    with (big / "big.csv").open("rb") as source:
        process = start(*arguments, stdin=source)
        wait_for_parts(output, 1, process)
        process.kill()
        finish(process)
    assert not output.exists()
    with (big / "big.csv").open("rb") as source:
        ended = finish(start(*arguments, stdin=source))
    assert ended.code == 0, ended.err
    assert len(output.read_text().splitlines()) == N_ROWS


@posix_only
def test_ctrl_c_stops_a_run_that_waits_for_standard_input(slow, tmp_path) -> None:
    output = tmp_path / "out.jsonl"
    process = start(
        "predict", slow, "-", "-o", output, code=["-c", STOPPABLE], stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    # More than make a chunk, and no end.
    process.stdin.write('{"text": "Room."}\n' * 8_000)
    process.stdin.flush()
    wait_for_parts(output, 1, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert "stopped; nothing was written." in finish(process).err
    assert [path.name for path in tmp_path.iterdir()] == ["slow"]


def test_an_output_that_is_a_link_stays_one(run, big, tmp_path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "out.csv"
    link.symlink_to(tmp_path / "real" / "out.csv")
    assert run("predict", big / "model", big / "big.csv", "-o", link).code == 0
    assert link.is_symlink()
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["out.csv"]


def stopped_by_a_bad_row(run: Run, folder: Path, output: Path) -> Path:
    """Leave the parts of a run that met a text without a sentence, and return its input."""
    source = folder / "in.jsonl"
    texts = [*(f"Room {number}." for number in range(5_000)), "..."]
    source.write_text("".join(json.dumps({"text": text, "meta": {}}) + "\n" for text in texts))
    ended = run("predict", exported(folder / "model"), source, "-o", output)
    assert "4,096 rows are done" in ended.err
    return source


def test_an_output_in_the_model_s_own_folder_can_be_gone_on_with(run, tmp_path) -> None:
    output = tmp_path / "model" / "out.csv"
    source = stopped_by_a_bad_row(run, tmp_path, output)
    ended = run("predict", tmp_path / "model", source, "-o", output, "--resume", "--skip-empty")
    assert "resuming after 4,096 rows" in ended.err


def test_standard_input_does_not_remove_another_run_s_parts_in_silence(
    run, tmp_path, monkeypatch
) -> None:
    output = tmp_path / "out.csv"
    stopped_by_a_bad_row(run, tmp_path, output)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"text\nGood.\n")))
    assert "of another run" in run("predict", tmp_path / "model", "-", "-o", output).err


def test_columns_that_the_output_does_not_hold_are_told_before_any_row_is_scored(
    fails, tmp_path
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "Good.", "meta": {}}\n')
    output = tmp_path / "out.parquet"
    assert "'meta'" in fails("predict", exported(tmp_path / "model"), source, "-o", output)
    assert not list(tmp_path.glob("*out*"))


def test_columns_that_standard_output_does_not_hold_are_told(fails, tmp_path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "Good.", "meta": {}}\n')
    model = exported(tmp_path / "model")
    assert "'meta'" in fails("predict", model, source, "-o", "-", "--format", "parquet")


def test_files_are_predicted_where_standard_input_is_closed(run, big, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run("predict", big / "model", big / "big.csv").code == 0


def test_standard_input_that_is_closed_is_told(fails, big, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "it is closed" in fails("predict", big / "model", "-")
