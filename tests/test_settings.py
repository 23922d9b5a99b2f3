"""Hyper-parameters: valid ones travel through files unchanged, others are refused by name."""

import dataclasses
import json
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given, strategies as st

from protorynet.errors import InputError, SettingsError
from protorynet.settings import _RANGES, Settings, load_settings, preset

_HINTS = get_type_hints(Settings)
_CHOICES = sorted(name for name, hint in _HINTS.items() if get_args(hint))
_WHOLE = sorted(name for name, hint in _HINTS.items() if hint is int)
_REAL = sorted(name for name, hint in _HINTS.items() if hint is float)
_NUMBERS = [*_WHOLE, *_REAL]


# What prototypes of several members need.
_FAMILIES = {"exact": True, "selection": "one_hot"}


def _values(name: str) -> st.SearchStrategy[Any]:
    hint = _HINTS[name]
    if choices := get_args(hint):
        return st.sampled_from(choices)
    if hint is bool:
        return st.booleans()
    low, high = _RANGES[name]
    return st.integers(int(low), int(high)) if hint is int else st.floats(low, high)


_VALID = (
    st.fixed_dictionaries({}, optional={name: _values(name) for name in _HINTS})
    .map(lambda values: {"members": 1, **values, "min_prototypes": 2})
    .filter(lambda v: v["members"] == 1 or _FAMILIES.items() <= {**_FAMILIES, **v}.items())
    .map(lambda values: Settings(**values))
)


def test_every_setting_is_of_a_kind_that_is_checked_and_described():
    assert sorted([*_CHOICES, "exact", "words", *_NUMBERS]) == sorted(_HINTS)
    assert sorted(_NUMBERS) == sorted(_RANGES)
    assert [name for name in _HINTS if name not in (Settings.__doc__ or "")] == []


@given(_VALID)
def test_settings_survive_files_of_both_formats(tmp_path_factory, values):
    folder = tmp_path_factory.getbasetemp()
    (folder / "settings.toml").write_text(values.to_toml(), encoding="utf-8")
    (folder / "settings.json").write_text(json.dumps(values.to_dict()), encoding="utf-8")
    assert load_settings(folder / "settings.toml") == values
    assert load_settings(str(folder / "settings.json")) == values


_WRONG = [
    (_CHOICES, ["nonsense", "", None, 1, True, ["euclidean"], np.zeros(2)], "is not one of '"),
    (["exact"], ["true", 1, 0, None], "should be true or false"),
    (_NUMBERS, ["3", None, True, [3], 2 + 1j], "should be a"),
    (_WHOLE, [2.5], "should be a whole number"),
    (_REAL, [float("nan"), float("inf"), -float("inf")], "should be between"),
    (_NUMBERS, [-(10**400), 10**400], "should be between"),
]


@pytest.mark.parametrize(("names", "values", "message"), _WRONG)
def test_a_wrong_value_is_refused_by_name(names, values, message):
    for name in names:
        for value in values:
            with pytest.raises(SettingsError, match=f"{name}=.* {message}"):
                Settings(**{name: value})


@pytest.mark.parametrize("name", _NUMBERS)
def test_a_number_out_of_range_is_refused_with_the_range(name):
    low, high = map(int if name in _WHOLE else float, _RANGES[name])
    for value in (low - 1, high + 1):
        with pytest.raises(SettingsError, match=f"{name}=.* should be between {low:g} and"):
            Settings(**{name: value})


def test_numpy_numbers_become_plain_ones():
    made = Settings(n_prototypes=np.int64(9), alpha=np.float32(0.5), beta=np.int32(1))
    assert (made.n_prototypes, made.alpha, made.beta) == (9, 0.5, 1.0)
    assert [type(made.n_prototypes), type(made.alpha), type(made.beta)] == [int, float, float]


def test_settings_cannot_be_changed_and_replacing_checks_the_new_values():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().alpha = 1.0  # type: ignore[misc]
    assert Settings(min_prototypes=9, max_prototypes=5).min_prototypes == 5
    assert Settings().replace(alpha=0.25).alpha == 0.25
    with pytest.raises(SettingsError, match=r"members=\d+ needs exact=true.*give members=1"):
        Settings(selection="dense")
    with pytest.raises(SettingsError, match="alpha=-1"):
        Settings().replace(alpha=-1)
    with pytest.raises(SettingsError, match="no setting 'alhpa'; the nearest are 'alpha', '"):
        Settings().replace(alhpa=1)


def test_presets_are_found_by_name_and_the_papers_holds_its_constants():
    assert load_settings("default") == Settings()
    paper = load_settings("paper")
    assert (paper.psi_squared, paper.alpha, paper.beta, paper.eta) == (10.0, 0.1, 1e-4, 1.0)
    assert (paper.learning_rate, paper.project_every) == (1e-4, 10)
    assert (paper.selection, paper.accuracy_loss, paper.exact) == ("paper", "mse", False)
    assert (load_settings("single").members, paper.members) == (1, 1)
    listed = r"there is no preset 'fast'; .* 'default', 'single', 'paper'"
    with pytest.raises(SettingsError, match=listed):
        preset("fast")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.json", b"[1, 2]"),
        ("unknown.toml", b"alhpa = 1"),
        ("nested.toml", b"[training]\nalpha = 1"),
        ("text.toml", b"alpha = 'much'"),
        ("nan.json", b'{"alpha": NaN}'),
    ],
)
def test_an_unusable_file_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SettingsError):
        load_settings(tmp_path / name)


def test_what_is_neither_preset_nor_settings_file_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"'no\.toml' is neither a preset"):
        load_settings("no.toml")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path)
    for source in (None, 3, {"alpha": 1}):
        with pytest.raises(InputError, match="a preset's name, a file or a Settings"):
            load_settings(source)  # type: ignore[arg-type]
