"""Explanations, prototypes, evaluations and automata in a terminal, or as text in a pipe."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from protorynet.report.conventions import (
    HUES,
    READER_IS_BEHIND,
    UNFAMILIAR,
    Scale,
    ShownClass,
    describe_agreement,
    find_decider,
    format_percent,
    format_points,
    format_signed,
    group_by_class,
    has_families,
    is_member,
    mark_words,
    pick_members,
    printable,
    rank_prototypes,
    read_verdict,
    scale_of_explanation,
    scale_of_prototypes,
    shorten,
    strongest_words,
    warn_unfamiliar,
)

if TYPE_CHECKING:
    from rich.console import Console

    from protorynet.automaton import Automaton, Pattern
    from protorynet.explain import (
        DecidingPattern,
        Explanation,
        Robustness,
        SentenceExplanation,
        WordEffect,
    )
    from protorynet.prototypes import Prototype, Prototypes

_WIDEST = 100  # longer lines are tiring to read, however wide the terminal is
_NARROW = 76  # below, a table would leave too little room for the sentences
_MOST_CLASSES = 6
_MOST_PATTERNS = 12
_MANY_PROTOTYPES = 30  # with more, members are only listed if asked for
_LONGEST_QUOTE = 80
_WORD_STYLES = ("", "underline", "bold underline", "bold underline")
_WORDS_LEGEND = (
    " The words named are those without which sentence and prototype would be least alike, with "
    "what the similarity loses when each is left out."
)


def printed(show: Callable[[Any, Console], None], thing: Any) -> str:
    """Return what a view prints, as plain text of 100 letters a line."""
    from rich.console import Console

    page = io.StringIO()
    show(thing, Console(file=page, width=100, color_system=None, highlight=False))
    return page.getvalue().rstrip("\n")


def print_explanation(explanation: Explanation, console: Console, *, legend: bool = True) -> None:
    """Print every sentence with its prototype and the running probability, then the verdict."""
    scale = scale_of_explanation(explanation)
    in_families = any(map(is_member, explanation.sentences))
    words = _legend(scale, console, in_families=in_families)
    words += _WORDS_LEGEND if explanation.has_words else ""
    if warning := warn_unfamiliar(explanation):
        print_hanging(console, "Warning: ", Text(warning))
        console.print()
    if legend:
        print_hanging(console, "", Text(words, style="dim"))
    indent = len(str(len(explanation.sentences)))
    for number, sentence in enumerate(explanation.sentences, start=1):
        console.print()
        _print_step(sentence, scale, f"{number:>{indent}}  ", console)
    console.print()
    _print_verdict(explanation, scale, console)
    _print_decider(explanation, console)


def print_prototypes(prototypes: Prototypes, console: Console, *, members: bool = False) -> None:
    """Print the prototypes by falling score, as in Table 4 of the paper; `members`: all of them."""
    scale = scale_of_prototypes(prototypes)
    if not has_families(prototypes) and _view_width(console) >= _NARROW:
        console.print(_tabulate(prototypes, scale, console))
    else:
        _print_prototype_list(prototypes, scale, console, members)
    label = printable(scale.pole, console.encoding) if scale.pole else "the strongest class"
    note = (
        "Used: share of the training sentences matched to the prototype. "
        f"Score: the model's probability of {label} for the prototype read alone. "
        "Observed: share of that class among the documents of the matched sentences."
    )
    if has_families(prototypes):
        note += (
            " A prototype is a group of training sentences of one kind, named after its most "
            "typical one; they agree where that share is nearly the same for each."
        )
        note += "" if members else " --members lists all of them."
    print_hanging(console, " ", Text(note, style="dim"))


def print_robustness(found: Sequence[Robustness], console: Console) -> None:
    """Print what noise does to a model, beside what it does to a bag of words."""
    if not found:
        return
    console.print()
    console.print(Text("How the model holds under noise", style="bold"))
    table = Table("noise", "accuracy", "same label", "same trajectory", "words alone", box=None)
    for each in found:
        shares = list(vars(each).values())[1:]
        table.add_row(
            each.perturbation, *("" if share is None else f"{100 * share:.1f}%" for share in shares)
        )
    console.print(table)


def pattern_sentence(pattern: Pattern, prototypes: Prototypes) -> str:
    """Return a pattern as a plain sentence."""
    sentences = {item.id: item.caption for item in prototypes}
    quoted = [f"“{shorten(sentences[number], _LONGEST_QUOTE)}”" for number in pattern.prototypes]
    return f"starts with {', then '.join(quoted)}, then anything"


def print_automaton(automaton: Automaton, prototypes: Prototypes, console: Console) -> None:
    """Print how faithful an automaton is, then its patterns as sentences."""
    label = printable(automaton.label, console.encoding)
    n = len(automaton.states)
    headline = Text.assemble(
        "Fidelity ",
        (f"{100 * automaton.fidelity:.1f}%", "bold"),
        f"  with {n} state{'s' * (n != 1)} and {automaton.n_transitions:,} transitions",
    )
    console.print(headline, soft_wrap=True)
    measured_on, beside = f"{automaton.n_train:,} texts it was learned from", ""
    if automaton.fidelity_held_out is not None:
        measured_on = f"{automaton.n_held_out:,} texts it was not learned from"
        beside = f"; {100 * automaton.fidelity_train:.1f}% on the others"
    trust = (
        f"Share of {measured_on} that the automaton and the model agree on, {label} or "
        f"not{beside}. With the reader that sees prototype ids alone it agrees on "
        f"{100 * automaton.fidelity_ids_only:.1f}%."
    )
    print_hanging(console, "", Text(trust, style="dim"))
    console.print()
    if not automaton.patterns:
        print_hanging(console, "", Text(f"No beginning gives {label} away by itself."))
        return
    print_hanging(console, "", Text(f"A text is nearly always judged {label} if it"))
    for pattern in automaton.patterns[:_MOST_PATTERNS]:
        sentence = printable(pattern_sentence(pattern, prototypes), console.encoding)
        share = f"  ({format_percent(pattern.purity)} of {pattern.support:,})"
        print_hanging(console, Text("- "), Text.assemble(sentence, (share, "dim")))
    more = len(automaton.patterns) - _MOST_PATTERNS
    if more > 0:
        console.print(Text(f"and {more} more (see --json)", style="dim"))


def print_hanging(console: Console, lead: str | Text, body: Text) -> None:
    """Print a text after a lead (bold unless a `Text`), further lines beginning where it began."""
    if isinstance(lead, str):
        lead = Text(lead, style="bold" if lead.strip() else "")
    room = max(_view_width(console) - lead.cell_len, 10)
    for line in body.wrap(console, room, overflow="fold"):
        line.rstrip()
        console.print(Text.assemble(lead, line), soft_wrap=True)
        lead = Text(" " * lead.cell_len)


def _view_width(console: Console) -> int:
    return min(console.width, _WIDEST)


def _bold(reading: ShownClass) -> str:
    return f"bold {HUES[reading.hue]}"


def _bar(reading: ShownClass, scale: Scale, width: int, console: Console) -> Text:
    """Return a bar of so many cells; on an axis it grows from the middle to either side."""
    full, empty, middle = "#.|" if console.options.ascii_only else "█·│"
    hue = HUES[reading.hue]
    if scale.pole is None:
        filled = round(reading.value * width)
        return Text.assemble((full * filled, hue), (empty * (width - filled), "dim"))
    half = (width - 1) // 2
    filled = round(abs(reading.value - 0.5) * 2 * half)
    cells = [
        (empty * half, "dim"),
        (middle, "dim"),
        (full * filled, hue),
        (empty * (half - filled), "dim"),
    ]
    if reading.value < 0.5:
        cells = [cells[3], cells[2], cells[1], cells[0]]
    return Text.assemble(*cells)


def _mark(
    text: str,
    words: Sequence[WordEffect],
    match: SentenceExplanation,
    console: Console,
    style: str = "",
) -> Text:
    """Return a sentence on one line, its marked words underlined, the strong ones bold."""
    line = Text(style=style)
    for piece in mark_words(text, words, match):
        # A space at either end of a piece would be lost with the line breaks.
        lead, trail = (" " if end.isspace() else "" for end in (piece.text[:1], piece.text[-1:]))
        shown = printable(piece.text, console.encoding)
        line.append(f"{lead}{shown}{trail if shown else ''}", style=_WORD_STYLES[piece.strength])
    return line


def _print_words(match: SentenceExplanation, indent: str, console: Console) -> None:
    """Print the strongest words of both sentences with their effects, for pipes and the blind."""

    def name_words(words: Sequence[WordEffect]) -> str:
        named = [
            f"{printable(word.text, console.encoding)} {format_signed(word.effect)}"
            for word in strongest_words(words, match)
        ]
        return ", ".join(named) or "none stands out"

    both = f"{name_words(match.words)}; in the prototype: {name_words(match.prototype_words)}"
    print_hanging(console, indent, Text(f"words: {both}", style="dim"))


def _print_step(sentence: SentenceExplanation, scale: Scale, lead: str, console: Console) -> None:
    # Where words are marked, the rest of the sentence stands back.
    style = "" if sentence.words else "bold"
    print_hanging(console, lead, _mark(sentence.text, sentence.words, sentence, console, style))
    runner_up = ""
    if sentence.runner_up is not None and sentence.runner_up_similarity is not None:
        similarity = sentence.runner_up_similarity
        runner_up = f"; next: prototype {sentence.runner_up}, {similarity:.2f}"
    indent = " " * len(lead)
    if sentence.unfamiliar:
        print_hanging(console, indent, Text(UNFAMILIAR, style="bold yellow"))
    kind, number = "nearest" if sentence.unfamiliar else "like", sentence.prototype
    like = Text(f"{kind}: " if is_member(sentence) else f"{kind} prototype {number}: ", style="dim")
    matched, words = sentence.prototype_sentence, sentence.prototype_words
    like.append_text(_mark(matched, words, sentence, console, "italic"))
    like.append(f" (similarity {sentence.similarity:.2f}{runner_up})", style="dim")
    print_hanging(console, indent, like)
    if is_member(sentence):
        line = printable(f"prototype {number}: {sentence.headline}", console.encoding)
        line = shorten(line, _view_width(console) - len(indent))
        print_hanging(console, indent, Text(line, style="dim"))
    if sentence.words:
        _print_words(sentence, indent, console)
    print_hanging(console, indent, _figures(sentence, scale, console, len(indent)))


def _figures(sentence: SentenceExplanation, scale: Scale, console: Console, indent: int) -> Text:
    """Return the line of a sentence's score, running probability and effect."""
    shown, running = scale.shown(sentence.scores), scale.shown(sentence.running)
    before, after = "score", ""
    if scale.pole is None:
        before, after = (printable(r.label, console.encoding) for r in (shown, running))
        widest = max(cell_len(name) for name in scale.classes)
        if _view_width(console) - 2 * widest >= 48:
            before, after = (name + " " * (widest - cell_len(name)) for name in (before, after))
        after += " "
    taken = indent + cell_len(before) + cell_len(after) + len(" 0.00   so far 100%  effect +10")
    width = min(max(_view_width(console) - taken, 7), 21)
    return Text.assemble(
        f"{before} ",
        (f"{shown.value:.2f} ", _bold(shown)),
        _bar(shown, scale, width, console),
        f"  so far {after}",
        (f"{format_percent(running.value):>4}", _bold(running)),
        (f"  effect {format_points(sentence.effect)}", "dim"),
    )


