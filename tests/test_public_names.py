"""The names that users rely on; a change here is a change of the contract."""

import importlib
import subprocess
import sys

import pytest

import protorynet

_PUBLIC = """
    Evaluation Explanation NotFittedError ProtoryNetClassifier ProtoryNetError Prototype
    Prototypes Settings read_table
"""
_ROOMS = """
    audit cli data encoders explain inference network prototypes report server training
"""
_HEAVY = ("torch", "transformers", "sklearn", "pandas", "pyarrow", "rich", "jinja2")


def test_the_package_exports_exactly_these_names():
    assert dir(protorynet) == protorynet.__all__ == _PUBLIC.split()
    with pytest.raises(AttributeError, match="has no attribute 'Classifier'"):
        protorynet.Classifier  # noqa: B018


@pytest.mark.parametrize("room", _ROOMS.split())
def test_every_name_that_a_room_exports_is_there(room):
    home = importlib.import_module(f"protorynet.{room}")
    assert all(getattr(home, name, None) is not None for name in home.__all__)


def imported_by(*modules: str) -> set[str]:
    """Return the heavy packages that modules import in a fresh interpreter."""
    code = f"import sys, {', '.join(modules)}\nprint(*(n for n in {_HEAVY} if n in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split())


def test_light_modules_import_nothing_heavy():
    rooms = ("errors", "files", "progress", "settings")
    assert imported_by("protorynet", *(f"protorynet.{room}" for room in rooms)) == set()


def test_rooms_without_a_network_do_not_import_torch():
    found = imported_by("protorynet.data", "protorynet.encoders")
    assert not found & {"torch", "transformers", "sklearn"}
