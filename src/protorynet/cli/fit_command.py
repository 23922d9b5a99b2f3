"""`protorynet fit`: from a table to a model directory."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from protorynet.cli.command_inputs import (
    AsJson,
    LabelColumn,
    SkipEmpty,
    SplitName,
    TextColumn,
    naming_rows,
    read_documents,
)
from protorynet.cli.output import WorkFailed, check_writable, note, print_json, result_console
from protorynet.errors import InputError

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.data import Table

__all__ = ["fit"]

_MODEL = "The model"
_RUN = "The run"
_LARGE = "Large data"
_ENCODING = "split and encode"


def fit(
    train: Annotated[
        Path,
        typer.Argument(metavar="TRAIN", help="Table: .csv, .tsv, .jsonl (also .gz) or .parquet."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="MODEL", help="Model directory to make.")
    ],
    text: TextColumn = None,
    label: LabelColumn = None,
    split: SplitName = None,
    skip_empty: SkipEmpty = False,
    encoder: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="'minilm', which comes along, or the name or folder of any "
            "sentence-transformers model; ':bf16', ':int8' or ':static' after it are faster, and "
            "'auto' takes the form of minilm that suits the machine (`protorynet encoders`).",
            rich_help_panel=_MODEL,
        ),
    ] = "minilm",
    settings: Annotated[
        str,
        typer.Option(
            metavar="PRESET|FILE",
            help="'default', 'paper', or a TOML or JSON file of settings.",
            rich_help_panel=_MODEL,
        ),
    ] = "default",
    prototypes: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Prototypes to begin with, before pruning.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    max_prototypes: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Most prototypes that pruning may leave; 20 by default.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    encoder_training: Annotated[
        Literal["none", "adapter", "full"] | None,
        typer.Option(
            help="The encoder as it is, with a small adapter on top (default), or trained itself.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    splitter: Annotated[
        Literal["sentencex", "paper"],
        typer.Option(
            help="How to find sentences: a real splitter, or the paper's rule.",
            rich_help_panel=_MODEL,
        ),
    ] = "sentencex",
    seed: Annotated[
        int,
        typer.Option(metavar="N", help="The same seed gives the same model.", rich_help_panel=_RUN),
    ] = 0,
    device: Annotated[
        str,
        typer.Option(metavar="DEVICE", help="'auto', 'cpu' or 'cuda'.", rich_help_panel=_RUN),
    ] = "auto",
    no_cache: Annotated[
        bool,
        typer.Option("--no-cache", help="Keep no embeddings on disk.", rich_help_panel=_RUN),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with a run that was stopped.", rich_help_panel=_RUN),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace a model that exists.", rich_help_panel=_RUN),
    ] = False,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(
            help="This process alone, or Ray: its workers train the encoder together "
            "(--encoder-training full) or else encode the texts, and the rest is done here.",
            rich_help_panel=_LARGE,
        ),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="The Ray cluster; MODEL should then lie where all its machines can write. "
            "Without it, Ray starts on this machine.",
            rich_help_panel=_LARGE,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Processes that train the encoder together; by default one per GPU or, without "
            "any, one per machine.",
            rich_help_panel=_LARGE,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model on a table of labelled texts.

    Rows with split 'train' are used where the table has such; part of them is held out to stop,
    prune and choose. A run that is stopped goes on with --resume.

    **Example:** `protorynet fit reviews.csv --text review --label stars -o model`
    """
    if engine == "local" and (address is not None or workers is not None):
        raise InputError("--address and --workers need --engine ray.")
    _check_output(output, force=force)
    checkpoint = output.with_name(output.name + ".checkpoint")
    _tell_about_checkpoint(checkpoint, resume=resume)
    try:
        begin = time.perf_counter()
        table = read_documents(
            train, text=text, label=label, split=split, prefer_split="train", skip_empty=skip_empty
        )
        read_seconds = time.perf_counter() - begin

        from protorynet.classifier import ProtoryNetClassifier

        classifier = ProtoryNetClassifier(
            _chosen_encoder(encoder, encoder_training or settings, device),
            settings=settings,
            n_prototypes=prototypes,
            max_prototypes=max_prototypes,
            encoder_training=encoder_training,
            splitter=splitter,
            on_empty="skip" if skip_empty else "error",
            random_state=seed,
            device=device,
            cache=not no_cache,
            verbose=True,
        )
        begin = time.perf_counter()
        with naming_rows(table):
            if engine == "ray":
                from protorynet.ray_training import fit_with_ray

                fit_with_ray(
                    classifier,
                    table.texts,
                    table.labels,
                    address=address,
                    workers=workers,
                    checkpoint=checkpoint,
                    resume=resume,
                )
            else:
                classifier.fit(table.texts, table.labels, checkpoint=checkpoint, resume=resume)
        seconds = _seconds(read_seconds, time.perf_counter() - begin, classifier)
        _count_rows_as_in_file(classifier, table)
        classifier.save(output)
    except KeyboardInterrupt:
        note(f"stopped. Go on with the same command and --resume.{_kept(checkpoint)}")
        raise typer.Exit(130) from None
    except OSError as error:
        reason = f"{error.strerror or error}: {error.filename or output}."
        raise WorkFailed(f"the model was not saved ({reason[:-1]}).{_kept(checkpoint)}") from error
    from protorynet.training import clear_checkpoint

    clear_checkpoint(checkpoint)
    if classifier.n_skipped_:
        note(f"left out {classifier.n_skipped_:,} documents that hold no sentence")
    if as_json:
        print_json(_summary(output, classifier, seconds))
    else:
        _print_summary(output, train, classifier, seconds)


