"""The documented Spark example scores as one process does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scale_scene import rows_in, scored_here, write_reviews

pytest.importorskip("pyspark", reason="needs pyspark")

_EXAMPLE = Path(__file__).parents[2] / "examples" / "spark_scoring.py"

pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    pytest.mark.skipif(not _EXAMPLE.is_file(), reason="the examples are not here"),
]


@pytest.mark.slow
def test_spark_in_local_mode_scores_as_one_process(hotel, tmp_path):
    table = write_reviews(tmp_path / "reviews.parquet", range(300))
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "OMP_NUM_THREADS": "1",
    }
    options = ["--text", "review", "--skip-empty"]
    # Of its own process, because a JVM lasts as long as the one that started it.
    run = subprocess.run(
        [sys.executable, _EXAMPLE, hotel, table, tmp_path / "out", *options],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    scored = sorted(rows_in(tmp_path / "out"), key=lambda row: str(row["number"]).zfill(6))
    assert scored == scored_here(hotel, [table])