def _print_verdict(explanation: Explanation, scale: Scale, console: Console) -> None:
    label = printable(explanation.label, console.encoding) or "none of the classes"
    verdict = Text("Verdict: ", style="bold")
    verdict.append(label, style=_bold(read_verdict(explanation, scale)))
    # The label of a multi-label model may join several classes, or none.
    probability = explanation.probabilities.get(explanation.label)
    if probability is not None:
        verdict.append(f" {format_percent(probability)}", style="bold")
    if explanation.level_with:
        others = printable(" and ".join(explanation.level_with), console.encoding)
        verdict.append(f", level with {others}: nothing tips the scale")
    print_hanging(console, "", verdict)
    if scale.pole is not None:
        return
    by_probability = sorted(explanation.probabilities.items(), key=lambda item: -item[1])
    for name, value in by_probability[:_MOST_CLASSES]:
        reading = scale.reading(name, value)
        line = _bar(reading, scale, 20, console)
        line.append(f" {format_percent(reading.value):>4}", style=_bold(reading))
        line.append(f"  {printable(name, console.encoding)}")
        print_hanging(console, "  ", line)
    if (left := len(by_probability) - _MOST_CLASSES) > 0:
        print_hanging(console, "  ", Text(f"and {left} more classes", style="dim"))


def _print_decider(explanation: Explanation, console: Console) -> None:
    """Print the pattern that decided, or that none did, and a warning if the reader is behind."""
    if explanation.reader_is_behind:
        warning = f"{READER_IS_BEHIND} Train it again with: protorynet edit MODEL --retrain DATA"
        print_hanging(console, "Warning: ", Text(warning))
    decider, reading = find_decider(explanation), explanation.automaton
    if decider is None or reading is None:
        return
    if reading.pattern is not None:
        print_hanging(console, "Pattern: ", _describe_pattern(reading.pattern, console))
        return
    label = _quote(reading.label, console)
    line = f"No beginning gives {label} away here: the text as a whole decides."
    if decider == "differs":
        line = (
            f"The automaton of {label} differs from the model on this text, as on "
            f"{format_percent(1 - reading.fidelity)} of the texts it was measured on: no pattern "
            "explains this verdict."
        )
    print_hanging(console, "", Text(line, style="dim"))


