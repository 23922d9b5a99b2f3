"""`protorynet fit`: from a table to a model directory."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from protorynet.cli import command_inputs as inputs
from protorynet.cli.output import WorkFailed, note, print_json, result_console
from protorynet.errors import InputError

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier

_ENCODING = "split and encode"
_model_option = inputs.option_in("The model")
_run_option = inputs.option_in("The run")
_large_option = inputs.option_in("Large data")


def fit(
    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN", help="Table: .csv, .tsv, .jsonl (also .gz), .parquet or .xlsx."
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="MODEL", help="Model directory to make.")
    ],
    text: inputs.TextColumn = None,
    label: inputs.LabelColumn = None,
    split: inputs.SplitName = None,
    skip_empty: inputs.SkipEmpty = False,
    names: Annotated[
        str | None,
        inputs.table_option(
            metavar="LABEL=NAME,…", help="What to call labels, such as 0=negative,1=positive."
        ),
    ] = None,
    encoder: Annotated[
        str,
        _model_option(
            metavar="NAME",
            help="'minilm', which comes along, or the name or folder of any "
            "sentence-transformers model; ':bf16', ':int8' or ':static' after it are faster, and "
            "'auto' takes the form of minilm that suits the machine (`protorynet encoders`).",
        ),
    ] = "minilm",
    settings: Annotated[
        str,
        _model_option(
            metavar="PRESET|FILE", help="'default', 'paper', or a TOML or JSON file of settings."
        ),
    ] = "default",
    prototypes: Annotated[
        int | None, _model_option(metavar="K", help="Prototypes to begin with, before pruning.")
    ] = None,
    max_prototypes: Annotated[
        int | None,
        _model_option(metavar="K", help="Most prototypes that pruning may leave; 20 by default."),
    ] = None,
    encoder_training: Annotated[
        Literal["none", "adapter", "full"] | None,
        _model_option(
            help="The encoder as it is, with a small adapter on top (default), or trained itself."
        ),
    ] = None,
    class_weight: Annotated[
        Literal["auto", "balanced", "none"] | None,
        _model_option(
            help="What documents of rare classes count: more if the class is very rare (auto, the "
            "default), so much that all classes count alike, or no more than others."
        ),
    ] = None,
    splitter: Annotated[
        Literal["sentencex", "lines", "paper"],
        _model_option(
            help="How to find sentences: a real splitter, which joins wrapped lines; the same with "
            "every line on its own; or the paper's rule."
        ),
    ] = "sentencex",
    language: Annotated[
        str, _model_option(metavar="CODE", help="The texts' language, as in 'de', for splitting.")
    ] = "en",
    seed: Annotated[int, _run_option(metavar="N", help="The same seed gives the same model.")] = 0,
    device: Annotated[str, _run_option(metavar="DEVICE", help="'auto', 'cpu' or 'cuda'.")] = "auto",
    no_cache: Annotated[
        bool, _run_option("--no-cache", help="Keep no embeddings on disk.")
    ] = False,
    resume: Annotated[bool, _run_option("--resume", help="Resume a run that was stopped.")] = False,
    force: Annotated[bool, _run_option("--force", help="Replace a model that exists.")] = False,
    engine: Annotated[
        Literal["local", "ray"],
        _large_option(
            help="This process alone, or Ray: its workers train the encoder together "
            "(--encoder-training full) or else encode the texts, and the rest is done here."
        ),
    ] = "local",
    address: Annotated[
        str | None,
        _large_option(
            metavar="HOST:PORT",
            help="The Ray cluster; MODEL should then lie where all its machines can write. "
            "Without it, Ray starts on this machine.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        _large_option(
            metavar="N",
            help="Processes that train the encoder together; by default one per GPU or, without "
            "any, one per machine.",
        ),
    ] = None,
    verbose: inputs.Verbose = False,
    as_json: inputs.AsJson = False,
) -> None:
    """Train a model on a table of labelled texts.

    Rows with split 'train' are used where the table has such; part of them is held out to stop,
    prune and choose. A run that is stopped resumes with --resume.

    **Example:** `protorynet fit reviews.csv --text review --label stars -o model`
    """
    if engine == "local" and (address is not None or workers is not None):
        raise InputError("--address and --workers need --engine ray.")
    called = inputs.parse_names("--names", names.split(",")) if names else None
    inputs.check_new(output, replace=force)
    inputs.check_model_output(output)
    checkpoint = output.with_name(output.name + ".checkpoint")
    if resume and not checkpoint.exists():
        note(f"there is no {checkpoint} to resume from; starting from the beginning")
    elif checkpoint.exists() and not resume:
        note(f"starting again: {checkpoint} of an earlier run is not used (--resume would)")
    try:
        begin = time.perf_counter()
        table = inputs.read_documents(
            train, text=text, label=label, split=split, prefer_split="train", skip_empty=skip_empty
        )
        seconds = {"read": time.perf_counter() - begin}

        from protorynet.classifier import ProtoryNetClassifier

        classifier = ProtoryNetClassifier(
            _chosen_encoder(encoder, encoder_training or settings, device),
            settings=settings,
            n_prototypes=prototypes,
            max_prototypes=max_prototypes,
            encoder_training=encoder_training,
            class_weight=class_weight,
            splitter=splitter,
            language=language,
            on_empty="skip" if skip_empty else "error",
            class_names=called,
            random_state=seed,
            device=device,
            cache=not no_cache,
            verbose=True,
        )
        run = classifier.fit
        if engine == "ray":
            from protorynet.ray_training import fit_with_ray

            run = partial(fit_with_ray, classifier, address=address, workers=workers)
        begin = time.perf_counter()
        with inputs.naming_rows(table):
            run(table.texts, table.labels, checkpoint=checkpoint, resume=resume)
        fitting, model = time.perf_counter() - begin, classifier.model_
        # What is not training was spent on the sentences.
        stages = model.training.seconds
        seconds |= {_ENCODING: max(0.0, fitting - sum(stages.values())), **stages}
        # Prototypes name the rows of the file, of which only some may have been read.
        classifier.model_ = replace(model, prototypes=model.prototypes.with_rows(table.rows))
        classifier.save(output)
    except KeyboardInterrupt:
        note(f"stopped. Resume with the same command and --resume.{_say_what_is_kept(checkpoint)}")
        raise typer.Exit(130) from None
    except OSError as error:
        reason = f"{error.strerror or error}: {error.filename or output}"
        raise WorkFailed(
            f"the model was not saved ({reason}).{_say_what_is_kept(checkpoint)}"
        ) from error
    from protorynet.training import clear_checkpoint

    clear_checkpoint(checkpoint)
    inputs.note_left_out(classifier.n_skipped_)
    if as_json:
        record = classifier.model_.training
        summary = {
            "model": str(output),
            "validation_accuracy": record.validation_accuracy,
            "bag_of_words_accuracy": record.bag_of_words_accuracy,
            "n_prototypes": len(classifier.prototypes_),
            "seconds": {stage: round(value, 3) for stage, value in seconds.items()},
            "validation": record.figures.to_dict() if record.figures else None,
        }
        print_json(summary)
    else:
        _print_summary(output, train, classifier, seconds, verbose=verbose)


def _chosen_encoder(encoder: str, training: str, device: str) -> str:
    """Return the name of the encoder; what 'auto' stands for is printed."""
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


def _say_what_is_kept(checkpoint: Path) -> str:
    return f" The epochs done are kept in {checkpoint}." if checkpoint.exists() else ""


def _print_summary(
    output: Path,
    train: Path,
    classifier: ProtoryNetClassifier,
    seconds: dict[str, float],
    *,
    verbose: bool,
) -> None:
    from rich.text import Text

    from protorynet.report import print_classes, print_figures, print_warnings

    console = result_console()
    training = classifier.model_.training
    total = sum(seconds.values())
    if training.figures is not None:
        print_figures(training.figures, console)
        read = f"on {training.figures.n_documents:,} held-out documents of {training.n_documents:,}"
        console.print(Text(f"{read}, with {len(classifier.prototypes_)} prototypes", style="dim"))
        print_warnings(training.figures, console)
        if verbose:
            print_classes(training.figures, console, verbose=True)
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
