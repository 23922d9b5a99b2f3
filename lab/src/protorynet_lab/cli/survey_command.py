"""`protorynet survey`: ask people whether a model's prototypes make sense to them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from protorynet.cli import (
    AsJson,
    EncoderElsewhere,
    LabelColumn,
    SplitName,
    TextColumn,
    check_writable,
    load_classifier,
    note,
    print_json,
    read_documents,
    result_console,
)
from protorynet.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from protorynet_lab.survey import Storage, Survey

__all__ = ["survey"]

_QUESTIONS = "The questions"
_NEEDED = ("fastapi", "uvicorn", "python_multipart", "sqlalchemy", "alembic")

survey = typer.Typer(
    help="Ask people whether a model's prototypes make sense to them.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

SurveyName = Annotated[
    str | None,
    typer.Argument(
        metavar="SURVEY",
        help="Survey's file, as made by `create`, or the id of one in the database; may be left "
        "out where the database holds only one.",
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="Where answers are kept: an SQLite file, or postgresql://user:password@host/name. "
        "By default SURVEY.sqlite beside the survey's file.",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="URL",
        help="What participants reach the server by, such as https://survey.example.org, where "
        "that is another address than the server's own.",
    ),
]


@survey.command()
def create(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL…",
            help="Model directories. Of several, each participant is asked about one, at random.",
        ),
    ],
    data: Annotated[
        Path,
        typer.Option(metavar="TABLE", help="Table of labelled texts, best unseen in training."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="File to write, for you to read and mend. By default survey.json, unless "
            "--database is given.",
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Put the survey into this database at once."),
    ] = None,
    title: Annotated[
        str, typer.Option(help="What participants see as its name.", rich_help_panel=_QUESTIONS)
    ] = "How does a program read?",
    questions: Annotated[
        int,
        typer.Option(min=0, max=100, help="Which prototype fits?", rich_help_panel=_QUESTIONS),
    ] = 10,
    diagnoses: Annotated[
        int,
        typer.Option(min=0, max=50, help="What went wrong?", rich_help_panel=_QUESTIONS),
    ] = 3,
    trajectories: Annotated[
        int,
        typer.Option(min=0, max=50, help="Which trajectory fits?", rich_help_panel=_QUESTIONS),
    ] = 4,
    seed: Annotated[
        int,
        typer.Option(
            min=0, help="The same seed makes the same survey.", rich_help_panel=_QUESTIONS
        ),
    ] = 0,
    called: Annotated[
        list[str] | None,
        typer.Option(
            "--call",
            metavar="LABEL=WORDS",
            help="What participants read in place of a label, such as --call 0=negative.",
            rich_help_panel=_QUESTIONS,
        ),
    ] = None,
    text: TextColumn = None,
    label: LabelColumn = None,
    split: SplitName = None,
    encoder: EncoderElsewhere = None,
    as_json: AsJson = False,
) -> None:
    """Make the questions of the paper's study from models and a table of texts.

    Which prototype fits a sentence (and how easy it was to tell); which sentence misled the model;
    which trajectory fits a text. Rows with split 'test' are used where the table has such.

    **Example:** `protorynet survey create model --data reviews.csv -o survey.json`
    """
    _check_installed()
    names = _label_names(called or [])
    if output is None and database is None:
        output = Path("survey.json")
    if output is not None:
        if output.suffix.lower() != ".json":
            raise InputError(f"-o {output} should end in .json.")
        check_writable(output)
    from protorynet_lab.survey import Counts, Storage, survey_of_models, write_survey

    table = read_documents(
        data, text=text, label=label, split=split, prefer_split="test", skip_empty=True
    )
    assert table.labels is not None
    made, remarks = survey_of_models(
        {name: load_classifier(path, encoder=encoder) for name, path in _named(models).items()},
        table.texts,
        table.labels,
        rows=table.rows.tolist(),
        title=title,
        seed=seed,
        counts=Counts(questions, diagnoses, trajectories),
        names=names,
    )
    for remark in remarks:
        note(remark)
    if output is not None:
        write_survey(made, output)
    if database is not None:
        storage = Storage(database)
        try:
            storage.keep_survey(made)
        finally:
            storage.close()
    _say_made(made, output, database, as_json=as_json)


@survey.command()
def serve(
    name: SurveyName = None,
    database: Database = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = 8000,
    address: Address = None,
) -> None:
    """Let people take a survey: print the invitation link, and serve the pages until Ctrl-C.

    Every answer is stored before the next page is shown. Answers cannot be read over the network.

    **Example:** `protorynet survey serve survey.json --host 0.0.0.0`
    """
    storage, found = _opened(name, database)
    from protorynet_lab.survey import listening_at, serve_survey

    with listening_at(host, port) as (listener, own):
        link = f"{_base(address or own)}/survey/join/{storage.first_invitation(found.id).token}"
        print(f"Invitation link: {link}", flush=True)
        note("Send this link to your participants. Ctrl-C ends the server; no answer is lost.")
        serve_survey(storage, listener)


@survey.command()
def invite(
    name: SurveyName = None,
    database: Database = None,
    address: Address = None,
    count: Annotated[int, typer.Option(min=1, max=10_000, help="How many links.")] = 1,
) -> None:
    """Print further invitation links, such as one for each group of people you ask.

    **Example:** `protorynet survey invite survey.json --address https://survey.example.org`
    """
    storage, found = _opened(name, database)
    base = _base(address or "http://127.0.0.1:8000")
    for _ in range(count):
        print(f"{base}/survey/join/{storage.invite(found.id).token}")
    storage.close()


@survey.command()
def export(
    name: SurveyName = None,
    database: Database = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Table to write (.csv).")
    ] = Path("answers.csv"),
) -> None:
    """Write all answers to a table, one row each.

    Answers of automatic participants name their judge in the column 'automatic'.

    **Example:** `protorynet survey export survey.json -o answers.csv`
    """
    if output.suffix.lower() != ".csv":
        raise InputError(f"-o {output} should end in .csv.")
    check_writable(output)
    storage, found = _opened(name, database)
    from protorynet.files import write_atomically
    from protorynet_lab.survey import responses_csv

    responses = storage.responses(found.id)
    storage.close()
    write_atomically(output, responses_csv(responses))
    note(f"{len(responses):,} answers written to {output}")


@survey.command()
def analyse(
    name: SurveyName = None,
    database: Database = None,
    least_seconds: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Leave out people who took less than this per question, in the mean; the paper's "
            "limit is 15.",
        ),
    ] = 0.0,
    with_unfinished: Annotated[
        bool, typer.Option("--with-unfinished", help="Also people who did not answer everything.")
    ] = False,
    with_automatic: Annotated[
        bool,
        typer.Option(
            "--with-automatic", help="Show automatic participants, as a group of their own."
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="Folder for the figures (SVG), a page with them and all numbers (JSON).",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how far people agree with the models and with each other.

    Means and standard errors by group and model, Welch's t-tests, Krippendorff's alpha, and the
    paper's figures.

    **Example:** `protorynet survey analyse survey.json --least-seconds 15 -o results`
    """
    if output is not None:
        check_writable(output)
    storage, found = _opened(name, database)
    from protorynet_lab.survey import analyse as analyse_responses

    analysis = analyse_responses(
        storage.responses(found.id),
        models=[model.name for model in found.models],
        least_seconds=least_seconds,
        with_unfinished=with_unfinished,
        with_automatic=with_automatic,
    )
    storage.close()
    if output is not None:
        from protorynet_lab.survey import write_analysis

        for path in write_analysis(analysis, output, title=found.title):
            note(f"written: {path}")
    if as_json:
        print_json(analysis.to_dict())
        return
    from protorynet_lab.survey import print_analysis

    print_analysis(analysis, result_console())


