"""The names that users rely on; a change here is a change of the contract."""

import importlib

import pytest

import protorynet

_PUBLIC = """
    Evaluation Explanation NotFittedError ProtoryNetClassifier ProtoryNetError Prototype
    Prototypes Settings read_table
"""
_ROOMS = """
    audit cli data encoders explain inference network prototypes report server training
"""


def test_the_package_exports_exactly_these_names():
    assert dir(protorynet) == protorynet.__all__ == _PUBLIC.split()
    with pytest.raises(AttributeError, match="has no attribute 'Classifier'"):
        protorynet.Classifier  # noqa: B018


@pytest.mark.parametrize("room", _ROOMS.split())
def test_every_name_that_a_room_exports_is_there(room):
    home = importlib.import_module(f"protorynet.{room}")
    assert all(getattr(home, name, None) is not None for name in home.__all__)
