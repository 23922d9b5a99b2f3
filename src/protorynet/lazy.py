"""Names of a package that are loaded when first used, so that importing it costs nothing."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach_names(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a package, given its name and file.

    What it offers stands once, in the ``__init__.pyi`` beside its ``__init__.py``, as imports
    that type checkers read too.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        name.name: f"{'.' * line.level}{line.module or ''}"
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name], package), name)

    names = sorted(homes)
    return load, lambda: names, names
