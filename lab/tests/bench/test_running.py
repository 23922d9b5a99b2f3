"""Measuring: every model, nothing twice, and what fails does not stop the others."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_scene import MEASURED, Scene, words

from protorynet.cli import main
from protorynet_lab.bench.appending import append_record
from protorynet_lab.bench.catalogue import MODELS, model_kind
from protorynet_lab.bench.records import read_records
from protorynet_lab.bench.stability import matched_share


def lines(scene: Scene, name: str = "hotel") -> list[dict[str, Any]]:
    text = (scene.records / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def jobs(scene: Scene, name: str = "hotel") -> list[dict[str, Any]]:
    return [line for line in lines(scene, name) if line["kind"] == "job"]


@pytest.mark.parametrize("name", ["hotel", "dbpedia"])
def test_every_model_is_measured_once_on_every_set(measured: Scene, name: str) -> None:
    plain = [line for line in jobs(measured, name) if not line.get("variant")]
    found = sorted(line["model"] for line in plain if line["seed"] == 0)
    assert found == sorted(MEASURED)


def test_variants_are_records_of_their_own(measured: Scene) -> None:
    variants = {line["variant"] for line in jobs(measured) if line.get("variant")}
    assert {"n_prototypes=20", "selection=dense", "alpha=0.1 beta=0.0001"} <= variants


def test_no_job_failed(measured: Scene) -> None:
    every = [*jobs(measured), *jobs(measured, "dbpedia")]
    assert [line["error"] for line in every if "error" in line] == []


def test_records_name_the_encoder_by_the_last_part_of_its_path(measured: Scene) -> None:
    encoders = {line["model"]: line["encoder"] for line in jobs(measured)}
    assert encoders["lstm"] is None
    assert encoders["transformer"] == "tiny"


@pytest.mark.parametrize("model", MEASURED)
def test_a_record_holds_what_was_measured(measured: Scene, model: str) -> None:
    line = next(line for line in jobs(measured) if line["model"] == model)
    assert 0 <= line["accuracy"] <= 1
    assert 0 <= line["macro_f1"] <= 1
    assert 0 <= line["validation_accuracy"] <= 1
    assert (line["n_train"], line["n_test"]) == (40, 40)
    assert all(seconds >= 0 for seconds in line["seconds"].values())
    assert line["versions"]["protorynet"]
    assert ("faithfulness" in line) == model_kind(model).has_prototypes


def test_pruning_starts_with_all_prototypes_and_never_gains_any(measured: Scene) -> None:
    line = next(line for line in jobs(measured) if line.get("variant") == "n_prototypes=20")
    counts = [point["n_prototypes"] for point in line["pruning"]]
    assert line["pruning"][0]["threshold"] == 0
    assert counts[0] == line["n_prototypes"]
    assert counts == sorted(counts, reverse=True)


def test_the_record_of_a_model_with_prototypes_lists_them(measured: Scene) -> None:
    line = next(line for line in jobs(measured) if line["model"] == "full")
    assert len(line["prototypes"]) == line["n_prototypes"]
    assert set(line["prototypes"][0]) == {"id", "sentence", "usage", "scores", "class_rate"}
    assert line["judge"] == "judge"
    assert line["settings"]["encoder_training"] == "full"


def test_the_seeds_of_a_model_are_compared(measured: Scene) -> None:
    compared = [line for line in lines(measured) if line["kind"] == "stability"]
    assert [(line["model"], line["seeds"]) for line in compared] == [("none", [0, 1])]
    assert 0 <= compared[0]["value"] <= 1


def test_a_second_run_has_nothing_to_do(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    before = lines(scene)
    assert main(words(scene, "all", sets="hotel,dbpedia", models=",".join(MEASURED))) == 0
    assert lines(scene) == before
    assert "0 of 29 jobs to do" in capsys.readouterr().err


def test_a_run_that_was_killed_goes_on_after_the_torn_line(scene: Scene) -> None:
    path = scene.records / "hotel.jsonl"
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[: first + 20])
    assert main(words(scene, models="bag-of-words", seeds="0,1")) == 0
    assert path.read_bytes()[:first] == whole[:first]
    assert [line["seed"] for line in jobs(scene) if line["model"] == "bag-of-words"] == [0, 1]


def test_other_documents_under_the_same_name_are_measured_anew(
    scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "tables"
    other.mkdir()
    shutil.copy(scene.data / "dbpedia.parquet", other / "hotel.parquet")
    assert main(words(scene, models="bag-of-words", data=str(other))) == 0
    assert "1 of 1 jobs to do" in capsys.readouterr().err


def test_a_quick_run_does_not_hide_figures_measured_in_earnest(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    real = {"kind": "job", "set": "hotel", "encoder": None, "model": "bag-of-words", "seed": 7}
    append_record(scene.records / "hotel.jsonl", {**real, "accuracy": 0.9})
    assert main(words(scene, models="bag-of-words", seeds="7")) == 2
    assert "measured in earnest" in capsys.readouterr().err


def test_a_table_that_cannot_be_read_later_costs_no_figures(
    scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = tmp_path / "tables"
    shutil.copytree(scene.data, tables)
    own = Scene(tables, scene.encoder, scene.judge, scene.out)
    command = words(own, "table1", models="bag-of-words", sets="hotel,dbpedia")
    assert main(command) == 0
    before = lines(scene)
    (tables / "hotel.parquet").write_bytes(b"no table")
    capsys.readouterr()
    assert main(command) == 0
    assert "note: hotel cannot be read" in capsys.readouterr().err
    assert lines(scene) == before


def test_a_failure_does_not_hide_the_figures_of_the_same_settings(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    names = {"kind": "job", "set": "a", "encoder": None, "model": "full", "seed": 1, "data": "d"}
    append_record(path, {**names, "accuracy": 0.9})
    append_record(path, {**names, "data": None, "error": "OSError: the table is gone"})
    assert read_records(path)[0][0].figure("accuracy") == 0.9
    append_record(path, {**names, "data": "other", "error": "ValueError: another table"})
    assert read_records(path)[0][0].error is not None


def test_a_job_that_failed_is_told_and_tried_again_and_the_others_go_on(
    scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    good = (scene.data / "hotel.parquet").read_bytes()
    (tables / "broken.parquet").write_bytes(b"no table")
    (tables / "hotel.parquet").write_bytes(good)
    own = Scene(tables, scene.encoder, scene.judge, tmp_path / "own" / "results")
    command = words(own, "table1", models="bag-of-words", sets="broken,hotel")
    assert main(command) == 1
    failed = read_records(own.records / "broken.jsonl")[0]
    assert failed[0].error is not None
    assert len(failed[0].error.splitlines()) == 1
    assert read_records(own.records / "hotel.jsonl")[0][0].figure("accuracy") is not None
    assert "1 job failed" in capsys.readouterr().err
    assert "failed" in (own.out / "table1.md").read_text(encoding="utf-8")
    (tables / "broken.parquet").write_bytes(good)
    assert main(command) == 0
    assert read_records(own.records / "broken.jsonl")[0][0].error is None


def test_a_rival_without_its_weights_fails_alone(scene: Scene, tmp_path: Path) -> None:
    own = Scene(scene.data, scene.encoder, scene.judge, tmp_path / "own")
    vectors = tmp_path / "glove.txt"
    vectors.write_text("zebra 0.1 0.2\n", encoding="utf-8")
    command = words(own, "table1", models="lstm,bag-of-words", vectors=str(vectors))
    assert main(command) == 1
    errors = {line["model"]: line.get("error") for line in jobs(own)}
    assert "glove.txt" in errors["lstm"]
    assert errors["bag-of-words"] is None


@pytest.mark.parametrize("measured_before", [False, True])
def test_an_encoder_that_cannot_be_had_is_the_row_of_the_models_that_need_it(
    scene: Scene, tmp_path: Path, measured_before: bool
) -> None:
    own = Scene(scene.data, tmp_path / "broken", scene.judge, tmp_path / "own")
    own.encoder.mkdir()
    if measured_before:
        assert main(words(own, "table1", models="bag-of-words")) == 0
    assert main(words(own, "table1", models="transformer,bag-of-words")) == 1
    errors = {line["model"]: line.get("error") for line in jobs(own)}
    assert "broken" in errors["transformer"]
    assert errors["bag-of-words"] is None
    page = (own.out / "table1.md").read_text(encoding="utf-8")
    assert "| transformer <sub>weights of broken</sub> | failed " in page


def test_another_encoder_of_the_same_name_is_measured_anew(
    scene: Scene, judge_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = Scene(scene.data, tmp_path / "encoder", scene.judge, tmp_path / "own")
    for folder in (scene.encoder, judge_folder):
        shutil.rmtree(own.encoder, ignore_errors=True)
        shutil.copytree(folder, own.encoder)
        assert main(words(own, "table1", models="protoattend")) == 0
        assert "1 of 1 jobs to do" in capsys.readouterr().err


def test_other_word_vectors_of_the_same_name_are_measured_anew(
    scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = Scene(scene.data, scene.encoder, scene.judge, tmp_path / "own")
    vectors = tmp_path / "glove.txt"
    for number in (0.1, 0.2):
        vectors.write_text(f"the {number} 0.5\n", encoding="utf-8")
        assert main(words(own, "table1", models="lstm", vectors=str(vectors))) == 0
        assert "1 of 1 jobs to do" in capsys.readouterr().err


def test_a_failure_with_other_word_vectors_displaces_the_figure(
    scene: Scene, tmp_path: Path
) -> None:
    own = Scene(scene.data, scene.encoder, scene.judge, tmp_path / "own")
    vectors = tmp_path / "glove.txt"
    for word, code in (("the", 0), ("zebra", 1)):
        vectors.write_text(f"{word} 0.1 0.5\n", encoding="utf-8")
        assert main(words(own, "table1", models="lstm", vectors=str(vectors))) == code
    assert read_records(own.records / "hotel.jsonl")[0][-1].error is not None


def test_a_model_without_a_device_does_without_the_one_asked_for(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    own = Scene(scene.data, scene.encoder, scene.judge, tmp_path / "own")
    assert main(words(own, "table1", models="bag-of-words", device="cuda")) == 0
    assert jobs(own)[0]["device"] == "cpu"


def test_a_file_in_the_place_of_the_folder_of_results_is_named(
    scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = Scene(scene.data, scene.encoder, scene.judge, tmp_path / "file")
    own.out.write_text("", encoding="utf-8")
    assert main(words(own, models="bag-of-words")) == 2
    assert "is a file; give a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("sets", "nowhere", "there is no table"),
        ("sets", "../hotel", "names without folders"),
        ("models", "full,perfect", "there is no model 'perfect'"),
        ("seeds", "0,0", "twice"),
        ("encoders", "no-such-encoder", "no-such-encoder"),
        ("seeds", "one", "whole numbers"),
        ("seeds", "99999999999", "from 0 to 4294967295"),
        ("data", "no-such-folder", "does not exist"),
        ("sets", "", "no sets were given"),
        ("vectors", "no-such-file", "no-such-file"),
        ("what", "tabel1", "'tabel1' is neither an experiment"),
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
    assert main(words(own, **{option: value})) == 2
    assert message in capsys.readouterr().err
    assert not own.records.exists()


def test_data_sets_without_a_table_are_left_out_and_told(
    scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = Scene(scene.data, scene.encoder, scene.judge, tmp_path / "own")
    command = words(own, "multiclass", models="bag-of-words")
    place = command.index("--sets")
    assert main(command[:place] + command[place + 2 :]) == 0
    assert [path.stem for path in own.records.iterdir()] == ["dbpedia"]
    assert "there is no table" in capsys.readouterr().err


def test_a_judge_is_never_the_models_own_encoder_by_whatever_name(
    scene: Scene, tmp_path: Path
) -> None:
    same = Path(shutil.copytree(scene.encoder, tmp_path / "alias"))
    own = Scene(scene.data, scene.encoder, scene.judge, tmp_path / "own")
    assert main(words(own, models="none", judge=f"{same},{scene.judge}")) == 0
    assert jobs(own)[0]["judge"] == "judge"


def test_help_names_every_model_and_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    from protorynet_lab.bench.planning import NAMES

    assert main(["bench", "--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in (*NAMES, *(kind.name for kind in MODELS)) if name not in shown] == []


def test_a_torn_line_is_cut_off_before_the_next_is_added(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    append_record(path, {"kind": "job", "set": "a", "encoder": None, "model": "full", "seed": 1})
    with path.open("ab") as file:
        file.write(b'{"kind": "jo')
    append_record(path, {"kind": "job", "set": "a", "encoder": None, "model": "full", "seed": 2})
    assert [record.seed for record in read_records(path)[0]] == [1, 2]
    assert path.read_bytes().count(b"\n") == 2


def test_a_line_that_lacks_its_end_only_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"kind": "job", "set": "a", "encoder": null, "model": "full", "seed": 1}')
    append_record(path, {"kind": "job", "set": "a", "encoder": None, "model": "full", "seed": 2})
    assert [record.seed for record in read_records(path)[0]] == [1, 2]


def test_a_figure_that_is_no_number_was_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    names = {"kind": "job", "set": "a", "encoder": None, "model": "full", "seed": 1}
    unknown = {"accuracy": float("nan"), "automata": [{"fidelity": float("inf")}]}
    append_record(path, {**names, **unknown, "macro_f1": 0.5})
    record = read_records(path)[0][0]
    assert (record.figure("accuracy"), record.figure("macro_f1")) == (None, 0.5)


def test_runs_that_write_at_once_spoil_no_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def write(seed: int) -> None:
        names = {"kind": "job", "set": "a", "encoder": None, "model": "full", "seed": seed}
        append_record(path, {**names, "judge": "x" * 100_000})

    with ThreadPoolExecutor(8) as runs:
        list(runs.map(write, range(40)))
    assert sorted(record.seed for record in read_records(path)[0]) == list(range(40))


def test_what_another_run_measures_meanwhile_is_not_measured_again(
    scene: Scene,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from protorynet_lab.bench import running

    own = Scene(scene.data, scene.encoder, scene.judge, tmp_path / "own")
    load = running._Encoders.load

    def another_run(*given: Any) -> Any:
        shutil.copytree(scene.records, own.records)
        return load(*given)

    monkeypatch.setattr(running._Encoders, "load", another_run)
    assert main(words(own, models="bag-of-words")) == 0
    assert "measured by another run meanwhile" in capsys.readouterr().err
    assert lines(own) == lines(scene)


def test_the_same_prototypes_are_wholly_stable_and_others_not_at_all() -> None:
    first, second = np.eye(4, dtype=np.float32)[:2], np.eye(4, dtype=np.float32)[2:]
    assert matched_share(first, first[::-1]) == 1
    assert matched_share(first, second) == 0


def test_help_starts_without_torch_or_scikit_learn() -> None:
    code = (
        "import sys, protorynet_lab.bench, protorynet_lab.baselines, protorynet_lab.cli\n"
        "print(*{'torch', 'sklearn', 'pandas'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == []
