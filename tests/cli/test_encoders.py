import json

import pytest

from protorynet.cli import main
from protorynet.encoders import choose_encoder


def test_the_encoders_are_listed_with_what_auto_takes(run, monkeypatch):
    monkeypatch.setattr("protorynet.encoders.registry.SECONDS_PER_ENCODER", 0.0)
    monkeypatch.setattr("protorynet.encoders.registry._TIMED_SENTENCES", ["Fine."] * 8)
    ended = run("encoders", "--device", "cpu")
    assert ended.code == 0
    row, *_, reason = [line for line in ended.out.splitlines() if line.strip().startswith("*")]
    assert reason.startswith(f"* --encoder auto takes {row.split()[1]}: ")
    given = json.loads(run("encoders", "--device", "cpu", "--json").out)
    assert set(given) == {"auto", "encoders"}
    first = given["encoders"][0]
    assert (first["name"], first["dimension"], first["relative"]) == ("minilm", 384, 1.0)
    assert first["bytes_on_disk"] > 8e7


@pytest.fixture(scope="module")
def automatic(table, quick, tmp_path_factory):
    folder = tmp_path_factory.mktemp("auto") / "model"
    options = ["--encoder", "auto", "--device", "cpu"]
    assert main(["fit", str(table), "-o", str(folder), *quick, *options]) == 0
    return folder


def test_a_model_of_a_variant_is_evaluated_explained_and_edited(automatic, table, run):
    config = json.loads((automatic / "config.json").read_text())
    assert config["encoder"]["name"] == choose_encoder("cpu").name
    assert json.loads(run("evaluate", automatic, table, "--json").out)["accuracy"] > 0.8
    assert run("explain", automatic, "The acting was superb.").code == 0
    shown = json.loads(run("prototypes", automatic, "--json").out)["prototypes"]
    dropped = run("edit", automatic, "--drop", shown[-1]["id"])
    assert dropped.code == 0, dropped.err


def test_a_variant_cannot_be_trained_itself(table, tmp_path, fails):
    options = ("--encoder", "minilm:bf16", "--encoder-training", "full")
    message = fails("fit", table, "-o", tmp_path / "model", *options)
    assert "encoder_training='full' needs a transformer encoder" in message
