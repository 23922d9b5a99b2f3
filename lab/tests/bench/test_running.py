"""Measuring: every model, nothing twice, and what fails does not stop the others."""

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_scene import FEW, MEASURED, Scene, words

from protorynet.cli import main
from protorynet_lab.bench import EXPERIMENTS, read_results
from protorynet_lab.bench.bench_jobs import MODELS, find_model
from protorynet_lab.bench.bench_records import append_record, read_records

JOB = {"kind": "job", "set": "a", "encoder": None, "model": "full", "seed": 1}


@pytest.fixture
def own(measured, tmp_path) -> Scene:
    """A scene without any records."""
    return replace(measured, out=tmp_path / "own" / "results")


def lines(scene: Scene, name: str = "hotel") -> list[dict[str, Any]]:
    text = (scene.records / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def jobs(scene: Scene, name: str = "hotel") -> list[dict[str, Any]]:
    return [line for line in lines(scene, name) if line["kind"] == "job"]


@pytest.mark.parametrize("name", ["hotel", "dbpedia"])
def test_every_model_is_measured_once_on_every_set(measured, name):
    every = jobs(measured, name)
    plain = [line["model"] for line in every if not line.get("variant") and line["seed"] == 0]
    usual = {model for model in MEASURED if find_model(model).family != "single"}
    # One is compared with its dense variant; the others are measured where --models names them.
    assert sorted(plain) == sorted(usual | {"single-full"} if name == "hotel" else FEW)
    assert [line["error"] for line in every if "error" in line] == []


@pytest.mark.parametrize("model", MEASURED)
def test_a_record_holds_what_was_measured(measured, model):
    line = next(line for line in jobs(measured) if line["model"] == model)
    shares = [line[name] for name in ("accuracy", "macro_f1", "validation_accuracy")]
    assert all(0 <= share <= 1 for share in shares)
    assert (line["n_train"], line["n_test"]) == (40, 40)
    assert all(seconds >= 0 for seconds in line["seconds"].values())
    assert line["versions"]["protorynet"]
    kind = find_model(model)
    assert line["encoder"] == ("tiny" if kind.uses_encoder else None)
    assert ("faithfulness" in line) == kind.has_prototypes
    if kind.has_prototypes and not line.get("variant"):
        assert len(line["prototypes"]) == line["n_prototypes"]
        kept = {"id", "sentence", "usage", "scores", "class_rate", "words", "n_members", "members"}
        assert set(line["prototypes"][0]) == kept
        counts = [item["n_members"] for item in line["prototypes"]]
        assert line["n_members"] == sum(counts)
        assert (max(counts) > 1) == (kind.family == "ours")
        assert line["judge"] == "judge"


def test_variants_are_records_of_their_own_and_pruning_never_adds_prototypes(measured):
    variants = {line["variant"]: line for line in jobs(measured) if line.get("variant")}
    assert {"n_prototypes=20", "selection=dense", "alpha=0.1 beta=0.0001"} <= set(variants)
    assert not any(line["prototypes"] for line in variants.values())
    line = variants["n_prototypes=20"]
    counts = [point["n_prototypes"] for point in line["pruning"]]
    assert (line["pruning"][0]["threshold"], counts[0]) == (0, line["n_prototypes"])
    assert counts == sorted(counts, reverse=True)


def test_the_seeds_of_a_model_are_compared(measured):
    compared = [line for line in lines(measured) if line["kind"] == "stability"]
    assert [(line["model"], line["seeds"]) for line in compared] == [("none", [0, 1])]
    assert 0 <= compared[0]["value"] <= 1
    results = read_results(measured.records)
    agreement = results.figure("hotel", "tiny", "none", "seed_agreement")
    assert (agreement.n, results.figure("hotel", "tiny", "full", "seed_agreement")) == (1, None)


def test_a_second_run_has_nothing_to_do(scene, capsys):
    before = lines(scene)
    assert main(words(scene, "all", sets="hotel,dbpedia", models=",".join(FEW))) == 0
    assert lines(scene) == before
    assert re.search(r"\b0 of \d+ jobs to do", capsys.readouterr().err)


def test_other_encoders_or_vectors_of_one_name_are_measured_again(own, tmp_path, capsys):
    changed = replace(own, data=tmp_path / "tables", encoder=tmp_path / "encoder")
    changed.data.mkdir()
    vectors = tmp_path / "glove.txt"
    command = words(changed, "table1", models="protoattend,lstm", vectors=str(vectors))
    shutil.copy(own.data / "hotel.parquet", changed.data)
    for encoder, number in ((own.encoder, 0.1), (own.judge, 0.2)):
        shutil.rmtree(changed.encoder, ignore_errors=True)
        shutil.copytree(encoder, changed.encoder)
        vectors.write_text(f"the {number} 0.5\n", encoding="utf-8")
        assert main(command) == 0
        assert "2 of 2 jobs to do" in capsys.readouterr().err
    # A failure with other vectors displaces the figure.
    vectors.write_text("zebra 0.1 0.5\n", encoding="utf-8")
    assert main(command) == 1
    assert read_records(own.records / "hotel.jsonl")[0][-1].error is not None


def test_a_broken_table_fails_alone_is_tried_again_and_costs_no_figures(own, tmp_path, capsys):
    own = replace(own, data=Path(shutil.copytree(own.data, tmp_path / "tables")))
    (own.data / "broken.parquet").write_bytes(b"no table")
    command = words(own, "table1", models="bag-of-words", sets="broken,hotel")
    assert main(command) == 1
    failed = read_records(own.records / "broken.jsonl")[0]
    assert len((failed[0].error or "").splitlines()) == 1
    assert read_records(own.records / "hotel.jsonl")[0][0].figure("accuracy") is not None
    assert "1 job failed" in capsys.readouterr().err
    assert "failed" in (own.out / "table1.md").read_text(encoding="utf-8")
    shutil.copy(own.data / "hotel.parquet", own.data / "broken.parquet")
    assert main(command) == 0
    before = lines(own)
    (own.data / "hotel.parquet").write_bytes(b"no table")
    assert main(command) == 0
    assert "note: hotel cannot be read" in capsys.readouterr().err
    assert lines(own) == before


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("sets", "nowhere", "there is no table"),
        ("sets", "../hotel", "names without folders"),
        ("models", "full,perfect", "there is no model 'perfect'"),
        ("seeds", "0,0", "twice"),
        ("encoders", "no-such-encoder", "no-such-encoder"),
        ("encoders", "a/tiny,b/tiny", "the same short name"),
        ("seeds", "one", "whole numbers"),
        ("data", "no-such-folder", "does not exist"),
        ("sets", "", "no sets were given"),
        ("vectors", "no-such-file", "no-such-file"),
        ("what", "tabel1", "'tabel1' is neither an experiment"),
        ("out", __file__, "is a file; give a folder"),
    ],
)
def test_bad_options_end_in_one_line_before_any_work(own, option, value, message, capsys):
    assert main(words(own, **{option: value})) == 2
    assert message in capsys.readouterr().err
    assert not own.records.exists()


