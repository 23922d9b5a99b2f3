"""`protorynet automaton`: what a model does for one class, as a small automaton."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protorynet.cli.documents import load_classifier, naming_rows, read_documents
from protorynet.cli.options import (
    AsJson,
    EncoderElsewhere,
    ModelFolder,
    SkipEmpty,
    TextColumn,
)
from protorynet.cli.output import note, print_json, result_console
from protorynet.cli.places import check_writable
from protorynet.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from protorynet.automaton import Automaton
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.data import Table
    from protorynet.prototypes import Prototypes

__all__ = ["automaton"]

_MOST_STATES = 20
_ONE_IN = 5  # texts kept for measuring where the table does not say which


def automaton(
    model: ModelFolder,
    label: Annotated[str, typer.Option("--label", metavar="CLASS", help="The class to explain.")],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="Learn it anew from a table of texts; its labels are not read.",
        ),
    ] = None,
    text: TextColumn = None,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            metavar="NAME",
            help="Measure on the rows whose column 'split' says so.",
            rich_help_panel="The table",
        ),
    ] = None,
    skip_empty: SkipEmpty = False,
    states: Annotated[
        int | None,
        typer.Option(
            "--states",
            metavar="N",
            min=1,
            max=32,
            help="Most states, with --data; by default 20.",
        ),
    ] = None,
    encoder: EncoderElsewhere = None,
    as_json: AsJson = False,
    svg: Annotated[
        Path | None,
        typer.Option("--svg", metavar="FILE", help="Write a picture.", rich_help_panel="Output"),
    ] = None,
) -> None:
    """Summarise what a model does for one class: a small automaton over prototypes.

    By default it is the one learnt when the model was trained, and measured on the documents held
    out then. With --data it is learnt from the rows with split 'train' and measured on those with
    the split named, by default 'test'. Where that leaves no rows to learn from, every fifth text
    measures it.

    **Example:** `protorynet automaton model --label positive --svg automaton.svg`
    """
    if svg is not None:
        if as_json:
            raise InputError("give either --json or --svg FILE, not both.")
        check_writable(svg)
    if data is None:
        if text or split or skip_empty or states or encoder:
            raise InputError(
                "--text, --split, --skip-empty, --states and --encoder need --data FILE."
            )
        found, prototypes = _stored(model, label)
    else:
        learning, measuring = _tables(data, text=text, split=split, skip_empty=skip_empty)
        classifier = load_classifier(model, encoder=encoder, skip_empty=skip_empty)
        found = _learn(classifier, learning, measuring, label, states or _MOST_STATES)
        prototypes = classifier.prototypes_
    _show(found, prototypes, as_json=as_json, svg=svg)


def _show(found: Automaton, prototypes: Prototypes, *, as_json: bool, svg: Path | None) -> None:
    if as_json:
        print_json(found.to_dict())
        return
    if svg is not None:
        from protorynet.files import write_atomically
        from protorynet.report import automaton_svg

        write_atomically(svg, automaton_svg(found, prototypes, standalone=True))
        note(f"wrote {svg}")
        return
    from protorynet.report import print_automaton

    print_automaton(found, prototypes, result_console())


def _stored(folder: Path, label: str) -> tuple[Automaton, Prototypes]:
    from protorynet.explain import stored_automaton
    from protorynet.storage import load_model

    # The encoder is not needed, so it is not loaded.
    model, _ = load_model(folder)
    return stored_automaton(model, label), model.prototypes


def _tables(data: Path, *, split: str | None, **how: Any) -> tuple[Table, Table]:
    """Read the texts to learn from and those to measure on; none is in both."""
    import numpy as np

    from protorynet.data import read_table

    measuring = read_documents(data, split=split, prefer_split="test", labelled=False, **how)
    others = read_table(data, prefer_split="train", labelled=False, **how)
    learning = _part(others, ~np.isin(others.rows, measuring.rows))
    if len(learning):
        note(f"learning from {len(learning):,} texts, measuring on {len(measuring):,}")
        return learning, measuring
    kept = np.arange(len(measuring)) % _ONE_IN == _ONE_IN - 1
    note(f"measuring on every fifth of the {len(measuring):,} texts, learning from the others")
    return _part(measuring, ~kept), _part(measuring, kept)


def _part(table: Table, chosen: NDArray[np.bool_]) -> Table:
    texts = tuple(text for text, keep in zip(table.texts, chosen, strict=True) if keep)
    return replace(table, texts=texts, labels=None, rows=table.rows[chosen])


def _learn(
    classifier: ProtoryNetClassifier, learning: Table, measuring: Table, label: str, states: int
) -> Automaton:
    from protorynet.explain import class_place, learn_automaton

    model = classifier.model_
    class_place(model, label)  # before minutes are spent on encoding
    trajectories = []
    for table in (learning, measuring):
        with naming_rows(table):
            trajectory = classifier.read(table.texts)
        if left_out := len(trajectory.empty):
            note(f"left out {left_out:,} documents that hold no sentence")
        trajectories.append(trajectory)
    train, held_out = trajectories
    given = held_out if len(held_out.lengths) else None
    return learn_automaton(model, train, label, held_out=given, max_states=states)
