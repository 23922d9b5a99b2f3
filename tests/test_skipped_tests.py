"""A run of the tests ends with what it left out."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_run_ends_with_what_was_skipped_and_how_to_run_it(tmp_path):
    file = tmp_path / "test_it.py"
    file.write_text("import pytest\ndef test_it(): pytest.skip('needs a moon')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "--rootdir", tmp_path, file]
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests", *sys.path)))
    how = {"env": {**os.environ, "PYTHONPATH": paths}, "cwd": tmp_path, "timeout": 120}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    assert "   1  needs a moon\nTo run them too: .ci/run" in ended.stdout
