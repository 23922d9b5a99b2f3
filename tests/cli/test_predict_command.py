"""`protorynet predict` on tables of many chunks: killed, resumed and piped."""

import csv
import functools
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_scene import finish, start, the_error

SCORING = Path(__file__).parents[1] / "inference"
sys.path.insert(0, str(SCORING))
from toy_predictor import exported, open_toy  # noqa: E402

TOY = str(SCORING / "toy_predictor.py")
N_ROWS = 30_000
N_PARTS = 8
posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
# Ctrl-C as a shell in the foreground sends it, whatever started the tests.
STOPPABLE = (
    "import runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
)


@pytest.fixture(autouse=True)
def _toy(monkeypatch):
    monkeypatch.setattr("protorynet.inference.predictor.open_predictor", open_toy)


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A folder with one table of eight chunks as big.parquet and big.csv, and a toy model."""
    folder = tmp_path_factory.mktemp("big")
    texts = [f"Room {number} was clean. Floor {number % 7} was not." for number in range(N_ROWS)]
    table = pa.table({"number": range(N_ROWS), "text": texts})
    pq.write_table(table, folder / "big.parquet", row_group_size=5_000)
    with (folder / "big.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["number", "text"], *enumerate(texts)])
    exported(folder / "model")
    return folder


@pytest.fixture
def slow(tmp_path):
    return exported(tmp_path / "slow", seconds=0.1)


start_toy = functools.partial(start, TOY, code=STOPPABLE, stdout=subprocess.PIPE)


def wait_for_parts(output: Path, count: int, process: subprocess.Popen[str]) -> None:
    folder = output.with_name(f".{output.name}.parts")
    deadline = time.monotonic() + 60
    while len(list(folder.glob("*.arrow"))) < count and not output.exists():
        assert process.poll() is None or output.exists()
        assert time.monotonic() < deadline
        time.sleep(0.002)


@posix_only
@pytest.mark.parametrize(("source", "ending"), [("big.parquet", "parquet"), ("big.csv", "jsonl")])
def test_a_run_killed_again_and_again_ends_as_if_undisturbed(run, big, tmp_path, source, ending):
    model = exported(tmp_path / "model", seconds=0.02)
    killed, undisturbed = tmp_path / f"killed.{ending}", tmp_path / f"undisturbed.{ending}"
    draw = random.Random(source + ending)
    arguments = ("predict", model, big / source, "--force", "-o", killed)
    # The last one is often killed while the parts are joined, or when all is done.
    for n_parts in (1, 3, N_PARTS):
        process = start_toy(*arguments, "--resume")
        if not killed.exists():
            wait_for_parts(killed, n_parts, process)
        time.sleep(draw.uniform(0, 0.05))
        process.kill()
        finish(process)
    assert finish(start_toy(*arguments, "--resume")).code == 0
    assert run(*arguments[:-1], undisturbed).code == 0
    assert killed.read_bytes() == undisturbed.read_bytes()
    assert not list(tmp_path.glob(".killed*"))


def test_documents_mostly_unlike_the_training_data_are_counted(run, big, tmp_path):
    pq.write_table(
        pa.table({"text": ["How odd.", "So odd. An odd one.", "Fine."]}), tmp_path / "t.parquet"
    )
    ended = run("predict", big / "model", tmp_path / "t.parquet", "-o", tmp_path / "out.csv")
    assert "2 of 3 documents are mostly unlike the training data" in " ".join(ended.err.split())
    assert "mostly unlike" not in run("predict", big / "model", big / "big.csv").err


@posix_only
def test_ctrl_c_says_how_to_resume(big, slow, tmp_path):
    output = tmp_path / "out.parquet"
    process = start_toy("predict", slow, big / "big.parquet", "-o", output)
    wait_for_parts(output, 1, process)
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert (ended.code, ended.out) == (130, "")
    assert "stopped; " in ended.err
    assert ended.err.strip().endswith("Resume with the same command and --resume.")
    assert "Traceback" not in ended.err


@posix_only
def test_two_runs_do_not_write_the_same_output(fails, big, slow, tmp_path):
    output = tmp_path / "out.parquet"
    process = start_toy("predict", slow, big / "big.parquet", "-o", output)
    wait_for_parts(output, 1, process)
    for more in ((), ("--resume",)):
        line = fails("predict", big / "model", big / "big.parquet", "-o", output, *more)
        assert "another run is writing" in line
    assert finish(process).code == 0
    assert pq.read_table(output).num_rows == N_ROWS
    assert not list(tmp_path.glob(".*"))


@posix_only
def test_ctrl_c_stops_a_run_that_waits_for_standard_input(slow, tmp_path):
    output = tmp_path / "out.jsonl"
    process = start_toy("predict", slow, "-", "-o", output, stdin=subprocess.PIPE)
    # More than make a chunk, and no end.
    process.stdin.write('{"text": "Room."}\n' * 8_000)
    process.stdin.flush()
    wait_for_parts(output, 1, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert "stopped; nothing was written." in finish(process).err
    assert [path.name for path in tmp_path.iterdir()] == ["slow"]


@pytest.fixture
def stopped(run, tmp_path):
    """Leave the parts of a run that met a text without a sentence; return its model and input."""

    def stop(output: Path) -> tuple[Path, Path]:
        model, source = exported(tmp_path / "model"), tmp_path / "in.jsonl"
        texts = [*(f"Room {number}." for number in range(5_000)), "..."]
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        ended = run("predict", model, source, "-o", output)
        assert "row 5002 (the headings are row 1)" in the_error(ended, 2)
        assert "4,096 rows are done. Resume with the same command and --resume." in ended.err
        return model, source

    return stop


@pytest.mark.parametrize("path", ["out.csv", "model/out.csv"])
def test_a_bad_row_far_down_loses_nothing_and_can_be_skipped(run, stopped, tmp_path, path):
    output = tmp_path / path
    model, source = stopped(output)
    ended = run("predict", model, source, "-o", output, "--resume", "--skip-empty")
    assert ended.code == 0
    assert "resuming after 4,096 rows" in ended.err
    assert len(output.read_text().splitlines()) == 5_001


def test_what_is_done_is_not_thrown_away_by_chance(run, fails, stopped, tmp_path):
    output = tmp_path / "out.csv"
    model, source = stopped(output)
    parts = sorted(tmp_path.glob(".out.csv.parts/*.arrow"))
    broken = exported(tmp_path / "broken")
    (broken / "export.json").write_text("nonsense")
    assert run("predict", broken, source, "-o", output).code != 0
    line = fails("predict", model, source, "-o", output)
    assert "4,096 rows of" in line
    assert "--resume" in line
    assert sorted(tmp_path.glob(".out.csv.parts/*.arrow")) == parts


def test_another_model_or_input_is_not_resumed(run, fails, big, stopped, tmp_path, monkeypatch):
    output = tmp_path / "out.csv"
    model, source = stopped(output)
    arguments = ("-o", output, "--resume")
    assert "the input changed" in fails("predict", model, big / "big.csv", *arguments)
    (model / "export.json").write_text("0.001")
    assert "the model changed" in fails("predict", model, source, *arguments)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"text\nGood.\n")))
    assert "of another run" in run("predict", model, "-", "-o", output).err
    assert len(output.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-", "-o", "out.csv", "--resume"), "standard input cannot be read again"),
        (("big.csv", "--resume"), "--resume needs -o"),
        (("big.csv", "--address", "auto"), "--engine ray"),
        (("big.csv", "--engine", "ray"), "--engine ray needs -o"),
        (("none-*.csv",), "no file matches"),
        (("big.csv", "-"), "standard input"),
        (("-",), "it is closed"),
        (("big.csv", "-o", "o.csv", "--format", "jsonl"), "files tell their formats"),
        (("big.csv", "big.csv"), "more than once"),
        (("records.jsonl", "-o", "out.parquet"), "'meta'"),
        (("records.jsonl", "-o", "-", "--format", "parquet"), "'meta'"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(run, fails, big, monkeypatch, arguments, message):
    monkeypatch.chdir(big)
    monkeypatch.setattr(sys, "stdin", None)
    (big / "records.jsonl").write_text('{"text": "Good.", "meta": {}}\n')
    before = sorted(big.iterdir())
    assert message in fails("predict", "model", *arguments)
    assert sorted(big.iterdir()) == before


def test_a_pattern_and_a_pipe(run, big, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    ended = run("predict", big / "model", str(big / "*.csv"), "-o", "-", "--format", "jsonl")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [row["number"] for row in rows] == [str(number) for number in range(N_ROWS)]
    renamed = ended.out.replace('"p', '"old_p').replace('"trajectory"', '"old"')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(renamed.encode())))
    ended = run("predict", big / "model", "-", "--text", "text")
    again = list(csv.DictReader(io.StringIO(ended.out)))
    assert [row["trajectory"] for row in again] == [row["trajectory"] for row in rows]
    assert [int(row["row"]) for row in again] == list(range(N_ROWS))


def test_an_output_is_replaced_on_demand_only(run, fails, big, tmp_path):
    output = tmp_path / "out.csv"
    output.write_text("of yesterday\n")
    arguments = ("predict", big / "model", big / "big.csv", "-o", output)
    for more in ((), ("--resume",), ("--engine", "ray")):
        assert "exists already. Choose another name, or replace" in fails(*arguments, *more)
    assert output.read_text() == "of yesterday\n"
    assert run(*arguments, "--force").code == 0
    assert output.read_text() != "of yesterday\n"
