"""`protorynet cache` and `encoders`: what lies on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from protorynet.cli.command_inputs import with_options
from protorynet.cli.output import print_json, result_console

if TYPE_CHECKING:
    from protorynet.encoders import EncoderChoice, ListedEncoder


@with_options
def cache(clear: bool = False) -> None:
    """Show where embeddings are kept and how much room they take.

    No sentence is encoded twice by the same encoder, so a second run is quick. The place and the
    limit are set with the environment variables PROTORYNET_CACHE and PROTORYNET_CACHE_LIMIT (such
    as 500MB).

    **Example:** `protorynet cache --clear`
    """
    from rich.filesize import decimal
    from rich.text import Text

    from protorynet.encoders import EmbeddingCache

    kept = EmbeddingCache()
    console = result_console()
    if clear:
        console.print(Text(f"Removed {decimal(kept.clear())} from {kept.folder}"), soft_wrap=True)
        return
    console.print(Text(f"Folder  {kept.folder}"), soft_wrap=True)
    console.print(f"Size    {decimal(kept.size())}")
    console.print(f"Limit   {decimal(kept.limit_bytes)}")


@with_options
def encoders(device: str = "auto", as_json: bool = False) -> None:
    """List the sentence encoders of this machine, and measure how fast each is on it now.

    minilm comes along, in float32 and in faster forms; others are found in the folders that the
    environment variable PROTORYNET_ENCODERS lists. Any of them may be asked for as NAME:bf16,
    NAME:int8 or NAME:static. The star is what `--encoder auto` takes.

    **Example:** `protorynet encoders`, then
    `protorynet fit reviews.csv --encoder minilm:bf16 -o model`
    """
    from protorynet.encoders import choose_encoder, list_encoders

    choice = choose_encoder(device)
    listed = list_encoders(device=device, progress=True)
    if as_json:
        print_json({"auto": asdict(choice), "encoders": [asdict(each) for each in listed]})
        return
    _print_table(listed, choice)


def _print_table(listed: list[ListedEncoder], choice: EncoderChoice) -> None:
    from rich import box
    from rich.filesize import decimal
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("")
    widest = max(len(each.name) for each in listed)
    table.add_column("Name", overflow="fold", min_width=min(widest, 24))
    for heading in ("Width", "Tokens", "Sentences/s", "Speed", "Size"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Licence")
    for each in listed:
        table.add_row(
            "*" if each.name == choice.name else "",
            Text(each.name, "bold"),
            str(each.dimension or "–"),
            str(each.window or "–"),
            f"{each.sentences_per_second:,.0f}" if each.sentences_per_second else "–",
            f"{each.relative:.1f}×" if each.relative else "–",
            decimal(each.bytes_on_disk) if each.bytes_on_disk else "–",
            Text(each.licence or "–"),
        )
    console = result_console()
    console.print(table)
    meaning = (
        "Width: numbers in a vector. Tokens: most that are read of a sentence. "
        "Speed: against the same encoder in float32, measured now."
    )
    console.print(Text(meaning, "dim"), soft_wrap=True)
    for each in listed:
        if each.remedy:
            console.print(Text(f"{each.name}: {each.remedy}"), soft_wrap=True)
    console.print(Text(f"* --encoder auto takes {choice.name}: {choice.reason}."), soft_wrap=True)
