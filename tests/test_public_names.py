"""The names that users rely on; a change here is a change of the contract."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

_PUBLIC = """
    Evaluation Explanation NotFittedError ProtoryNetClassifier ProtoryNetError Prototype
    Prototypes Settings read_table
"""
_ROOMS = [
    "audit",
    "cli",
    "data",
    "encoders",
    "explain",
    "inference",
    "network",
    "prototypes",
    "report",
    "server",
    "training",
]
_HEAVY = ("torch", "transformers", "sklearn", "pandas", "pyarrow", "rich", "jinja2")


def test_the_package_exports_exactly_these_names() -> None:
    import protorynet

    assert protorynet.__all__ == _PUBLIC.split()


@pytest.mark.parametrize("room", _ROOMS)
def test_every_name_that_a_room_exports_is_there(room) -> None:
    home = importlib.import_module(f"protorynet.{room}")
    assert all(getattr(home, name, None) is not None for name in home.__all__)


def test_the_package_lists_its_names_and_refuses_others() -> None:
    import protorynet

    assert dir(protorynet) == protorynet.__all__
    with pytest.raises(AttributeError, match="has no attribute 'Classifier'"):
        protorynet.Classifier  # noqa: B018


def imported_by(statement: str) -> set[str]:
    """Return the heavy packages that a statement imports in a fresh interpreter."""
    code = f"{statement}\nimport sys\nprint(*(name for name in {_HEAVY} if name in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split())


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert imported_by("import protorynet") == set()


@pytest.mark.parametrize("room", ["errors", "files", "progress", "settings"])
def test_light_modules_stay_light(room) -> None:
    assert imported_by(f"import protorynet.{room}") == set()


def test_rooms_without_a_network_do_not_import_torch() -> None:
    found = imported_by("import protorynet.data, protorynet.encoders")
    assert not found & {"torch", "transformers", "sklearn"}
