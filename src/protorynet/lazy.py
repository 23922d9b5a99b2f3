"""Names of a package that are loaded when first used, so that importing it costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's `__getattr__` and `__dir__`.

    Parameters
    ----------
    package
        Its ``__name__``.
    modules
        Its modules, and the names that each of them holds, with spaces between.

    Examples
    --------
    >>> load, names = lazy_names("protorynet", {"errors": "InputError TableError"})
    >>> load("InputError").__name__, names()
    ('InputError', ['InputError', 'TableError'])
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return load, lambda: sorted(homes)
