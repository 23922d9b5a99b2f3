"""The command that measures everything, and the pages made of what it measured."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from protorynet.bench.command import main
from protorynet.bench.jobs import Plan

if TYPE_CHECKING:
    from protorynet.bench.running import run_plan
    from protorynet.bench.writing import write_results

__all__ = ["Plan", "main", "run_plan", "write_results"]

_MODULES = {"run_plan": "running", "write_results": "writing"}


def __getattr__(name: str) -> Any:
    # Measuring needs torch, which takes seconds to import.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