@survey.command("dry-run")
def dry_run(
    name: SurveyName = None,
    database: Database = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Encoder that answers; by default one that the model was not made with.",
        ),
    ] = None,
) -> None:
    """Let an independent encoder take the survey once for each model, before people do.

    Its answers are marked as automatic everywhere, and left out of the analysis unless asked for
    with --with-automatic.

    **Example:** `protorynet survey dry-run survey.json --judge gte-small`
    """
    storage, found = _opened(name, database)
    from protorynet_lab.survey import take_automatically

    taken = take_automatically(storage, found, judge=judge)
    storage.close()
    for participant in taken:
        note(f"{participant.model}: answered by an automatic participant ({participant.judge})")


def _opened(name: str | None, database: str | None) -> tuple[Storage, Survey]:
    _check_installed()
    from protorynet_lab.survey import open_survey

    return open_survey(name, database)


def _say_made(made: Survey, output: Path | None, database: str | None, *, as_json: bool) -> None:
    if as_json:
        counts = {model.name: len(model.questions) for model in made.models}
        file = None if output is None else str(output)
        print_json({"survey": file, "id": made.id, "questions": counts})
        return
    from protorynet_lab.survey import TASKS

    where = str(output) if output is not None else f"the database, as {made.id}"
    console = result_console()
    console.print(f"Survey written to {where}.", soft_wrap=True, markup=False)
    for model in made.models:
        counts_by_task = ", ".join(f"{len(model.of(task))} {task}" for task in TASKS)
        console.print(f"  {model.name}: {counts_by_task}", soft_wrap=True, markup=False)
    start = f"{output}" if output is not None else f"{made.id} --database …"
    console.print(
        f"Read it through, then start with: protorynet survey serve {start}",
        soft_wrap=True,
        markup=False,
    )


def _named(models: list[Path]) -> dict[str, Path]:
    """Name models after their folders, and after the folders above where these are the same."""
    from protorynet.server import model_name

    named: dict[str, Path] = {}
    short = [model_name(path) for path in models]
    for path, name in zip(models, short, strict=True):
        full = path.absolute()
        own = name if short.count(name) == 1 else f"{model_name(full.parent)}-{name}"
        if own in named:
            raise InputError(f"two models are called {own!r}; give folders of different names.")
        named[own] = path
    return named


def _label_names(given: list[str]) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in given]
    for label, _, words in pairs:
        if not label or not words:
            raise InputError(f"--call {label!r} should be LABEL=WORDS, such as 0=negative.")
    return {label: words for label, _, words in pairs}


def _base(address: str) -> str:
    if not address.startswith(("http://", "https://")):
        raise InputError(f"--address {address!r} should begin with http:// or https://.")
    return address.rstrip("/")


def _check_installed() -> None:
    for package in _NEEDED:
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError("The survey", package, extra="server")
