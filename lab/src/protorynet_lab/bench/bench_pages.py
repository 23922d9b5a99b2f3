"""Writing what was measured: Markdown, HTML, JSON and pictures, always from the records alone."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protorynet.errors import InputError
from protorynet.files import write_atomically
from protorynet_lab.bench.bench_blocks import (
    Block,
    Heading,
    Plot,
    Prose,
    escape_markdown,
    render_html,
    render_markdown,
)
from protorynet_lab.bench.bench_experiment import Experiment
from protorynet_lab.bench.bench_jobs import TEMPLATES
from protorynet_lab.bench.bench_planning import EVERYTHING, EXPERIMENTS, Request, select_experiments
from protorynet_lab.bench.bench_recipe import RECIPE
from protorynet_lab.bench.bench_results import Group, Results, read_results

_SUMMARY_DIGITS = 6
_SUMMARY_FIGURE = re.compile(r'\{\s+"mean": [^{}]*\}')
_SUMMARY_FIGURES = (
    "accuracy",
    "macro_f1",
    "validation_accuracy",
    "n_prototypes",
    "n_members",
    "n_train",
    "n_test",
    "ids_only_gap",
    "fragment_prototypes",
    "stability",
    "seed_agreement",
    "training_seconds",
)


@dataclass(frozen=True)
class Pages:
    """What was written, and what a terminal shows of it: nothing where there is too much."""

    files: tuple[Path, ...]
    title: str = ""
    blocks: Sequence[Block] = ()


def write_pages(request: Request) -> Pages:
    """Write the pages of a request from its records; the same records give the same bytes."""
    results = read_results(request.records)
    if not request.is_own:
        results = results.without_own(request.sets or ())
    experiments = select_experiments(request)
    # Where all are made at once, each shows what suits it of that which was asked for.
    is_one = request.what != EVERYTHING
    named = {"sets": request.sets or (), "models": request.models or ()} if is_one else {}
    blocks = {each.name: each.page(results, **named) for each in experiments}
    files: dict[Path, str] = {}
    for experiment in experiments:
        if experiment is RECIPE:
            files |= _recipe_files(blocks[RECIPE.name], results, request.out)
        else:
            files |= _experiment_files(experiment, blocks[experiment.name], request.out)
    if not is_one:
        files[request.out.parent / "paper-tables.md"] = _render_paper_tables(blocks, request.out)
    for path, text in files.items():
        write_atomically(path, text.encode("utf-8", "backslashreplace"))
    if not is_one or experiments[0] is RECIPE:
        return Pages(tuple(files))
    return Pages(tuple(files), experiments[0].title, blocks[experiments[0].name])


def _experiment_files(
    experiment: Experiment, blocks: Sequence[Block], out: Path
) -> dict[Path, str]:
    page = render_markdown([Prose(experiment.text()), *blocks])
    html = render_html(experiment.title, experiment.text(), blocks)
    return {
        out / f"{experiment.name}.md": f"# {escape_markdown(experiment.title)}\n\n{page}\n",
        out / f"{experiment.name}.html": html,
        **{out / f"{block.name}.svg": block.svg for block in blocks if isinstance(block, Plot)},
    }


def _render_paper_tables(blocks: Mapping[str, Sequence[Block]], out: Path) -> str:
    """Return the page that reads like section 5 of the paper."""
    head = (TEMPLATES / "paper_tables_head.md").read_text("utf-8").strip()
    parts = [head.format(folder=out.name)]
    for each in EXPERIMENTS:
        shown = [Heading(each.title, -1), Prose(each.text()), *blocks[each.name]]
        parts.append(render_markdown(shown, level=3, pictures=f"{out.name}/"))
        parts += _read_notes(out / "notes" / f"{each.name}.md")
    return "\n\n".join(parts) + "\n"


def _recipe_files(blocks: Sequence[Block], results: Results, out: Path) -> dict[Path, str]:
    """Return results.md and its picture, which go beside OUT, and a JSON file per data set."""
    found = RECIPE.select(results).only(variants=("",))
    notes = _read_notes(out.parent / "results-notes.md")
    head = (TEMPLATES / "results_head.md").read_text("utf-8").strip()
    title = ["## What falls short"] if notes else []
    page = "\n\n".join([head, render_markdown(blocks), *title, *notes])
    files = {out.parent / "results.md": f"{page}\n"}
    files |= {out.parent / f"{b.name}.svg": b.svg for b in blocks if isinstance(b, Plot)}
    for name in found.sets:
        # Records are input like any other: a name must not lead out of the folder.
        file = re.sub(r"[^\w.-]", "_", name).lstrip(".") or "_"
        files[out / f"{file}.json"] = _summarise(found, name)
    return files


def _read_notes(path: Path) -> list[str]:
    """Return the hand-written discussion of a page."""
    try:
        return list(filter(None, [path.read_text(encoding="utf-8").strip()]))
    except FileNotFoundError:
        return []
    except ValueError:
        raise InputError(f"{path} is not UTF-8 text.") from None


def _summarise(results: Results, name: str) -> str:
    """Return all figures of a data set as JSON, one figure per line."""
    models = [_summarise_group(results, group) for group in results.groups if group.set == name]
    summary = {"set": name, "models": models}
    text = json.dumps(summary, indent=2, ensure_ascii=False, sort_keys=True)
    return _SUMMARY_FIGURE.sub(lambda found: " ".join(found[0].split()), text) + "\n"


def _summarise_group(results: Results, group: Group) -> dict[str, Any]:
    records = group.records
    measures = sorted({measure for record in records for measure in record.faithfulness})
    figures = {each: group.figure(each) for each in (*_SUMMARY_FIGURES, *measures)}
    if group.kind.family in ("ours", "single"):
        figures["ceiling_gap"] = results.ceiling_gap(*group.model)
    return {
        "encoder": group.encoder or None,
        "model": group.kind.name,
        "seeds": [record.seed for record in records],
        "settings": records[0].settings,
        "judges": sorted({record.judge for record in records} - {""}),
        "devices": sorted({record.device for record in records} - {""}),
        "versions": records[0].versions,
        "figures": {
            name: {"mean": _round(each.mean), "spread": _round(each.spread), "n": each.n}
            for name, each in figures.items()
            if each is not None
        },
    }


def _round(value: float | None) -> float | None:
    # To significant digits: a prototype's error of 3e-8 is not 0.
    return None if value is None else float(f"{value:.{_SUMMARY_DIGITS}g}")
