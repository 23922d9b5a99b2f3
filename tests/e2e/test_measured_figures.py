"""The figures that the project promises, on real data, through the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"


def protorynet(*words: str | Path) -> str:
    program = "import sys; from protorynet.cli import main; sys.exit(main())"
    arguments = [sys.executable, "-c", program, *map(str, words)]
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least_accuracy"), [("hotel", 0.945), ("dbpedia", 0.97)])
def test_default_settings_give_an_accurate_and_exact_model(name, least_accuracy, tmp_path):
    table = DATA / f"{name}.parquet"
    if not table.exists():
        pytest.skip(f"needs the measuring data {name}.parquet, which is not part of the project")
    protorynet("fit", table, "--split", "train", "-o", tmp_path / "model")
    printed = protorynet("evaluate", tmp_path / "model", table, "--split", "test", "--json")
    evaluation = json.loads(printed)
    assert evaluation["accuracy"] >= least_accuracy
    assert evaluation["n_prototypes"] <= 20
    assert evaluation["faithfulness"]["prototype_error"] <= 1e-5
