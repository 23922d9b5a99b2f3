"""Explanations, prototypes and evaluations in a terminal, or as plain text in a pipe."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from protorynet.report.console import bar_width, bold, print_hanging, score_bar, view_width
from protorynet.report.deciding import print_deciding
from protorynet.report.scale import (
    Reading,
    Scale,
    ranked,
    scale_of_explanation,
    scale_of_prototypes,
)
from protorynet.report.trajectory import verdict_reading
from protorynet.report.wording import (
    measure_title,
    measure_value,
    percent,
    points,
    printable,
    score,
)
from protorynet.report.words import marked_line, print_words

if TYPE_CHECKING:
    from rich.console import Console

    from protorynet.explain import Evaluation, Explanation, SentenceExplanation
    from protorynet.prototypes import Prototypes

__all__ = ["print_evaluation", "print_explanation", "print_prototypes", "printed"]

_NARROW = 76  # below, a table would leave too little room for the sentences
_MOST_CLASSES = 6


def printed(show: Callable[[Any, Console], None], thing: Any) -> str:
    """Return what a view prints, as plain text of 100 columns."""
    from rich.console import Console

    page = io.StringIO()
    show(thing, Console(file=page, width=100, color_system=None, highlight=False))
    return page.getvalue().rstrip("\n")


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Print every sentence with its prototype and the running probability, then the verdict.

    Examples
    --------
    >>> from rich.console import Console
    >>> from protorynet.explain import Explanation, SentenceExplanation
    >>> sure = {"negative": 0.07, "positive": 0.93}
    >>> step = SentenceExplanation(
    ...     "A joy!", 0, 6, 7, "What a delight.", 0.8, None, None, sure, sure, effect=0.43)
    >>> print_explanation(Explanation("A joy!", "positive", sure, (step,)), Console(width=60))
    Each sentence is matched to the prototype it resembles most. ...
    1  A joy!
       like prototype 7: What a delight. (similarity 0.80)
       score 0.93 ··········│█████████·  so far  93%  effect +43
    <BLANKLINE>
    Verdict: positive 93%
    """
    scale = scale_of_explanation(explanation)
    legend = _legend(scale, console) + (_WORDS_LEGEND if explanation.has_words else "")
    print_hanging(console, Text(), Text(legend, style="dim"))
    indent = len(str(len(explanation.sentences))) + 2
    for number, sentence in enumerate(explanation.sentences, start=1):
        console.print()
        lead = Text(f"{number:>{indent - 2}}  ", style="bold")
        _print_step(sentence, scale, lead, console)
    console.print()
    _print_verdict(explanation, scale, console)
    print_deciding(explanation, console)


def print_prototypes(prototypes: Prototypes, console: Console) -> None:
    """Print the prototypes by falling score, as in Table 4 of the paper.

    Examples
    --------
    >>> from rich.console import Console
    >>> from protorynet.prototypes import Prototype, Prototypes
    >>> sure = {"negative": 0.03, "positive": 0.97}
    >>> loved = Prototype(1, "I love this place", 12, 0.08, sure, sure)
    >>> print_prototypes(Prototypes((loved,), ("negative", "positive")), Console(width=60))
    1  I love this place
       ······│██████ 0.97  observed 97%  used 8%
    ...
    """
    scale = scale_of_prototypes(prototypes)
    if view_width(console) >= _NARROW:
        console.print(_prototype_table(prototypes, scale, console))
    else:
        _print_prototype_list(prototypes, scale, console)
    print_hanging(console, Text(" "), Text(_prototypes_note(scale, console), style="dim"))


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """Print accuracy and macro F1, then each faithfulness measure with its meaning.

    Examples
    --------
    >>> from rich.console import Console
    >>> from protorynet.explain import Evaluation, Measure
    >>> measure = Measure("match_quality", 0.71, "Mean similarity of sentence and prototype.")
    >>> print_evaluation(Evaluation(0.914, 0.9132, 2000, 12, (measure,)), Console(width=70))
    Accuracy 91.4%  Macro F1 0.913
    on 2,000 documents with 12 prototypes
    <BLANKLINE>
    How faithful the explanations are
    <BLANKLINE>
    0.710  Match quality
           Mean similarity of sentence and prototype.
    """
    headline = Text.assemble(
        "Accuracy ",
        (f"{100 * evaluation.accuracy:.1f}%", "bold"),
        "  Macro F1 ",
        (f"{evaluation.macro_f1:.3f}", "bold"),
    )
    console.print(headline)
    read = f"on {evaluation.n_documents:,} documents with {evaluation.n_prototypes:,} prototypes"
    console.print(Text(read, style="dim"))
    if not evaluation.measures:
        return
    console.print()
    console.print(Text("How faithful the explanations are", style="bold"))
    values = [measure_value(measure.value) for measure in evaluation.measures]
    widest = max(len(value) for value in values)
    for value, measure in zip(values, evaluation.measures, strict=True):
        console.print()
        title = printable(measure_title(measure.name), console.encoding)
        print_hanging(
            console, Text(f"{value:>{widest}}  ", style="bold"), Text(title, style="bold")
        )
        meaning = Text(printable(measure.meaning, console.encoding), style="dim")
        print_hanging(console, Text(" " * (widest + 2)), meaning)


