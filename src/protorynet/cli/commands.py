"""The commands put together, and how every one of them ends."""

import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Annotated

import typer

from protorynet import __version__
from protorynet.cli.assess_commands import audit, demo, evaluate, report
from protorynet.cli.edit_command import EditCommand, edit
from protorynet.cli.explain_command import automaton, explain, prototypes
from protorynet.cli.fit_command import fit
from protorynet.cli.output import end_badly, note, silence_output
from protorynet.cli.predict_command import export, predict
from protorynet.cli.serve_command import keys, serve
from protorynet.cli.upkeep_commands import cache, encoders
from protorynet.errors import MissingExtraError

app = typer.Typer(
    name="protorynet",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"protorynet {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with `protorynet demo`, or with `protorynet fit reviews.csv -o model`.")
def protorynet(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Classify texts and show the reasons.

    Every sentence of a text is matched to one prototype, a real sentence of the training data;
    the sequence of prototypes decides the label, and can be read.
    """


_LABORATORY = {
    "bench": "Measure the paper's tables, or compare models on a table of your own.",
    "datasets": "Prepare the data sets of the paper.",
    "survey": "Ask people how they read explanations.",
}


def _add_laboratory(app: typer.Typer) -> None:
    """Add the commands of the distribution ``protorynet-lab``."""
    installed = entry_points(group="protorynet.commands")
    for entry in installed:
        entry.load()(app)
    if not installed:
        for name, text in _LABORATORY.items():
            _add_placeholder(app, name, text)


def _add_placeholder(app: typer.Typer, name: str, text: str) -> None:
    @app.command(
        name,
        help=f"{text} Needs `pip install 'protorynet[lab]'`.",
        rich_help_panel="Compare",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )
    def say_what_to_install() -> None:
        raise MissingExtraError(f"`protorynet {name}`", "protorynet-lab", extra="lab")


_COMMANDS = {
    "Start here": (demo,),
    "Make and use a model": (fit, predict, evaluate, serve, export),
    "Look inside a model": (explain, prototypes, automaton, audit, report),
}
for _panel, _commands in _COMMANDS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
_add_laboratory(app)
app.command(cls=EditCommand, rich_help_panel="Upkeep")(edit)
app.command(rich_help_panel="Upkeep")(cache)
app.command(rich_help_panel="Upkeep")(encoders)
app.add_typer(keys, name="keys", rich_help_panel="Upkeep")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 1 the work failed, 2 bad usage or input.

    Parameters
    ----------
    arguments
        The words after ``protorynet``; by default those of the command line.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: note(f"warning: {message}")
        try:
            # Without a command there is nothing to do but to show what can be done.
            code = app(words or ["--help"], prog_name="protorynet", standalone_mode=False)
            sys.stdout.flush()
        except SystemExit as end:
            code = end.code
        except BrokenPipeError:
            silence_output()
            code = 1
        except typer.Abort:
            code = 130
        except Exception as error:
            code = end_badly(error)
    return code if isinstance(code, int) else 0
