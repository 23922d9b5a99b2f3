"""The analysis of a survey as a folder: figures, a page that shows them, and all numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from protorynet.files import write_atomically
from protorynet_lab.survey.charts import analysis_charts
from protorynet_lab.survey.figures import Analysis
from protorynet_lab.survey.pages import filled
from protorynet_lab.survey.terminal import TITLES, shown_mean, shown_p, summary

__all__ = ["write_analysis"]


def write_analysis(analysis: Analysis, folder: Path, *, title: str) -> Sequence[Path]:
    """Write ``index.html``, ``analysis.json`` and an SVG for each figure; return the files."""
    charts = analysis_charts(analysis)
    page = filled(
        "analysis.html",
        title=title,
        analysis=analysis,
        summary=summary(analysis),
        # Every text in the figures was escaped when they were drawn.
        charts=[Markup(chart) for chart in charts.values()],  # noqa: S704
        titles=TITLES,
        shown_mean=shown_mean,
        shown_p=shown_p,
    )
    numbers = json.dumps(analysis.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    contents = {"index.html": page, "analysis.json": numbers + "\n", **charts}
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return [folder / name for name in contents]