def _print_step(sentence: SentenceExplanation, scale: Scale, lead: Text, console: Console) -> None:
    indent = Text(" " * lead.cell_len)
    # Where words are marked, the rest of the sentence stands back.
    style = "" if sentence.words else "bold"
    text = marked_line(sentence.text, sentence.words, sentence, console, style)
    print_hanging(console, lead, text)
    like = Text(f"like prototype {sentence.prototype}: ", style="dim")
    shown, words = sentence.prototype_sentence, sentence.prototype_words
    like.append_text(marked_line(shown, words, sentence, console, "italic"))
    second = ""
    if sentence.runner_up is not None and sentence.runner_up_similarity is not None:
        second = f"; next: prototype {sentence.runner_up}, {score(sentence.runner_up_similarity)}"
    like.append(f" (similarity {score(sentence.similarity)}{second})", style="dim")
    print_hanging(console, indent, like)
    if sentence.words:
        print_words(sentence, indent, console)
    print_hanging(console, indent, _figures(sentence, scale, console, len(indent)))


def _figures(sentence: SentenceExplanation, scale: Scale, console: Console, indent: int) -> Text:
    """Return the line of a sentence's score, running probability and effect."""
    shown, running = scale.shown(sentence.scores), scale.shown(sentence.running)
    before, after = "score", ""
    if scale.pole is None:
        before, after = (printable(r.label, console.encoding) for r in (shown, running))
        widest = max(cell_len(name) for name in scale.classes)
        if view_width(console) - 2 * widest >= 48:
            before, after = (name + " " * (widest - cell_len(name)) for name in (before, after))
        after += " "
    taken = indent + cell_len(before) + cell_len(after) + len(" 0.00   so far 100%  effect +10")
    figures = Text(f"{before} ")
    figures.append(f"{score(shown.value)} ", style=bold(shown))
    width = min(max(view_width(console) - taken, 7), 21)
    figures.append_text(score_bar(shown, scale, width, console))
    figures.append(f"  so far {after}")
    figures.append(f"{percent(running.value):>4}", style=bold(running))
    figures.append(f"  effect {points(sentence.effect)}", style="dim")
    return figures


def _print_verdict(explanation: Explanation, scale: Scale, console: Console) -> None:
    label = printable(explanation.label, console.encoding) or "none of the classes"
    verdict = Text("Verdict: ", style="bold")
    # The label of a multi-label model may join several classes, or none.
    probability = explanation.probabilities.get(explanation.label)
    verdict.append(label, style=bold(verdict_reading(explanation, scale)))
    if probability is not None:
        verdict.append(f" {percent(probability)}", style="bold")
    if explanation.level_with:
        others = printable(" and ".join(explanation.level_with), console.encoding)
        verdict.append(f", level with {others}: nothing tips the scale")
    print_hanging(console, Text(), verdict)
    if scale.pole is None:
        _print_classes(explanation, scale, console)


