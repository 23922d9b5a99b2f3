"""The laboratory's commands: its own where it is installed, else what to install."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from protorynet.errors import MissingExtraError

__all__ = ["add_laboratory"]

_COMMANDS = {
    "bench": "Measure the paper's tables, or compare models on a table of your own.",
    "datasets": "Prepare the data sets of the paper.",
    "survey": "Ask people how they read explanations.",
}


def add_laboratory(app: typer.Typer) -> None:
    """Add the commands of the distribution ``protorynet-lab``."""
    installed = entry_points(group="protorynet.commands")
    for entry in installed:
        entry.load()(app)
    if not installed:
        for name, text in _COMMANDS.items():
            _add_placeholder(app, name, text)


def _add_placeholder(app: typer.Typer, name: str, text: str) -> None:
    @app.command(
        name,
        help=f"{text} Needs `pip install 'protorynet[lab]'`.",
        rich_help_panel="Compare",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )
    def tell_what_to_install() -> None:
        raise MissingExtraError(f"`protorynet {name}`", "protorynet-lab", extra="lab")
