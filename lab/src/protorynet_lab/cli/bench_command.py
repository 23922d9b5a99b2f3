"""`protorynet bench`: the paper's tables measured again, and models compared on one's own table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protorynet.cli import check_writable, note, result_console
from protorynet.errors import InputError

if TYPE_CHECKING:
    from protorynet_lab.bench import Request


_CHOICE, _TABLE, _RUN = "What to measure", "The table", "The run"
_LARGEST_SEED = 2**32 - 1  # as scikit-learn takes for a seed


def _option(panel: str, metavar: str, words: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=words, rich_help_panel=panel)


def _flag(name: str, words: str) -> Any:
    return typer.Option(name, help=words, rich_help_panel=_RUN)


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
        _option(
            _CHOICE,
            "NAMES",
            "Data sets, joined by commas. By default those of the experiment that DIR holds.",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        _option(
            _CHOICE,
            "NUMBERS",
            "Seeds, joined by commas. By default 0,1,2; for a table of your own, 0.",
        ),
    ] = None,
    models: Annotated[
        str | None,
        _option(
            _CHOICE,
            "NAMES",
            "full, adapter, none, single-full, single, single-none, paper, paper-full, "
            "transformer, prosenet, protoattend, lstm, bag-of-words, bag-of-words-paper, "
            "ceiling-full, ceiling-adapter, ceiling-none. By default those of the experiment.",
        ),
    ] = None,
    encoders: Annotated[str, _option(_CHOICE, "NAMES", "Names or folders of encoders.")] = "minilm",
    judge: Annotated[
        str,
        _option(
            _CHOICE,
            "NAMES",
            "Encoders that judge matches; the first that is not the model's own is asked.",
        ),
    ] = "",
    vectors: Annotated[
        Path | None,
        _option(
            _CHOICE,
            "PATH",
            "GloVe vectors for the LSTM and ProSeNet; without them they learn their own.",
        ),
    ] = None,
    text: Annotated[str | None, _option(_TABLE, "COLUMN", "Column of texts.")] = None,
    label: Annotated[str | None, _option(_TABLE, "COLUMN", "Column of labels.")] = None,
    split_column: Annotated[
        str,
        _option(
            _TABLE,
            "COLUMN",
            "Column that says 'train' or 'test'. Without it a fifth is held out for testing.",
        ),
    ] = "split",
    device: Annotated[str, _option(_RUN, "DEVICE", "'auto', 'cpu' or 'cuda'.")] = "auto",
    quick: Annotated[
        bool, _flag("--quick", "Hardly train, on a few documents, to see that everything works.")
    ] = False,
    out: Annotated[Path, _option(_RUN, "DIR", "Folder to write to.", "-o", "--out")] = Path(
        "bench/results"
    ),
    from_records: Annotated[
        bool, _flag("--from-records", "Measure nothing; write the pages from the records in OUT.")
    ] = False,
) -> None:
    """Measure the tables and figures of the paper, or compare models on a table of your own.

    What is measured is kept in OUT/records, so a run that was stopped resumes with the same
    command and nothing is trained twice. OUT then holds every table as Markdown and as a page for
    the browser; results.md (recipe) and paper-tables.md (all) are written beside it.

    **Example:** `protorynet bench reviews.csv --label stars`, or
    `protorynet bench table1 --data data --sets imdb,hotel`
    """
    from rich.text import Text

    from protorynet_lab.bench import Request, print_blocks, write_pages

    request = Request(
        what=what,
        out=out,
        data=data,
        sets=_split_words(sets),
        models=_split_words(models),
        seeds=_parse_seeds(seeds),
        encoders=_split_words(encoders) or (),
        judges=_split_words(judge) or (),
        device=device,
        vectors=vectors,
        text=text,
        label=label,
        split=split_column,
        quick=quick,
    )
    failed = 0 if from_records else _measure(request)
    pages = write_pages(request)
    console = result_console()
    if pages.blocks:
        print_blocks(pages.title, pages.blocks, console)
    console.print("Written:")
    for path in pages.files:
        console.print(Text(f"  {path}"), soft_wrap=True)
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
        note(f"stopped. What is measured is in {request.records}; the same command resumes there.")
        raise typer.Exit(130) from None


def _split_words(given: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return tuple(word.strip() for word in given.split(",") if word.strip())


def _parse_seeds(given: str | None) -> tuple[int, ...] | None:
    words = _split_words(given)
    if words is None:
        return None
    numbers = [int(word) for word in words if word.isascii() and word.isdecimal()]
    if len(numbers) < len(words) or any(number > _LARGEST_SEED for number in numbers):
        raise InputError(
            f"--seeds {given!r} should be whole numbers from 0 to {_LARGEST_SEED}, such as 0,1,2."
        )
    return tuple(numbers)
