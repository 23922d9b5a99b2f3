"""`protorynet survey`: ask people whether a model's prototypes make sense to them."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

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
    parse_names,
    print_json,
    read_documents,
    result_console,
)
from protorynet.errors import InputError
from protorynet.files import write_atomically
from protorynet_lab import survey as surveys

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


def _question_option(*names: str, **settings: object) -> object:
    return typer.Option(*names, rich_help_panel="The questions", **settings)  # type: ignore[arg-type]


def _output_option(metavar: str, text: str) -> object:
    return typer.Option("-o", "--output", metavar=metavar, help=text)


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
        _output_option(
            "FILE",
            "File to write, for you to read and correct. By default survey.json, unless "
            "--database is given.",
        ),
    ] = None,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="Put the survey into this database at once.")
    ] = None,
    title: Annotated[
        str, _question_option(help="What participants see as its name.")
    ] = "How does a program read?",
    questions: Annotated[int, _question_option(min=0, max=100, help="Which prototype fits?")] = 10,
    diagnoses: Annotated[int, _question_option(min=0, max=50, help="What went wrong?")] = 3,
    trajectories: Annotated[
        int, _question_option(min=0, max=50, help="Which trajectory fits?")
    ] = 4,
    seed: Annotated[int, _question_option(min=0, help="The same seed makes the same survey.")] = 0,
    called: Annotated[
        list[str] | None,
        _question_option(
            "--call",
            metavar="LABEL=NAME",
            help="What participants read in place of a label, such as --call 0=negative.",
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
    names = parse_names("--call", called or [])
    if output is None and database is None:
        output = Path("survey.json")
    if output is not None:
        if output.suffix.lower() != ".json":
            raise InputError(f"-o {output} should end in .json.")
        if output.exists():
            # It may have been corrected by hand, and people may be answering it.
            raise InputError(f"{output} exists already. Choose another name, or remove it.")
        check_writable(output)
    table = read_documents(
        data, text=text, label=label, split=split, prefer_split="test", skip_empty=True
    )
    assert table.labels is not None
    made, remarks = surveys.survey_of_models(
        {name: load_classifier(path, encoder=encoder) for name, path in _name(models).items()},
        table.texts,
        table.labels,
        rows=table.rows.tolist(),
        title=title,
        seed=seed,
        counts=surveys.Counts(questions, diagnoses, trajectories),
        names=names,
    )
    for remark in remarks:
        note(remark)
    if output is not None:
        surveys.write_survey(made, output)
    if database is not None:
        with closing(surveys.Storage(database)) as storage:
            storage.keep_survey(made)
    if as_json:
        counts = {model.name: len(model.questions) for model in made.models}
        file = None if output is None else str(output)
        print_json({"survey": file, "id": made.id, "questions": counts})
    else:
        _describe(made, output)


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
    with (
        surveys.open_survey(name, database) as (storage, found),
        surveys.listening_at(host, port) as (listener, own),
    ):
        base = _check_address(address or own)
        print(
            f"Invitation link: {base}/survey/join/{storage.first_invitation(found.id).token}",
            flush=True,
        )
        note("Send this link to your participants. Ctrl-C ends the server; no answer is lost.")
        surveys.serve_survey(storage, listener)


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
    with surveys.open_survey(name, database) as (storage, found):
        base = _check_address(address or "http://127.0.0.1:8000")
        for _ in range(count):
            print(f"{base}/survey/join/{storage.invite(found.id).token}")


@survey.command()
def export(
    name: SurveyName = None,
    database: Database = None,
    output: Annotated[Path, _output_option("FILE", "Table to write (.csv).")] = Path("answers.csv"),
) -> None:
    """Write all answers to a table, one row each.

    Answers of automatic participants name their judge in the column 'automatic'.

    **Example:** `protorynet survey export survey.json -o answers.csv`
    """
    if output.suffix.lower() != ".csv":
        raise InputError(f"-o {output} should end in .csv.")
    check_writable(output)
    with surveys.open_survey(name, database) as (storage, found):
        responses = storage.responses(found.id)
    write_atomically(output, surveys.responses_csv(responses))
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
            help="Leave out people who took less than this per question, in the mean; by default "
            "the paper's limit, and 0 keeps all.",
        ),
    ] = surveys.LEAST_SECONDS,
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
        _output_option(
            "FOLDER", "Folder for the figures (SVG), a page with them and all numbers (JSON)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how far people agree with the models and with each other.

    Means and standard errors by group and model, Welch's t-tests, Krippendorff's alpha, and the
    paper's figures.

    **Example:** `protorynet survey analyse survey.json -o results`
    """
    if output is not None:
        check_writable(output)
    with surveys.open_survey(name, database) as (storage, found):
        responses = storage.responses(found.id)
    analysis = surveys.analyse(
        responses,
        models=[model.name for model in found.models],
        least_seconds=least_seconds,
        with_unfinished=with_unfinished,
        with_automatic=with_automatic,
    )
    if output is not None:
        for path in surveys.write_analysis(analysis, output, title=found.title):
            note(f"written: {path}")
    if as_json:
        print_json(analysis.to_dict())
    else:
        surveys.print_analysis(analysis, result_console())


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
    with surveys.open_survey(name, database) as (storage, found):
        taken = surveys.take_automatically(storage, found, judge=judge)
    for participant in taken:
        note(f"{participant.model}: answered by an automatic participant ({participant.judge})")


def _describe(made: surveys.Survey, output: Path | None) -> None:
    where = f"the database, as {made.id}" if output is None else str(output)
    start = f"{made.id} --database …" if output is None else str(output)
    lines = [f"Survey written to {where}."]
    for model in made.models:
        counts = ", ".join(f"{len(model.of(task))} {task}" for task in surveys.TASKS)
        lines.append(f"  {model.name}: {counts}")
    lines.append(f"Read it through, then start with: protorynet survey serve {start}")
    result_console().print("\n".join(lines), soft_wrap=True, markup=False)


def _name(models: list[Path]) -> dict[str, Path]:
    """Name models after their folders, and after the folders above where these are the same."""
    from protorynet.server import model_name

    named: dict[str, Path] = {}
    short = [model_name(path) for path in models]
    for path, name in zip(models, short, strict=True):
        own = name if short.count(name) == 1 else f"{model_name(path.absolute().parent)}-{name}"
        if own in named:
            raise InputError(f"two models are called {own!r}; give folders of different names.")
        named[own] = path
    return named


def _check_address(address: str) -> str:
    if not address.startswith(("http://", "https://")):
        raise InputError(f"--address {address!r} should begin with http:// or https://.")
    return address.rstrip("/")