def test_a_judge_is_never_the_models_own_encoder_by_whatever_name(own, tmp_path):
    same = Path(shutil.copytree(own.encoder, tmp_path / "alias"))
    assert main(words(own, models="none", judge=f"{same},{own.judge}")) == 0
    assert jobs(own)[0]["judge"] == "judge"


def test_help_names_every_model_and_experiment(capsys):
    assert main(["bench", "--help"]) == 0
    shown = capsys.readouterr().out
    names = [*(each.name for each in (*EXPERIMENTS, *MODELS)), "recipe", "all"]
    assert [name for name in names if name not in shown] == []


@pytest.mark.parametrize("torn", ['{"kind": "jo', json.dumps({**JOB, "seed": 2})])
def test_a_torn_line_is_passed_over_and_one_that_lacks_its_end_only_is_kept(torn, tmp_path):
    path = tmp_path / "a.jsonl"
    append_record(path, JOB)
    with path.open("a", encoding="utf-8") as file:
        file.write(torn)
    append_record(path, {**JOB, "seed": 3})
    seeds = [1, 2, 3] if torn.endswith("}") else [1, 3]
    assert [record.seed for record in read_records(path)[0]] == seeds


def test_runs_that_write_at_once_spoil_no_line(tmp_path):
    path = tmp_path / "a.jsonl"
    with ThreadPoolExecutor(8) as runs:
        writes = ({**JOB, "seed": seed, "judge": "x" * 100_000} for seed in range(40))
        list(runs.map(lambda values: append_record(path, values), writes))
    assert sorted(record.seed for record in read_records(path)[0]) == list(range(40))
