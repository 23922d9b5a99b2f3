"""`protorynet fit`: from a table to a model directory."""

from __future__ import annotations

import importlib.util
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

import typer

from protorynet.cli import command_inputs as inputs
from protorynet.cli.output import note, print_json, result_console
from protorynet.errors import InputError, ProtoryNetError

if TYPE_CHECKING:
    from protorynet.classifier import ProtoryNetClassifier

_ENCODING = "split and encode"
# More than a quarter of the words of English texts; of German, French or Spanish ones hardly any.
_ENGLISH = {"the", "and", "of", "to", "a", "in", "is", "it", "was", "that", "for", "i", "this"}
_FEWEST_ENGLISH, _WORDS_TO_TELL, _TEXTS_TO_TELL = 0.1, 100, 200


@inputs.with_options
def fit(
    train: Path,
    output: Path,
    text: str | None = None,
    label: str | None = None,
    split: str | None = None,
    skip_empty: bool = False,
    names: str | None = None,
    encoder: str = "auto",
    settings: str = "default",
    prototypes: int | None = None,
    max_prototypes: int | None = None,
    encoder_training: Literal["none", "adapter", "full"] | None = None,
    class_weight: Literal["auto", "balanced", "none"] | None = None,
    splitter: Literal["sentencex", "lines", "paper"] = "sentencex",
    language: str = "en",
    seed: int = 0,
    device: str = "auto",
    no_cache: bool = False,
    resume: bool = False,
    force: bool = False,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    verbose: bool = False,
    as_json: bool = False,
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
    _note_start(checkpoint, resume=resume)
    with _report_kept_epochs(checkpoint, output):
        begin = time.perf_counter()
        table = inputs.read_documents(
            train, text=text, label=label, split=split, prefer_split="train", skip_empty=skip_empty
        )
        seconds = {"read": time.perf_counter() - begin}
        if language == "en":
            _note_another_language(table.texts[:_TEXTS_TO_TELL])

        from protorynet.classifier import ProtoryNetClassifier

        classifier = ProtoryNetClassifier(
            _choose_encoder(encoder, encoder_training or settings, device),
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
    from protorynet.training import clear_checkpoint

    clear_checkpoint(checkpoint)
    inputs.note_left_out(classifier.n_skipped_)
    if as_json:
        print_json(_summarise(output, classifier, seconds))
    else:
        _print_summary(output, train, classifier, seconds, verbose=verbose)


def _choose_encoder(encoder: str, training: str, device: str) -> str:
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


def _note_another_language(texts: Sequence[str]) -> None:
    """Say it where texts do not look like the English that they are taken for."""
    words = [word for text in texts for word in re.findall(r"[^\W\d_]+", text.lower())]
    english = sum(word in _ENGLISH for word in words)
    if len(words) >= _WORDS_TO_TELL and english < _FEWEST_ENGLISH * len(words):
        note(
            "the texts do not look English. Name their language (such as --language de), and take "
            "an encoder that knows it (such as --encoder intfloat/multilingual-e5-small)."
        )


def _note_start(checkpoint: Path, *, resume: bool) -> None:
    if resume and not checkpoint.exists():
        note(f"there is no {checkpoint} to resume from; starting from the beginning")
    elif checkpoint.exists() and not resume:
        note(f"starting again: {checkpoint} of an earlier run is not used (--resume would)")


@contextmanager
def _report_kept_epochs(checkpoint: Path, output: Path) -> Iterator[None]:
    """Say, when training is stopped or the model cannot be saved, how to go on."""

    def kept() -> str:
        return f" The epochs done are kept in {checkpoint}." if checkpoint.exists() else ""

    try:
        yield
    except KeyboardInterrupt:
        note(f"stopped. Resume with the same command and --resume.{kept()}")
        raise typer.Exit(130) from None
    except OSError as error:
        reason = f"{error.strerror or error}: {error.filename or output}"
        raise ProtoryNetError(f"the model was not saved ({reason}).{kept()}") from error


def _summarise(
    output: Path, classifier: ProtoryNetClassifier, seconds: dict[str, float]
) -> dict[str, Any]:
    record = classifier.model_.training
    return {
        "model": str(output),
        "validation_accuracy": record.validation_accuracy,
        "bag_of_words_accuracy": record.bag_of_words_accuracy,
        "n_prototypes": len(classifier.prototypes_),
        "seconds": {stage: round(value, 3) for stage, value in seconds.items()},
        "peak_memory_mb": _peak_memory(),
        "validation": record.figures.to_dict() if record.figures else None,
    }


def _peak_memory() -> dict[str, int]:
    """Return the most megabytes that were held, of main memory and of a GPU."""
    import torch

    peak = {}
    if importlib.util.find_spec("resource"):  # not on Windows
        import resource

        peak["process"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if torch.cuda.is_available():
        peak["gpu"] = torch.cuda.max_memory_allocated() // 2**20
    return peak


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