def _describe_pattern(pattern: DecidingPattern, console: Console) -> Text:
    arrow = " -> " if console.options.ascii_only else " → "
    label, share = _quote(pattern.label, console), format_percent(pattern.purity)
    line = Text(f"the model gives {label} to {share} of the texts that begin with")
    for step, number in enumerate(pattern.prototypes):
        line.append(f"{arrow if step else ' '}#{number} ", style="dim")
        line.append(_quote(pattern.sentences[step], console))
    return line.append(f" ({pattern.support:,} texts)", style="dim")


def _quote(text: str, console: Console) -> str:
    shown = shorten(printable(text, console.encoding), _LONGEST_QUOTE)
    return f'"{shown}"' if console.options.ascii_only else f"“{shown}”"


def _tabulate(prototypes: Prototypes, scale: Scale, console: Console) -> Table:
    table = Table(box=box.SIMPLE_HEAD, width=_view_width(console))
    table.add_column("ID", justify="right", style="bold", no_wrap=True)
    table.add_column("Prototype", ratio=1, overflow="fold")
    table.add_column("Used", justify="right", no_wrap=True)
    shown = f"Score for {printable(scale.pole, console.encoding)}" if scale.pole else "Score"
    table.add_column(Text(shown), overflow="fold", width=_bar_width(console) + 5)
    table.add_column("Observed", justify="right", no_wrap=True)
    for item in rank_prototypes(prototypes, scale):
        reading = scale.shown(item.scores)
        table.add_row(
            Text(str(item.id)),
            Text(printable(item.caption, console.encoding)),
            Text(format_percent(item.usage)),
            _draw_score(reading, scale, console, between="\n"),
            Text(format_percent(item.class_rate[reading.label])),
        )
    return table