def _chosen_encoder(encoder: str, training: str, device: str) -> str:
    """Return the name of the encoder; what 'auto' stands for is told."""
    if encoder != "auto":
        return encoder
    from protorynet.encoders import EncoderChoice, choose_encoder
    from protorynet.settings import load_settings

    if training not in ("none", "adapter", "full"):
        training = load_settings(training).encoder_training
    choice = choose_encoder(device)
    if training == "full":
        choice = EncoderChoice("minilm", "full training changes the weights, which takes float32")
    note(
        f"encoder {choice.name!r}: {choice.reason}. `protorynet encoders` shows the others, "
        "--encoder NAME takes one."
    )
    return choice.name


def _check_output(output: Path, *, force: bool) -> None:
    """Refuse, before any work, a place where the model cannot or should not be saved."""
    if output.exists() or output.is_symlink():
        if not force:
            raise InputError(
                f"{output} exists already. Choose another name, or replace it with --force."
            )
        from protorynet.storage import check_free

        check_free(output)
    check_writable(output)


def _tell_about_checkpoint(checkpoint: Path, *, resume: bool) -> None:
    if resume and not checkpoint.exists():
        note(f"there is no {checkpoint} to go on from; starting from the beginning")
    elif checkpoint.exists() and not resume:
        note(f"starting anew: {checkpoint} of an earlier run is not used (--resume would)")


def _kept(checkpoint: Path) -> str:
    return f" The epochs done are kept in {checkpoint}." if checkpoint.exists() else ""


def _seconds(reading: float, fitting: float, classifier: ProtoryNetClassifier) -> dict[str, float]:
    """Return the seconds of each stage; what is not training was spent on the sentences."""
    stages = classifier.model_.training.seconds
    encoding = max(0.0, fitting - sum(stages.values()))
    return {"read": reading, _ENCODING: encoding, **stages}


def _count_rows_as_in_file(classifier: ProtoryNetClassifier, table: Table) -> None:
    """Let prototypes name the rows of the file, of which only some may have been read."""
    model = classifier.model_
    classifier.model_ = replace(model, prototypes=model.prototypes.with_rows(table.rows))


def _summary(
    output: Path, classifier: ProtoryNetClassifier, seconds: dict[str, float]
) -> dict[str, object]:
    return {
        "model": str(output),
        "validation_accuracy": classifier.model_.training.validation_accuracy,
        "n_prototypes": len(classifier.prototypes_),
        "seconds": {stage: round(value, 3) for stage, value in seconds.items()},
    }


def _print_summary(
    output: Path, train: Path, classifier: ProtoryNetClassifier, seconds: dict[str, float]
) -> None:
    from shlex import quote

    from rich.text import Text

    console = result_console()
    training = classifier.model_.training
    total = sum(seconds.values())
    console.print(
        Text.assemble(
            "Accuracy ",
            (f"{training.validation_accuracy:.1%}", "bold"),
            f" on held-out documents, with {len(classifier.prototypes_)} prototypes, from "
            f"{training.n_documents:,} documents.",
        )
    )
    stages = ", ".join(f"{stage} {value:.1f}" for stage, value in seconds.items())
    share = seconds[_ENCODING] / total if total else 0.0
    timing = f"{total:.1f} seconds, {share:.0%} of them encoding ({stages})."
    console.print(Text(timing, style="dim"))
    console.print("Next:")
    model = quote(str(output))
    for words in (
        f"prototypes {model}",
        f'explain {model} "Write a text here."',
        f"evaluate {model} UNSEEN{train.suffix}",
    ):
        console.print(Text(f"  protorynet {words}", style="bold"), soft_wrap=True)
