"""Hyper-parameters: valid ones travel through files unchanged, others are refused by name."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from protorynet.errors import InputError, SettingsError
from protorynet.settings import _RANGES, Settings, load_settings, preset

_HINTS = get_type_hints(Settings)
_CHOICES = sorted(name for name, hint in _HINTS.items() if get_args(hint))
_FLAGS = sorted(name for name, hint in _HINTS.items() if hint is bool)
_WHOLE = sorted(name for name, hint in _HINTS.items() if hint is int)
_REAL = sorted(name for name, hint in _HINTS.items() if hint is float)


def _values(name: str) -> st.SearchStrategy[Any]:
    hint = _HINTS[name]
    if choices := get_args(hint):
        return st.sampled_from(choices)
    if hint is bool:
        return st.booleans()
    low, high = _RANGES[name]
    if hint is int:
        return st.integers(int(low), int(high))
    return st.floats(low, high)


_VALID = (
    st.fixed_dictionaries({}, optional={name: _values(name) for name in _HINTS})
    .map(lambda values: {**values, "min_prototypes": 2})
    .map(lambda values: Settings(**values))
)


def test_every_setting_is_of_a_kind_that_is_checked() -> None:
    assert sorted([*_CHOICES, *_FLAGS, *_WHOLE, *_REAL]) == sorted(_HINTS)
    assert sorted([*_WHOLE, *_REAL]) == sorted(_RANGES)


def test_every_setting_is_described() -> None:
    described = Settings.__doc__ or ""
    assert [name for name in _HINTS if name not in described] == []


@settings(deadline=None)
@given(_VALID)
def test_settings_survive_plain_values(values) -> None:
    assert Settings.from_dict(json.loads(json.dumps(values.to_dict()))) == values


@settings(deadline=None)
@given(_VALID)
def test_settings_survive_a_toml_file(tmp_path_factory, values) -> None:
    path = tmp_path_factory.getbasetemp() / "settings.toml"
    path.write_text(values.to_toml(), encoding="utf-8")
    assert load_settings(path) == values
    assert load_settings(str(path)) == values


@settings(deadline=None)
@given(_VALID)
def test_settings_survive_a_json_file(tmp_path_factory, values) -> None:
    path = tmp_path_factory.getbasetemp() / "settings.json"
    path.write_text(json.dumps(values.to_dict()), encoding="utf-8")
    assert load_settings(path) == values


@pytest.mark.parametrize("name", _CHOICES)
@pytest.mark.parametrize("value", ["nonsense", "", None, 1, True, ["euclidean"], np.zeros(2)])
def test_a_wrong_choice_is_refused_by_name(name, value) -> None:
    with pytest.raises(SettingsError, match=f"{name}=.* is not one of '"):
        Settings(**{name: value})


@pytest.mark.parametrize("name", _FLAGS)
@pytest.mark.parametrize("value", ["true", 1, 0, None])
def test_a_wrong_flag_is_refused_by_name(name, value) -> None:
    with pytest.raises(SettingsError, match=f"{name}=.* should be true or false"):
        Settings(**{name: value})


@pytest.mark.parametrize("name", [*_WHOLE, *_REAL])
@pytest.mark.parametrize("value", ["3", None, True, [3], 2 + 1j])
def test_what_is_no_number_is_refused_by_name(name, value) -> None:
    with pytest.raises(SettingsError, match=f"{name}=.* should be a"):
        Settings(**{name: value})


@pytest.mark.parametrize("name", _WHOLE)
def test_a_fraction_is_refused_where_a_whole_number_is_needed(name) -> None:
    with pytest.raises(SettingsError, match=rf"{name}=2\.5 should be a whole number"):
        Settings(**{name: 2.5})


@pytest.mark.parametrize("name", [*_WHOLE, *_REAL])
def test_a_number_out_of_range_is_refused_with_the_range(name) -> None:
    low, high = _RANGES[name]
    kind = int if name in _WHOLE else float
    for value in (kind(low) - 1, kind(high) + 1, -(10**400), 10**400):
        with pytest.raises(SettingsError, match=f"{name}=.* should be between {low:g} and"):
            Settings(**{name: value})


@pytest.mark.parametrize("name", _REAL)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_refused(name, value) -> None:
    with pytest.raises(SettingsError, match=f"{name}="):
        Settings(**{name: value})


def test_numpy_numbers_become_plain_ones() -> None:
    made = Settings(n_prototypes=np.int64(9), alpha=np.float32(0.5), beta=np.int32(1))
    assert (made.n_prototypes, made.alpha, made.beta) == (9, 0.5, 1.0)
    assert [type(made.n_prototypes), type(made.alpha), type(made.beta)] == [int, float, float]


def test_the_fewest_prototypes_are_never_more_than_the_most() -> None:
    assert Settings(min_prototypes=9, max_prototypes=5).min_prototypes == 5


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().alpha = 1.0  # type: ignore[misc]


def test_replacing_checks_the_new_values() -> None:
    assert Settings().replace(alpha=0.25).alpha == 0.25
    with pytest.raises(SettingsError, match="alpha=-1"):
        Settings().replace(alpha=-1)
    with pytest.raises(SettingsError, match=r"unknown setting\(s\) alhpa; known are .*alpha"):
        Settings().replace(alhpa=1)


@pytest.mark.parametrize("name", ["default", "paper"])
def test_presets_are_found_by_name(name) -> None:
    assert load_settings(name) == preset(name)


def test_the_papers_preset_holds_the_papers_constants() -> None:
    paper = preset("paper")
    assert (paper.psi_squared, paper.alpha, paper.beta, paper.eta) == (10.0, 0.1, 1e-4, 1.0)
    assert (paper.learning_rate, paper.project_every) == (1e-4, 10)
    assert (paper.selection, paper.accuracy_loss, paper.exact) == ("paper", "mse", False)


def test_an_unknown_preset_is_refused_with_those_there_are() -> None:
    with pytest.raises(SettingsError, match=r"there is no preset 'fast'; .* 'default', 'paper'"):
        preset("fast")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(SettingsError, match=r"'no\.toml' is neither a preset"):
        load_settings("no.toml")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.toml", b"alpha = = 1"),
        ("broken.json", b"{"),
        ("binary.toml", b"\xff\xfe\x00"),
        ("deep.json", b"[" * 100_000),
        ("deep.toml", b"a = " + b"[" * 100_000),
        ("list.json", b"[1, 2]"),
        ("unknown.toml", b"alhpa = 1"),
        ("nested.toml", b"[training]\nalpha = 1"),
        ("text.toml", b"alpha = 'much'"),
        ("nan.json", b'{"alpha": NaN}'),
    ],
)
def test_an_unusable_file_is_refused(tmp_path, name, content) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SettingsError):
        load_settings(path)


def test_a_folder_is_refused(tmp_path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path)


@pytest.mark.parametrize("source", [None, 3, {"alpha": 1}])
def test_what_is_neither_name_nor_file_nor_settings_is_refused(source) -> None:
    with pytest.raises(SettingsError, match="a preset's name, a file or a Settings"):
        load_settings(source)


def test_settings_errors_are_input_errors_and_value_errors() -> None:
    assert issubclass(SettingsError, InputError)
    assert issubclass(SettingsError, ValueError)
