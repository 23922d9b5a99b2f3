"""Commands as real processes: starting fast, being stopped, full disks and broken pipes."""

import os
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest
from cli_scene import SETTINGS, START, finish, reviews, snapshot, start, the_error, write_csv

from protorynet import ProtoryNetClassifier

HEAVY = ("torch", "sklearn", "pandas", "pyarrow", "transformers", "numpy")
# A shell may have started the tests with Ctrl-C ignored, which children inherit.
STOPPABLE = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {START}"
posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")


@contextmanager
def small_disk():
    """No file can grow beyond two thousand bytes."""
    resource = pytest.importorskip("resource", reason="needs POSIX limits")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from protorynet.cli import main; main(['fit', '--help']); "
        "print([name for name in sys.argv[1:] if name in sys.modules])"
    )
    ended = finish(start(*HEAVY, code=code, stdout=subprocess.PIPE))
    assert ended.out.splitlines()[-1] == "[]"


@posix_only
def test_ctrl_c_loses_nothing_and_resume_gives_the_same_model(run, table, tmp_path):
    settings = tmp_path / "long.toml"
    settings.write_text(SETTINGS.replace("\nepochs = 4", "\nepochs = 20"))
    arguments = ["fit", table, "--settings", settings, "-o"]
    stopped, undisturbed = tmp_path / "stopped", tmp_path / "undisturbed"
    checkpoint = tmp_path / "stopped.checkpoint"

    process = start(*arguments, stopped, code=STOPPABLE, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list(checkpoint.glob("*.safetensors")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert (ended.code, ended.out) == (130, "")
    assert ended.err.splitlines()[-1].startswith(
        "stopped. Resume with the same command and --resume"
    )
    assert "Traceback" not in ended.err
    assert not stopped.exists()

    assert run(*arguments, stopped, "--resume").code == 0
    assert run(*arguments, undisturbed).code == 0
    assert not checkpoint.exists()
    assert (stopped / "model.safetensors").read_bytes() == (
        undisturbed / "model.safetensors"
    ).read_bytes()


@pytest.mark.parametrize("during", ["training", "saving"])
def test_a_full_disk_leaves_the_old_model_whole(run, table, quick, model, tmp_path, during):
    before = snapshot(model)
    if during == "saving":
        # All epochs are done already, so that the model is the first thing to be written.
        train = [review for number, review in enumerate(reviews()) if number % 5]
        texts, labels = zip(*train, strict=True)
        classifier = ProtoryNetClassifier(settings=quick[1])
        classifier.fit(texts, labels, checkpoint=f"{model}.checkpoint")
    with small_disk():
        ended = run("fit", table, "-o", model, "--force", "--resume", *quick)
    assert "the model was not saved (File too large" in the_error(ended, 1)
    assert snapshot(model) == before
    assert {path.name for path in tmp_path.iterdir()} <= {model.name, f"{model.name}.checkpoint"}


def test_a_full_disk_leaves_the_old_predictions_whole(run, table, trained, tmp_path):
    output = tmp_path / "out.csv"
    output.write_text("of yesterday\n")
    with small_disk():
        ended = run("predict", trained, table, "-o", output, "--force")
    assert "File too large" in the_error(ended, 1)
    assert output.read_text() == "of yesterday\n"
    assert list(tmp_path.iterdir()) == [output]


@posix_only
def test_a_reader_that_stops_early_is_no_error(trained, tmp_path):
    rows = [(text,) for text, _ in reviews()] * 40
    source = write_csv(tmp_path / "t.csv", ["text"], rows)
    process = start("predict", trained, source, stdout=subprocess.PIPE)
    assert process.stdout.read(5) == '"row"'
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert "error" not in err
    assert "Broken pipe" not in err
