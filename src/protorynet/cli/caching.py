"""`protorynet cache`: the embeddings kept on disk."""

from __future__ import annotations

from typing import Annotated

import typer

from protorynet.cli.output import result_console

__all__ = ["cache"]


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all embeddings kept.")] = False,
) -> None:
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
