"""Writing the pages: results.md, one JSON file per data set, and the plot."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from protorynet.errors import InputError
from protorynet.files import write_atomically
from protorynet_lab.bench.catalogue import DATA_SETS, MODELS
from protorynet_lab.bench.experiments.experiment import Measurements
from protorynet_lab.bench.figures import Figure
from protorynet_lab.bench.recipe.frontier import frontier_svg
from protorynet_lab.bench.recipe.page import results_page
from protorynet_lab.bench.results import Group, Results

__all__ = ["RECIPE", "write_results"]

RECIPE = Measurements(
    name="recipe",
    models=(*(kind.name for kind in MODELS if kind.family != "rival"), "bag-of-words"),
    sets=tuple(each.name for each in DATA_SETS),
)
"""Ours, the paper's procedure, the ceilings and the floor."""

_NOTES = "results-notes.md"
_DIGITS = 6
_FIGURE = re.compile(r'\{\s+"mean": [^{}]*\}')
_FIGURES = (
    "accuracy",
    "macro_f1",
    "validation_accuracy",
    "n_prototypes",
    "n_train",
    "n_test",
    "ids_only_gap",
    "fragment_prototypes",
    "stability",
    "training_seconds",
)


def write_results(results: Results, out: Path) -> list[Path]:
    """Write the page of the recipe; the same records give the same bytes.

    Parameters
    ----------
    results
        Everything that was measured.
    out
        Where NAME.json of each data set goes; results.md and frontier.svg go beside it.

    Returns
    -------
    The files written.
    """
    found = results.only(models=RECIPE.models, variants=("",))
    docs = out.parent
    pages = {
        docs / "results.md": results_page(found, _notes(docs / _NOTES)),
        docs / "frontier.svg": frontier_svg(found) + "\n",
    }
    for name in found.sets:
        pages[out / f"{_file_name(name)}.json"] = _one_figure_per_line(_summary(found, name)) + "\n"
    for path, text in pages.items():
        write_atomically(path, text.encode("utf-8", "backslashreplace"))
    return list(pages)


def _notes(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except ValueError:
        raise InputError(f"{path} is not UTF-8 text.") from None


def _file_name(name: str) -> str:
    # Records are input like any other: a name must not lead out of the folder.
    return re.sub(r"[^\w.-]", "_", name).lstrip(".") or "_"


def _summary(results: Results, name: str) -> dict[str, Any]:
    return {"set": name, "models": [_model(results, group) for group in results.of(name)]}


def _model(results: Results, group: Group) -> dict[str, Any]:
    records = group.records
    measures = sorted({measure for record in records for measure in record.faithfulness})
    figures = {each: group.figure(each) for each in (*_FIGURES, *measures)}
    if group.kind.family == "ours":
        figures["ceiling_gap"] = results.ceiling_gap(group.set, group.encoder, group.kind.name)
    return {
        "encoder": group.encoder or None,
        "model": group.kind.name,
        "seeds": [record.seed for record in records],
        "settings": records[0].settings,
        "judges": sorted({record.judge for record in records} - {""}),
        "devices": sorted({record.device for record in records} - {""}),
        "versions": records[0].versions,
        "figures": {each: _plain(figure) for each, figure in figures.items() if figure},
    }


def _one_figure_per_line(summary: dict[str, Any]) -> str:
    text = json.dumps(summary, indent=2, ensure_ascii=False, sort_keys=True)
    return _FIGURE.sub(lambda found: " ".join(found[0].split()), text)


def _plain(figure: Figure) -> dict[str, Any]:
    spread = None if figure.spread is None else _rounded(figure.spread)
    return {"mean": _rounded(figure.mean), "spread": spread, "n": figure.n}


def _rounded(value: float) -> float:
    # To significant digits: a prototype's error of 3e-8 is not 0.
    return float(f"{value:.{_DIGITS}g}")
