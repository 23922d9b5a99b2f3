"""Writing what was measured: Markdown, HTML and pictures, always from the records alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from protorynet.bench.blocks import Block, Plot, Prose, as_markdown
from protorynet.bench.experiments import EXPERIMENTS
from protorynet.bench.experiments.experiment import Experiment
from protorynet.bench.html import html_page
from protorynet.bench.planning import EVERYTHING, Request, measurements_of
from protorynet.bench.recipe import write_results
from protorynet.bench.results import Results, read_results
from protorynet.errors import InputError
from protorynet.files import write_atomically

__all__ = ["experiment_page", "paper_tables", "write_pages"]

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


def write_pages(request: Request) -> list[Path]:
    """Write the pages of a request from its records, and return the files written."""
    results = read_results(request.records)
    papers = results.without_own(request.sets or ())
    written: list[Path] = []
    for measured in measurements_of(request):
        if isinstance(measured, Experiment):
            blocks = experiment_page(measured, results, request)
            written += _write_experiment(measured, blocks, request.out)
        else:
            written += write_results(papers, request.out)
    if request.what == EVERYTHING:
        path = request.out.parent / _PAPER_TABLES
        _write(path, paper_tables(papers, request.out))
        written.append(path)
    return written


def experiment_page(experiment: Experiment, results: Results, request: Request) -> list[Block]:
    """Return what an experiment shows, with all that was asked for by name."""
    if request.is_own:
        return experiment.page(results, models=request.models or ())
    papers = results.without_own(request.sets or ())
    if request.what == EVERYTHING:
        return experiment.page(papers)
    return experiment.page(papers, sets=request.sets or (), models=request.models or ())


def paper_tables(results: Results, out: Path) -> str:
    """Return the page that reads like section 5 of the paper, in Markdown.

    Parameters
    ----------
    results
        Everything that was measured.
    out
        The folder with the pictures, and with the hand-written notes/NAME.md.
    """
    parts = [_HEAD.format(folder=out.name)]
    for each in EXPERIMENTS:
        blocks = [Prose(each.about), *each.page(results)]
        parts += [f"## {each.title}", as_markdown(blocks, level=3, pictures=f"{out.name}/")]
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