def _print_prototype_list(
    prototypes: Prototypes, scale: Scale, console: Console, members: bool
) -> None:
    for label, items in group_by_class(prototypes, scale).items():
        if label is not None:
            share = format_percent(sum(item.usage for item in items))
            name = shorten(printable(label, console.encoding), _LONGEST_QUOTE)
            line = f"{len(items)} prototype{'s' * (len(items) != 1)}, {share} of the sentences"
            line = line if items else "no prototype speaks for it"
            print_hanging(console, "", Text.assemble((name, "bold underline"), f"  {line}"))
            console.print()
        for item in items:
            _print_prototype(item, prototypes, scale, console, members)


def _print_prototype(
    item: Prototype, prototypes: Prototypes, scale: Scale, console: Console, members: bool
) -> None:
    widest = max(len(str(number)) for number in prototypes.ids)
    in_families, reading = has_families(prototypes), scale.shown(item.scores)
    lead = f"{item.id:>{widest + 1}}  "
    title = (item.name or item.sentence) if in_families else item.caption
    style = "bold" if in_families else ""
    print_hanging(console, lead, Text(printable(title, console.encoding), style=style))
    figures = _draw_score(reading, scale, console, between=" ")
    observed = format_percent(item.class_rate[reading.label])
    figures.append(f"  observed {observed}  used {format_percent(item.usage)}", style="dim")
    if len(item.members) > 1:
        figures.append(f"  {describe_agreement(item)}", style="dim")
    print_hanging(console, " " * len(lead), figures)
    if in_families:
        few = len(prototypes) <= _MANY_PROTOTYPES
        _print_members(item, reading.label, len(lead), console, members, few=few)
    console.print()


def _print_members(
    item: Prototype, label: str, indent: int, console: Console, complete: bool, *, few: bool
) -> None:
    """Print what a prototype holds: some members on a line each, or all with id and class rate.

    Of a prototype that is not one of `few`, only the words.
    """
    words = printable(", ".join(item.words), console.encoding)
    if words:
        print_hanging(console, " " * indent, Text(f"words: {words}", style="dim"))
    dash = "- " if console.options.ascii_only else "· "
    room = _view_width(console) - indent - len(dash)
    for member in pick_members(item) if few and not complete else []:
        line = shorten(printable(member.sentence, console.encoding), room)
        print_hanging(console, " " * indent + dash, Text(line))
    at = tuple(item.class_rate).index(label)
    widest = max(len(str(member.id)) for member in item.members)
    for member in item.members if complete else ():
        rate = format_percent(member.class_rate[at])
        lead = Text(f"{'':{indent}}{member.id:>{widest}} {rate:>5}  ", style="dim")
        print_hanging(console, lead, Text(printable(member.sentence, console.encoding)))


def _bar_width(console: Console) -> int:
    return 21 if console.width >= 90 else 13


def _draw_score(reading: ShownClass, scale: Scale, console: Console, *, between: str) -> Text:
    cell = _bar(reading, scale, _bar_width(console), console)
    cell.append(f" {reading.value:.2f}", style=_bold(reading))
    if scale.pole is not None:
        return cell
    return Text.assemble(printable(reading.label, console.encoding), between, cell)


def _legend(scale: Scale, console: Console, *, in_families: bool) -> str:
    opening = "Each sentence is matched to the prototype it resembles most. "
    if in_families:
        opening = (
            "Each sentence is matched to the training sentence it resembles most, and so to the "
            "prototype, a group of sentences of one kind, which that one belongs to. "
        )
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
