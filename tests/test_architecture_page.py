"""docs/architecture.md names functions that are there, and its walks stay short."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = {part.splitlines()[0]: part for part in PAGE.split("\n### ")[1:]}
STEP = re.compile(r"^\d+\. `(protorynet[\w.]+)\.([\w]+)`", re.MULTILINE)


def module_and_name(dotted: str, name: str) -> tuple[str, list[str]]:
    """Take a class apart from the module it stands in."""
    module, _, last = dotted.rpartition(".")
    return (module, [last, name]) if last[0].isupper() else (dotted, [name])


@pytest.mark.parametrize("walk", WALKS)
def test_every_function_of_a_walk_is_there(walk):
    for step in STEP.findall(WALKS[walk]):
        module, names = module_and_name(*step)
        found = importlib.import_module(module)
        for name in names:
            found = getattr(found, name, None)
        assert callable(found), step