def _print_classes(explanation: Explanation, scale: Scale, console: Console) -> None:
    by_probability = sorted(explanation.probabilities.items(), key=lambda item: -item[1])
    for label, probability in by_probability[:_MOST_CLASSES]:
        reading = scale.reading(label, probability)
        line = score_bar(reading, scale, 20, console)
        line.append(f" {percent(reading.value):>4}", style=bold(reading))
        line.append(f"  {printable(label, console.encoding)}")
        print_hanging(console, Text("  "), line)
    if (left := len(by_probability) - _MOST_CLASSES) > 0:
        print_hanging(console, Text("  "), Text(f"and {left} more classes", style="dim"))


def _prototype_table(prototypes: Prototypes, scale: Scale, console: Console) -> Table:
    table = Table(box=box.SIMPLE_HEAD, width=view_width(console))
    table.add_column("ID", justify="right", style="bold", no_wrap=True)
    table.add_column("Prototype", ratio=1, overflow="fold")
    table.add_column("Used", justify="right", no_wrap=True)
    shown = f"Score for {printable(scale.pole, console.encoding)}" if scale.pole else "Score"
    table.add_column(Text(shown), overflow="fold", width=bar_width(console) + 5)
    table.add_column("Observed", justify="right", no_wrap=True)
    for item in ranked(prototypes, scale):
        reading = scale.shown(item.scores)
        table.add_row(
            Text(str(item.id)),
            Text(printable(item.caption, console.encoding)),
            Text(percent(item.usage)),
            _prototype_score(reading, scale, console, between="\n"),
            Text(percent(item.class_rate[reading.label])),
        )
    return table


def _print_prototype_list(prototypes: Prototypes, scale: Scale, console: Console) -> None:
    widest = max((len(str(item.id)) for item in prototypes), default=0)
    for item in ranked(prototypes, scale):
        reading = scale.shown(item.scores)
        lead = Text(f"{item.id:>{widest + 1}}  ", style="bold")
        print_hanging(console, lead, Text(printable(item.caption, console.encoding)))
        figures = _prototype_score(reading, scale, console, between=" ")
        observed = percent(item.class_rate[reading.label])
        figures.append(f"  observed {observed}  used {percent(item.usage)}", style="dim")
        print_hanging(console, Text(" " * lead.cell_len), figures)
        console.print()


def _prototype_score(reading: Reading, scale: Scale, console: Console, *, between: str) -> Text:
    cell = score_bar(reading, scale, bar_width(console), console)
    cell.append(f" {score(reading.value)}", style=bold(reading))
    if scale.pole is not None:
        return cell
    return Text.assemble(printable(reading.label, console.encoding), between, cell)


_WORDS_LEGEND = (
    " The words named are those without which sentence and prototype would be least alike, with "
    "what the similarity loses when each is left out."
)


def _legend(scale: Scale, console: Console) -> str:
    opening = "Each sentence is matched to the prototype it resembles most. "
    if scale.pole is None:
        return opening + (
            "The bar is the class that this prototype speaks for most, with its score; "
            '"so far" is the leading class after this sentence, "effect" how many points the '
            "predicted class would lose without it."
        )
    pole, opposite = (printable(n, console.encoding) for n in (scale.pole, scale.opposite))
    return opening + (
        f"The bar is that prototype's score for {pole}: to the right it speaks for {pole}, to the "
        f'left for {opposite}. "So far" is the probability of {pole} after this sentence, '
        '"effect" how many points the predicted class would lose without it.'
    )


def _prototypes_note(scale: Scale, console: Console) -> str:
    label = printable(scale.pole, console.encoding) if scale.pole else "the strongest class"
    return (
        "Used: share of the training sentences matched to the prototype. "
        f"Score: the model's probability of {label} for the prototype read alone. "
        "Observed: share of that class among the documents of the matched sentences."
    )
