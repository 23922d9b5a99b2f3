"""Values of JSON: turned back into dataclasses with every type checked, or made fit for it."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from protorynet.errors import ModelFormatError

# What using damaged or hand-made values may raise.
DAMAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)

_Record = TypeVar("_Record")
_type_hints: Any = cache(get_type_hints)  # a model is hundreds of records of a few kinds


def moment() -> str:
    """Return the present moment in UTC, as records keep it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def finite(value: Any) -> Any:
    """Return a value with null for the numbers that JSON does not know, however deep they stand.

    Examples
    --------
    >>> finite({"accuracy": float("nan"), "scores": [0.5, float("inf")]})
    {'accuracy': None, 'scores': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain(value: Any) -> Any:
    """Return records as dictionaries and tuples as lists, however deep they stand, for JSON."""
    return json.loads(json.dumps(value, default=dataclasses.asdict))


def digest_values(values: Mapping[str, Any]) -> str:
    """Return the sha256 of values but for their own "sha256", however a file lays them out."""
    kept = {name: value for name, value in values.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def json_object(path: Path, content: bytes) -> dict[str, Any]:
    """Return the object that a model's file holds; the path is for the error's sake."""
    try:
        values = json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(values, dict):
        raise ModelFormatError(f"{path} should hold a JSON object.")
    return values


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def read_record(kind: type[_Record], values: Any) -> _Record:
    """Build a dataclass from what JSON gave; a value of the wrong type is a `ValueError`.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: float
    ...     names: tuple[str, ...] = ()
    >>> read_record(Point, {"x": 1, "names": ["a", "b"]})
    Point(x=1.0, names=('a', 'b'))
    >>> read_record(Point, {"x": "1"})
    Traceback (most recent call last):
    ...
    ValueError: x='1' should be float
    """
    if not isinstance(values, dict):
        raise ValueError(f"{kind.__name__} should be a JSON object")
    hints = _type_hints(kind)
    return kind(**{name: _read(name, value, hints.get(name)) for name, value in values.items()})


def _read(name: str, value: Any, hint: Any) -> Any:
    if hint is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if hint in (bool, int, str) and type(value) is hint:
        return value
    origin, inner = get_origin(hint), get_args(hint)
    if origin is UnionType:  # only ever "or None"
        return None if value is None else _read(name, value, inner[0])
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return read_record(hint, value)
    if origin is tuple and isinstance(value, list):
        return tuple(_read(name, entry, inner[0]) for entry in value)
    if origin is dict and isinstance(value, dict):
        return {key: _read(f"{name}[{key!r}]", entry, inner[1]) for key, entry in value.items()}
    if origin is Literal and isinstance(value, str) and value in inner:
        return value
    shown = hint.__name__ if isinstance(hint, type) and origin is None else str(hint)
    raise ValueError(f"{name}={str(value)[:80]!r} should be {shown}")
