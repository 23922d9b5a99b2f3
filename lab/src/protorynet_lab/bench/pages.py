"""Writing what was measured: Markdown, HTML and pictures, always from the records alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from protorynet.errors import InputError
from protorynet.files import write_atomically
from protorynet_lab.bench.blocks import Block, Plot, Prose, as_markdown
from protorynet_lab.bench.experiments import EXPERIMENTS
from protorynet_lab.bench.experiments.experiment import Experiment
from protorynet_lab.bench.html import html_page
from protorynet_lab.bench.planning import EVERYTHING, Request, measurements_of
from protorynet_lab.bench.recipe import write_results
from protorynet_lab.bench.results import Results, read_results

__all__ = ["Pages", "write_pages"]

_PAPER_TABLES = "paper-tables.md"
_HEAD = """\
# The paper's tables with our figures

<!-- Written by `protorynet bench all --from-records`; discussion goes into {folder}/notes/. -->

Section 5 of the paper, experiment by experiment, measured anew with this package. Every figure is
the mean over seeds ± the standard deviation on test documents, which no job chooses by; the
paper's own figure stands beside it in small print. A star marks data that are a slice of the
paper's kind, not its own data and split. The prototypes themselves are in
[results.md](results.md). `DATA` is a folder of Parquet tables with the columns
`text`, `label` and `split`, and word vectors are given by path; [bench.md](bench.md) says how to
get there. Where a table took several commands, all are named."""


@dataclass(frozen=True)
class Pages:
    """What was written.

    Parameters
    ----------
    files
        The files.
    blocks
        What each experiment shows, by its name.
    """

    files: tuple[Path, ...]
    blocks: dict[str, list[Block]]


def write_pages(request: Request) -> Pages:
    """Write the pages of a request from its records."""
    results = read_results(request.records)
    if not request.is_own:
        results = results.without_own(request.sets or ())
    files: list[Path] = []
    blocks: dict[str, list[Block]] = {}
    for measured in measurements_of(request):
        if isinstance(measured, Experiment):
            blocks[measured.name] = _blocks(measured, results, request)
            files += _write_experiment(measured, blocks[measured.name], request.out)
        else:
            files += write_results(results, request.out)
    if request.what == EVERYTHING:
        files.append(request.out.parent / _PAPER_TABLES)
        _write(files[-1], _paper_tables(blocks, request.out))
    return Pages(tuple(files), blocks)


def _blocks(experiment: Experiment, results: Results, request: Request) -> list[Block]:
    """Return what an experiment shows, with all that was asked for by name."""
    if request.what == EVERYTHING:
        return experiment.page(results)
    return experiment.page(results, sets=request.sets or (), models=request.models or ())


def _paper_tables(blocks: Mapping[str, Sequence[Block]], out: Path) -> str:
    """Return the page that reads like section 5 of the paper, in Markdown.

    Parameters
    ----------
    blocks
        What each experiment shows.
    out
        The folder with the pictures, and with the hand-written notes/NAME.md.
    """
    parts = [_HEAD.format(folder=out.name)]
    for each in EXPERIMENTS:
        shown = [Prose(each.about), *blocks[each.name]]
        parts += [f"## {each.title}", as_markdown(shown, level=3, pictures=f"{out.name}/")]
        notes = _notes(out / "notes" / f"{each.name}.md")
        parts += [notes] if notes else []
    return "\n\n".join(parts) + "\n"


def _write_experiment(experiment: Experiment, blocks: Sequence[Block], out: Path) -> list[Path]:
    files = {
        out / f"{experiment.name}.md": _markdown_page(experiment, blocks),
        out / f"{experiment.name}.html": html_page(experiment.title, experiment.about, blocks),
    }
    for block in blocks:
        if isinstance(block, Plot):
            files[out / f"{block.name}.svg"] = block.svg + "\n"
    for path, text in files.items():
        _write(path, text)
    return list(files)


def _markdown_page(experiment: Experiment, blocks: Sequence[Block]) -> str:
    text = as_markdown([Prose(experiment.about), *blocks])
    return f"# {as_markdown([Prose(experiment.title)])}\n\n{text}\n"


def _write(path: Path, text: str) -> None:
    write_atomically(path, text.encode("utf-8", "backslashreplace"))


def _notes(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except ValueError:
        raise InputError(f"{path} is not UTF-8 text.") from None
