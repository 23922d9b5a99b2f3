"""`run`: every model measured, and nothing measured twice."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_scene import ALL_MODELS, Scene, run_words

from protorynet.bench import main
from protorynet.bench.catalogue import MODELS
from protorynet.bench.records import append_record, read_records
from protorynet.bench.stability import matched_share


def lines(scene: Scene) -> list[dict[str, Any]]:
    text = (scene.records / "hotel.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def jobs(scene: Scene) -> list[dict[str, Any]]:
    return [line for line in lines(scene) if line["kind"] == "job"]


def test_every_model_and_seed_has_one_record(measured: Scene) -> None:
    found = [(line["model"], line["seed"]) for line in jobs(measured)]
    assert sorted(found) == sorted((kind.name, seed) for kind in MODELS for seed in (0, 1))


def test_no_job_failed(measured: Scene) -> None:
    assert [line["error"] for line in jobs(measured) if "error" in line] == []


def test_records_name_the_encoder_by_the_last_part_of_its_path(measured: Scene) -> None:
    encoders = {line["model"]: line["encoder"] for line in jobs(measured)}
    assert encoders.pop("bag-of-words") is None
    assert set(encoders.values()) == {"tiny"}


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.name)
def test_a_record_holds_what_was_measured(measured: Scene, kind: Any) -> None:
    line = next(line for line in jobs(measured) if line["model"] == kind.name)
    assert 0 <= line["accuracy"] <= 1
    assert 0 <= line["macro_f1"] <= 1
    assert 0 <= line["validation_accuracy"] <= 1
    assert (line["n_train"], line["n_test"]) == (60, 40)
    assert all(seconds >= 0 for seconds in line["seconds"].values())
    assert line["versions"]["protorynet"]
    assert ("faithfulness" in line) == kind.has_prototypes


def test_the_record_of_a_model_with_prototypes_lists_them(measured: Scene) -> None:
    line = next(line for line in jobs(measured) if line["model"] == "full")
    assert len(line["prototypes"]) == line["n_prototypes"]
    assert set(line["prototypes"][0]) == {"id", "sentence", "usage", "scores", "class_rate"}
    assert line["judge"] == "judge"
    assert line["settings"]["encoder_training"] == "full"


def test_the_seeds_of_a_model_are_compared_once(measured: Scene) -> None:
    compared = [line for line in lines(measured) if line["kind"] == "stability"]
    assert sorted(line["model"] for line in compared) == sorted(
        kind.name for kind in MODELS if kind.has_prototypes
    )
    assert all(0 <= line["value"] <= 1 and line["seeds"] == [0, 1] for line in compared)


def test_a_second_run_has_nothing_to_do(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    before = lines(scene)
    assert main(run_words(scene)) == 0
    assert lines(scene) == before
    assert "0 of 18 jobs to do" in capsys.readouterr().err


def test_a_run_that_was_killed_goes_on_after_the_torn_line(scene: Scene) -> None:
    path = scene.records / "hotel.jsonl"
    whole = path.read_bytes()
    last_bag = whole.rindex(b"\n", 0, -1) + 1
    path.write_bytes(whole[: last_bag + 20])
    assert main(run_words(scene, models="bag-of-words")) == 0
    assert path.read_bytes()[:last_bag] == whole[:last_bag]
    assert [line["seed"] for line in jobs(scene) if line["model"] == "bag-of-words"] == [0, 1]


def test_a_job_that_failed_is_told_and_tried_again_and_the_others_go_on(
    scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "tables"
    empty.mkdir()
    good = (scene.data / "hotel.parquet").read_bytes()
    (empty / "broken.parquet").write_bytes(b"no table")
    (empty / "hotel.parquet").write_bytes(good)
    own = Scene(empty, scene.encoder, scene.judge, tmp_path / "own")
    words = run_words(own, models="bag-of-words", seeds="0")
    words[words.index("hotel")] = "broken,hotel"
    assert main(words) == 1
    failed = read_records(own.records / "broken.jsonl")[0]
    assert failed[0].error is not None
    assert len(failed[0].error.splitlines()) == 1
    assert read_records(own.records / "hotel.jsonl")[0][0].figure("accuracy") is not None
    assert "1 jobs failed" in capsys.readouterr().err
    (empty / "broken.parquet").write_bytes(good)
    assert main(words) == 0
    assert read_records(own.records / "broken.jsonl")[0][0].error is None


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--sets", "nowhere", "there is no table"),
        ("--models", "full,perfect", "there is no model 'perfect'"),
        ("--seeds", "0,0", "twice"),
        ("--encoders", "no-such-encoder", "no-such-encoder"),
        ("--seeds", "one", "invalid"),
        ("--sets", "", "no sets were given"),
    ],
)
def test_bad_options_end_in_one_line_before_any_work(
    scene: Scene,
    tmp_path: Path,
    option: str,
    value: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = Scene(scene.data, scene.encoder, scene.judge, tmp_path / "none")
    words = run_words(own)
    words[words.index(option) + 1] = value
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert not own.records.exists()


def test_a_judge_is_never_the_models_own_encoder_by_whatever_name(
    scene: Scene, tmp_path: Path
) -> None:
    same = Path(shutil.copytree(scene.encoder, tmp_path / "alias"))
    own = Scene(scene.data, scene.encoder, scene.judge, tmp_path / "own")
    words = run_words(own, models="none", seeds="0")
    words[words.index("--judge") + 1] = f"{same},{scene.judge}"
    assert main(words) == 0
    assert jobs(own)[0]["judge"] == "judge"


def test_help_names_every_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ALL_MODELS.split(","))


def test_a_torn_line_is_cut_off_before_the_next_is_added(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    append_record(path, {"kind": "job", "set": "a", "encoder": None, "model": "full", "seed": 1})
    with path.open("ab") as file:
        file.write(b'{"kind": "jo')
    append_record(path, {"kind": "job", "set": "a", "encoder": None, "model": "full", "seed": 2})
    assert [record.seed for record in read_records(path)[0]] == [1, 2]
    assert path.read_bytes().count(b"\n") == 2


def test_the_same_prototypes_are_wholly_stable_and_others_not_at_all() -> None:
    first, second = np.eye(4, dtype=np.float32)[:2], np.eye(4, dtype=np.float32)[2:]
    assert matched_share(first, first[::-1]) == 1
    assert matched_share(first, second) == 0


def test_help_starts_without_torch_or_scikit_learn() -> None:
    code = (
        "import sys, protorynet.bench, protorynet.baselines\n"
        "print(*{'torch', 'sklearn', 'pandas'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == []
