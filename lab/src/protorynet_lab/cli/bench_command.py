"""`protorynet bench`: the paper's tables measured anew, and models compared on one's own table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from protorynet.cli import check_writable, note, result_console
from protorynet.errors import InputError

if TYPE_CHECKING:
    from protorynet_lab.bench import Request

__all__ = ["bench"]

_CHOICE = "What to measure"
_TABLE = "The table"
_RUN = "The run"
_MOST = 2**32 - 1  # as scikit-learn takes for a seed


def bench(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="recipe, table1, table2, pruning, substitutes, automata, multiclass, prototypes, "
            "sensitivity, sparsity, all; or a table of your own: .csv, .tsv, .jsonl, .parquet.",
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the paper's data sets, one NAME.parquet each; see "
            "`protorynet datasets`.",
        ),
    ] = None,
    sets: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Data sets, joined by commas. By default those of the experiment that DIR holds.",
            rich_help_panel=_CHOICE,
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Seeds, joined by commas. By default 0,1,2; for a table of your own, 0.",
            rich_help_panel=_CHOICE,
        ),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="full, adapter, none, paper, paper-full, transformer, prosenet, protoattend, "
            "lstm, bag-of-words, bag-of-words-paper, ceiling-full, ceiling-adapter, ceiling-none. "
            "By default those of the experiment.",
            rich_help_panel=_CHOICE,
        ),
    ] = None,
    encoders: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="Names or folders of encoders.", rich_help_panel=_CHOICE
        ),
    ] = "minilm",
    judge: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Encoders that judge matches; the first that is not the model's own is asked.",
            rich_help_panel=_CHOICE,
        ),
    ] = "",
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="GloVe vectors for the LSTM and ProSeNet; without them they learn their own.",
            rich_help_panel=_CHOICE,
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of texts.", rich_help_panel=_TABLE),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of labels.", rich_help_panel=_TABLE),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="Column that says 'train' or 'test'. Without it a fifth is held out for testing.",
            rich_help_panel=_TABLE,
        ),
    ] = "split",
    device: Annotated[
        str,
        typer.Option(metavar="DEVICE", help="'auto', 'cpu' or 'cuda'.", rich_help_panel=_RUN),
    ] = "auto",
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Hardly train, on a few documents, to see that everything works.",
            rich_help_panel=_RUN,
        ),
    ] = False,
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="DIR", help="Folder to write to.", rich_help_panel=_RUN
        ),
    ] = Path("bench/results"),
    from_records: Annotated[
        bool,
        typer.Option(
            "--from-records",
            help="Measure nothing; write the pages from the records in OUT.",
            rich_help_panel=_RUN,
        ),
    ] = False,
) -> None:
    """Measure the tables and figures of the paper, or compare models on a table of your own.

    What is measured is kept in OUT/records, so a run that was stopped goes on with the same
    command and nothing is trained twice. OUT then holds every table as Markdown and as a page for
    the browser; results.md (recipe) and paper-tables.md (all) are written beside it.

    **Example:** `protorynet bench reviews.csv --label stars`, or
    `protorynet bench table1 --data data --sets imdb,hotel`
    """
    from protorynet_lab.bench import Request

    request = Request(
        what=what,
        out=out,
        data=data,
        sets=_words(sets),
        models=_words(models),
        seeds=_whole_numbers(seeds),
        encoders=_words(encoders) or (),
        judges=_words(judge) or (),
        device=device,
        vectors=vectors,
        text=text,
        label=label,
        split=split,
        quick=quick,
    )
    failed = 0 if from_records else _measure(request)
    _show(request)
    if failed:
        note(f"{failed} job{'s' * (failed > 1)} failed; the same command tries again")
        raise typer.Exit(1)


def _measure(request: Request) -> int:
    from protorynet_lab.bench import make_plan

    plan = make_plan(request)
    if request.out.exists() and not request.out.is_dir():
        raise InputError(f"--out {request.out} is a file; give a folder to write to.")
    check_writable(request.records / "any")
    try:
        from protorynet_lab.bench import run_plan

        return run_plan(plan)
    except KeyboardInterrupt:
        note(f"stopped. What is measured is in {request.records}; the same command goes on there.")
        raise typer.Exit(130) from None


def _show(request: Request) -> None:
    from rich.text import Text

    from protorynet_lab.bench import Experiment, measurements_of, print_blocks, write_pages

    pages = write_pages(request)
    console = result_console()
    experiments = measurements_of(request)
    if len(experiments) == 1 and isinstance(experiments[0], Experiment):
        print_blocks(experiments[0].title, pages.blocks[experiments[0].name], console)
    console.print("Written:")
    for path in pages.files:
        console.print(Text(f"  {path}"), soft_wrap=True)


def _words(given: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return tuple(word.strip() for word in given.split(",") if word.strip())


def _whole_numbers(given: str | None) -> tuple[int, ...] | None:
    words = _words(given)
    if words is None:
        return None
    numbers = [int(w) for w in words if w.isascii() and w.isdecimal() and len(w) <= len(str(_MOST))]
    if len(numbers) < len(words) or any(number > _MOST for number in numbers):
        raise InputError(
            f"--seeds {given!r} should be whole numbers from 0 to {_MOST}, such as 0,1,2."
        )
    return tuple(numbers)
