"""Data sets from the hub, out of a cache filled beforehand: no test needs the network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from protorynet.errors import InputError
from protorynet_lab.datasets import fetch_dataset

REVISION = "0123456789abcdef0123456789abcdef01234567"
FETCH = (
    "import sys; from protorynet_lab.datasets import fetch_dataset; print(fetch_dataset('imdb'))"
)


def fetched(home: Path) -> subprocess.CompletedProcess[str]:
    """Fetch IMDB in a fresh interpreter, where the hub's client sees this cache alone."""
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    environment.pop("HF_HUB_CACHE", None)
    return subprocess.run(
        [sys.executable, "-c", FETCH], capture_output=True, text=True, timeout=60, env=environment
    )


def test_a_copy_fetched_before_is_found_without_the_network(tmp_path: Path) -> None:
    cached = tmp_path / "hub" / "datasets--stanfordnlp--imdb"
    snapshot = cached / "snapshots" / REVISION
    (snapshot / "plain_text").mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(REVISION)
    table = pa.table({"text": ["Good."], "label": [1]})
    pq.write_table(table, snapshot / "plain_text" / "train-00000-of-00001.parquet")
    ended = fetched(tmp_path)
    assert (ended.stdout.strip(), ended.returncode) == (str(snapshot), 0), ended.stderr


def test_a_hub_out_of_reach_is_told_with_what_to_do(tmp_path: Path) -> None:
    ended = fetched(tmp_path)
    assert "'stanfordnlp/imdb' cannot be fetched from the hub" in ended.stderr
    assert "give it with --from PATH" in ended.stderr


def test_a_data_set_that_the_hub_lacks_is_told() -> None:
    with pytest.raises(InputError, match="no faithful copy of 'steam'; fetch it from https://www"):
        fetch_dataset("steam")
