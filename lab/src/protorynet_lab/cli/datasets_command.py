"""`protorynet datasets`: the data sets of the paper, and how to prepare them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from protorynet.cli import AsJson, check_writable, note, print_json, result_console
from protorynet.errors import InputError

if TYPE_CHECKING:
    from protorynet_lab.datasets import KnownDataset


_NAME = typer.Argument(metavar="NAME", help="Name of the data set, such as 'imdb'.")
_OUTPUT = typer.Option(
    "-o",
    "--output",
    metavar="FILE",
    help="Table to write, ending in .parquet: text, label and split.",
)
_SOURCE = typer.Option(
    "--from",
    metavar="PATH",
    help="The archive, file or folder in which the data set is published. Archives are read as "
    "they are and not unpacked to disk.",
)


class _NamesGroup(TyperGroup):
    """Commands among which any other word is the name of a data set."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Take `datasets imdb` for `datasets about imdb`."""
        is_name = bool(args) and args[0] not in self.commands and not args[0].startswith("-")
        return super().resolve_command(ctx, ["about", *args] if is_name else args)


datasets = typer.Typer(
    cls=_NamesGroup,
    invoke_without_command=True,
    rich_markup_mode="markdown",
    subcommand_metavar="[NAME | prepare NAME …]",
)


@datasets.callback()
def list_datasets(context: typer.Context, as_json: AsJson = False) -> None:
    """List the data sets of the paper, describe one, or prepare one as the paper did.

    **Example:** `protorynet datasets imdb`
    """
    if context.invoked_subcommand is not None:
        return
    from protorynet_lab.datasets import DATASETS

    if as_json:
        print_json({"datasets": [each.to_dict() for each in DATASETS]})
    else:
        _print_list(DATASETS)


@datasets.command()
def about(name: Annotated[str, _NAME], as_json: AsJson = False) -> None:
    """Describe one data set; `about` itself may be left out.

    **Example:** `protorynet datasets hotel`
    """
    from protorynet_lab.datasets import known_dataset

    dataset = known_dataset(name)
    if as_json:
        print_json(dataset.to_dict())
    else:
        _print_about(dataset)


@datasets.command()
def prepare(
    name: Annotated[str, _NAME],
    output: Annotated[Path, _OUTPUT],
    source: Annotated[Path | None, _SOURCE] = None,
    hub: Annotated[
        bool, typer.Option("--hub", help="Fetch it from the Hugging Face hub instead.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Make a published data set into one table, drawn, balanced and split as in the paper.

    **Example:** `protorynet datasets prepare imdb --from aclImdb_v1.tar.gz -o imdb.parquet`
    """
    from protorynet_lab.datasets import fetch_dataset, known_dataset, prepare_dataset

    dataset = known_dataset(name)
    if hub == (source is not None):
        raise InputError(
            "give either --from PATH, where the data set lies, or --hub to fetch it; "
            f"`protorynet datasets {name}` lists the files that are read."
        )
    if output.suffix.lower() != ".parquet":
        raise InputError(f"{output} should end in .parquet.")
    if output.is_dir():
        raise InputError(f"{output} is a directory; give the name of a file.")
    check_writable(output, *([] if source is None else [source]))
    if source is None:
        if dataset.hub is not None:
            note(f"Fetching {dataset.hub!r} from Hugging Face, as asked…")
        source = fetch_dataset(name)
    note(f"Reading {source}…")
    prepared = prepare_dataset(name, source, seed=seed)
    prepared.write(output)
    if as_json:
        print_json({"dataset": name, "file": str(output), "seed": seed, "counts": prepared.counts})
        return
    lines = [f"Wrote {len(prepared):,} of {prepared.n_found:,} documents to {output}"]
    for split, counts in prepared.counts.items():
        listed = ", ".join(f"{label}: {count:,}" for label, count in counts.items())
        lines.append(f"  {split:<5} {sum(counts.values()):>9,}   {listed}")
    lines.append(f"The paper: {dataset.size}.")
    result_console().print("\n".join(lines), soft_wrap=True, markup=False, highlight=False)


def _print_list(known: tuple[KnownDataset, ...]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Name", style="bold")
    table.add_column("Data set")
    table.add_column("Classes", justify="right")
    table.add_column("In the paper", justify="right")
    table.add_column("On the hub")
    for each in known:
        used, is_there = each.used or "not stated", "yes" if each.hub else "no"
        table.add_row(each.name, each.title, str(each.n_classes), used, is_there)
    console = result_console()
    console.print(table)
    console.print("protorynet datasets NAME describes one, and how to prepare it.")


def _print_about(dataset: KnownDataset) -> None:
    from rich.table import Table
    from rich.text import Text

    command = f"protorynet datasets prepare {dataset.name}"
    ways = ["--from PATH"] if dataset.hub is None else ["--from PATH", "--hub"]
    fields = {
        "Document": dataset.document,
        "Label": dataset.label,
        "Size": dataset.size,
        "Licence": dataset.licence,
        "Published": dataset.home,
        "Hub": dataset.hub or "no faithful copy",
        "In the paper": dataset.preparation,
        "Not the same": dataset.differences,
        "PATH": "\n".join(f"• {file}" for file in dataset.files),
        "Prepare": "\n".join(f"{command} {way} -o {dataset.name}.parquet" for way in ways),
    }
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for heading, value in fields.items():
        table.add_row(Text(heading, "bold"), Text(value))
    console = result_console()
    console.print(Text(f"{dataset.title}\n", "bold"))
    console.print(table)
