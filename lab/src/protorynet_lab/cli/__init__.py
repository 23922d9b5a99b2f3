"""The laboratory's commands, which appear under ``protorynet``."""

import typer

from protorynet_lab.cli.bench_command import bench
from protorynet_lab.cli.datasets_command import datasets
from protorynet_lab.cli.survey_command import survey


def add_commands(app: typer.Typer) -> None:
    """Add them to the command line of the product."""
    app.command(rich_help_panel="Compare")(bench)
    app.add_typer(datasets, name="datasets", rich_help_panel="Compare")
    app.add_typer(survey, name="survey", rich_help_panel="Compare")
