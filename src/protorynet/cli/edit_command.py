"""`protorynet edit`: prototypes and their sentences edited by hand, and that undone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from protorynet.cli import command_inputs as inputs
from protorynet.cli.output import print_json, result_console
from protorynet.errors import InputError

if TYPE_CHECKING:
    from protorynet.model import Model
    from protorynet.prototypes import EditEntry

_PAIRS = ("--replace", "--rename", "--move", "--add")
_BETWEEN = "\0"  # which no word of a command line can hold


class EditCommand(TyperCommand):
    """A command some of whose options, which may be repeated, take two values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join each id with its value, for Typer has no repeated options of two values."""
        joined: list[str] = []
        words = iter(args)
        for word in words:
            joined.append(word)
            if word in _PAIRS:
                pair = list(islice(words, 2))
                joined += [_BETWEEN.join(pair)] if pair else []
        return super().parse_args(ctx, joined)


@inputs.with_options
def edit(
    model: Path,
    drop: list[str] | None = None,
    merge: list[str] | None = None,
    replace: list[str] | None = None,
    rename: list[str] | None = None,
    move: list[str] | None = None,
    split_off: list[str] | None = None,
    drop_member: list[str] | None = None,
    add: list[str] | None = None,
    undo: bool = False,
    retrain: Path | None = None,
    output: Path | None = None,
    text: str | None = None,
    label: str | None = None,
    split: str | None = None,
    skip_empty: bool = False,
    encoder: str | None = None,
    as_json: bool = False,
) -> None:
    """Edit a model's prototypes by hand, or list the edits made so far.

    Every option may be given more than once, and all edits are made together or none. Ids, of
    prototypes and of their sentences (members), never change: `protorynet prototypes --json` lists
    them. Without --retrain the reader stays as it was; train it later with --retrain alone. Rows
    with split 'train' are used where the table has such.

    **Example:** `protorynet edit model --drop 7 --rename 3 "slow service" --retrain reviews.csv`
    """
    edits: dict[str, Any] = {
        "drop": [number for given in drop or [] for number in _parse_ids(given, "--drop")],
        "merge": [_parse_ids(given, "--merge") for given in merge or []],
        "replace": [_parse_pair(given, "--replace") for given in replace or []],
        "rename": [_parse_pair(given, "--rename") for given in rename or []],
        "move": [_parse_move(given) for given in move or []],
        "split": [_parse_ids(given, "--split-off") for given in split_off or []],
        "drop_members": [
            number for given in drop_member or [] for number in _parse_ids(given, "--drop-member")
        ],
        "add": [_parse_pair(given, "--add") for given in add or []],
    }
    is_edit = any(edits.values())
    if retrain is None and (text or label or split or skip_empty):
        raise InputError("--text, --label, --split and --skip-empty need --retrain DATA.")
    if undo and (is_edit or retrain):
        raise InputError("--undo goes alone: undo first, then edit.")
    if not (undo or is_edit or retrain):
        if output is not None:
            raise InputError("there is no edit to save: name one, or leave -o out.")
        _show_log(model, as_json=as_json)
        return
    if output is not None:
        inputs.check_new(output, replace=False, hint="")
    inputs.check_model_output(output or model)
    table = None
    if retrain is not None:
        columns = {"text": text, "label": label, "split": split}
        table = inputs.read_documents(
            retrain, **columns, prefer_split="train", skip_empty=skip_empty
        )
    classifier = inputs.load_classifier(model, encoder=encoder, skip_empty=skip_empty)
    if undo:
        entry = classifier.undo_edit()
    elif table is None:
        entry = classifier.edit(**edits)
    else:
        with inputs.naming_rows(table):
            entry = classifier.edit(table.texts, table.labels, **edits)
    saved, edited = output or model, classifier.model_
    classifier.save(saved)
    if not as_json:
        _print_edits(saved, edited, [entry])
        return
    log = {"reader_is_behind": edited.edits.reader_is_behind, "undoable": len(edited.edits.states)}
    shown = {"model": str(saved), "edit": entry.to_dict(), "n_prototypes": len(edited.prototypes)}
    print_json(shown | log)


def _parse_ids(given: str, option: str) -> list[int]:
    kind = "prototype" if option in ("--drop", "--merge") else "sentence"
    try:
        return [int(number) for number in given.split(",")]
    except ValueError:
        raise InputError(f"{option} {given!r} should be {kind} ids, as in {option} 3,5.") from None


def _parse_pair(given: str, option: str) -> tuple[int, str]:
    number, between, text = given.partition(_BETWEEN)
    if between and number.strip().isdecimal():
        return int(number), text
    shown = given.replace(_BETWEEN, " ")
    expected = f'an id and a text, as in {option} 4 "A text."'
    if option == "--move":
        expected = "the ids of a sentence and of a prototype, as in --move 41 3."
    raise InputError(f"{option} {shown!r} should be {expected}")


def _parse_move(given: str) -> tuple[int, int]:
    number, home = _parse_pair(given, "--move")
    if home.strip().isdecimal():
        return number, int(home)
    raise InputError(f"--move {number} {home!r} should end with the id of a prototype.")


def _show_log(model: Path, *, as_json: bool) -> None:
    from protorynet.storage import load_model

    found = load_model(model)[0]
    log = found.edits
    if as_json:
        entries = [entry.to_dict() for entry in log.entries]
        print_json({"edits": entries, "undoable": len(log.states)})
        return
    _print_edits(model, found, log.entries, is_log=True)


def _print_edits(
    saved: Path, model: Model, entries: Sequence[EditEntry], *, is_log: bool = False
) -> None:
    """Print what edits did, and what to do next."""
    from rich.text import Text

    from protorynet.report import printable, render

    console, command = result_console(), f"protorynet edit {quote(str(saved))}"
    written = render("edits.txt", model=model, entries=entries, is_log=is_log, command=command)
    for line in written.strip("\n").split("\n"):
        indent = " " * (len(line) - len(line.lstrip(" ")))
        console.print(Text(indent + printable(line, console.encoding)), soft_wrap=True)
