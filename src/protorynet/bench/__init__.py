"""The paper's tables and figures measured anew, and a comparison on a table of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protorynet.lazy import lazy_names

if TYPE_CHECKING:
    from protorynet.bench.jobs import Plan
    from protorynet.bench.pages import write_pages
    from protorynet.bench.planning import Request, make_plan
    from protorynet.bench.results import read_results
    from protorynet.bench.running import run_plan

__all__ = ["Plan", "Request", "make_plan", "read_results", "run_plan", "write_pages"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "jobs": "Plan",
        "pages": "write_pages",
        "planning": "Request make_plan",
        "results": "read_results",
        "running": "run_plan",
    },
)
