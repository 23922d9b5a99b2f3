"""`protorynet explain`, `prototypes` and `automaton`: what a model does and why."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from protorynet.cli import command_inputs as inputs
from protorynet.cli.output import check_writable, note, print_json, result_console
from protorynet.errors import EmptyDocumentError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from protorynet.automaton import Automaton
    from protorynet.classifier import ProtoryNetClassifier
    from protorynet.data import Table
    from protorynet.explain import Explanation
    from protorynet.inference import Predictor

_SHOWN = 10
_AT_ONCE = 1_000  # texts whose explanations are held in memory together
_AT_ONCE_WITH_WORDS = 20  # each of their sentences is encoded again without each of its words


@inputs.with_options
def explain(
    model: Path,
    document: str | None = None,
    source: Path | None = None,
    text: str | None = None,
    split: str | None = None,
    skip_empty: bool = False,
    limit: int | None = None,
    words: bool = False,
    encoder: str | None = None,
    runtime: Literal["torch", "onnx"] = "torch",
    as_json: bool = False,
    html: Path | None = None,
) -> None:
    """Explain predictions: each sentence, its prototype, and the probability so far.

    With --json and --input, one object is printed per line.

    **Example:** `protorynet explain model "The plot is thin. But I loved the actors!"`
    """
    _check_choice_of_output(as_json, "--html", html, *([] if source is None else [source]))
    from protorynet.inference import is_exported, open_predictor

    if words and is_exported(model):
        raise InputError(
            f"{model} is exported, and --words needs torch; ask the model that it was made of."
        )
    opened = partial(open_predictor, model, encoder=encoder, runtime=runtime)
    explanations: Iterable[Explanation]
    if source is None:
        if text or split or limit or skip_empty:
            raise InputError("--text, --split, --limit and --skip-empty need --input FILE.")
        documents = [_read_text(document)]
        try:
            explanations = opened().explain(documents, words=words)
        except EmptyDocumentError:
            raise InputError("the text to explain holds no sentence.") from None
    elif document is not None:
        raise InputError("give either a TEXT or --input FILE, not both.")
    else:
        most = None if as_json else _SHOWN
        how = {"text": text, "split": split, "skip_empty": skip_empty}
        explanations = _explain_table(opened, source, limit or most, words, **how)
    _show(explanations, as_json=as_json, as_lines=source is not None, html=html)


@inputs.with_options
def prototypes(
    model: Path, members: bool = False, as_json: bool = False, html: Path | None = None
) -> None:
    """List a model's prototypes: the training sentences that it compares everything with.

    Each has its score (the model's probability for it alone), how often it is used, the share
    of the class among the documents it stands in for, the words that mark it, and some of its
    sentences; --members shows all of them, and --json always does.

    **Example:** `protorynet prototypes model --html prototypes.html`
    """
    _check_choice_of_output(as_json, "--html", html)
    from protorynet.storage import load_model

    # The encoder is not needed, so it is not loaded.
    listed = load_model(model)[0].prototypes
    if as_json:
        print_json({"prototypes": [item.to_dict() | {"spread": item.spread} for item in listed]})
        return
    from protorynet import report

    if html is not None:
        report.prototypes_page(listed, html, members=members)
        note(f"wrote {html}")
    else:
        report.print_prototypes(listed, result_console(), members=members)


def _check_choice_of_output(as_json: bool, option: str, output: Path | None, *inputs: Path) -> None:
    if output is None:
        return
    if as_json:
        raise InputError(f"give either --json or {option} FILE, not both.")
    check_writable(output, *inputs)


def _read_text(document: str | None) -> str:
    if document is None and sys.stdin.isatty():
        raise InputError('there is nothing to explain: give a "TEXT", --input FILE, or a pipe.')
    if document is None or document == "-":
        try:
            document = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError("standard input is not UTF-8 text.") from None
    if not document.strip():
        raise InputError('the text to explain is empty: give a "TEXT", --input FILE, or a pipe.')
    return document


def _explain_table(
    opened: Callable[..., Predictor], source: Path, limit: int | None, words: bool, **how: Any
) -> Iterator[Explanation]:
    import numpy as np

    table = inputs.read_documents(source, labelled=False, **how)
    if limit is not None and limit < len(table):
        note(f"the first {limit:,} of {len(table):,} texts (choose with --limit)")
    predictor = opened(progress=True)
    texts = table.texts[:limit]
    with inputs.naming_rows(table):
        sentences = predictor.split(texts, on_empty="skip" if how["skip_empty"] else "error")
    filled = np.flatnonzero(sentences.filled)
    inputs.note_left_out(len(texts) - len(filled))
    at_once = _AT_ONCE_WITH_WORDS if words else _AT_ONCE
    for start in range(0, len(filled), at_once):
        chosen = np.zeros(len(texts), np.bool_)
        chosen[filled[start : start + at_once]] = True
        part = sentences.part(chosen)
        some = [texts[document] for document in np.flatnonzero(chosen)]
        yield from predictor.explain_prepared(some, part, predictor.encode(part), words=words)


def _show(
    explanations: Iterable[Explanation], *, as_json: bool, as_lines: bool, html: Path | None
) -> None:
    if as_json:
        for explanation in explanations:
            print_json(explanation.to_dict(), as_line=as_lines)
        return
    from protorynet import report

    if html is not None:
        report.explanation_page(list(explanations), html)
        note(f"wrote {html}")
        return
    console = result_console()
    for number, explanation in enumerate(explanations):
        if number:
            console.print()
            console.rule(style="dim")
        report.print_explanation(explanation, console)


_MOST_STATES = 20
_ONE_IN = 5  # texts kept for measuring where the table does not say which


@inputs.with_options
def automaton(
    model: Path,
    label: str,
    data: Path | None = None,
    text: str | None = None,
    split: str | None = None,
    skip_empty: bool = False,
    states: int | None = None,
    encoder: str | None = None,
    as_json: bool = False,
    svg: Path | None = None,
) -> None:
    """Summarise what a model does for one class: a small automaton over prototypes.

    By default it is the one learned when the model was trained, and measured on the documents held
    out then. With --data it is learned from the rows with split 'train' and measured on those with
    the split named, by default 'test'. Where that leaves no rows to learn from, every fifth text
    measures it.

    **Example:** `protorynet automaton model --label positive --svg automaton.svg`
    """
    _check_choice_of_output(as_json, "--svg", svg)
    if data is None:
        if text or split or skip_empty or states or encoder:
            raise InputError(
                "--text, --split, --skip-empty, --states and --encoder need --data FILE."
            )
        from protorynet.explain import stored_automaton
        from protorynet.storage import load_model

        loaded, _ = load_model(model)  # without the encoder, which is not needed
        found, prototypes = stored_automaton(loaded, label), loaded.prototypes
    else:
        learning, measuring = _read_tables(data, text=text, split=split, skip_empty=skip_empty)
        classifier = inputs.load_classifier(model, encoder=encoder, skip_empty=skip_empty)
        found = _learn(classifier, learning, measuring, label, states or _MOST_STATES)
        prototypes = classifier.prototypes_
    if as_json:
        print_json(found.to_dict())
        return
    from protorynet import report

    if svg is not None:
        report.write_view(svg, report.automaton_svg(found, prototypes, standalone=True), "picture")
        note(f"wrote {svg}")
    else:
        report.print_automaton(found, prototypes, result_console())


def _read_tables(data: Path, *, split: str | None, **how: Any) -> tuple[Table, Table]:
    """Read the texts to learn from and those to measure on; none is in both."""
    import numpy as np

    from protorynet.data import read_table

    measuring = inputs.read_documents(data, split=split, prefer_split="test", labelled=False, **how)
    others = read_table(data, prefer_split="train", labelled=False, **how)
    learning = _take_part(others, ~np.isin(others.rows, measuring.rows))
    if len(learning):
        note(f"learning from {len(learning):,} texts, measuring on {len(measuring):,}")
        return learning, measuring
    kept = np.arange(len(measuring)) % _ONE_IN == _ONE_IN - 1
    note(f"measuring on every fifth of the {len(measuring):,} texts, learning from the others")
    return _take_part(measuring, ~kept), _take_part(measuring, kept)


def _take_part(table: Table, chosen: NDArray[np.bool_]) -> Table:
    texts = tuple(text for text, keep in zip(table.texts, chosen, strict=True) if keep)
    return replace(table, texts=texts, labels=None, rows=table.rows[chosen])


def _learn(
    classifier: ProtoryNetClassifier, learning: Table, measuring: Table, label: str, states: int
) -> Automaton:
    from protorynet.explain import class_index, learn_automaton

    model = classifier.model_
    class_index(model, label)  # before minutes are spent on encoding
    trajectories = []
    for table in (learning, measuring):
        with inputs.naming_rows(table):
            trajectory = classifier.read(table.texts)
        inputs.note_left_out(len(trajectory.empty))
        trajectories.append(trajectory)
    train, held_out = trajectories
    given = held_out if len(held_out.lengths) else None
    return learn_automaton(model, train, label, held_out=given, max_states=states)
