"""The analysis of a survey for a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from protorynet.report import printable
from protorynet_lab.survey.figures import MEASURES, Analysis, Comparison, Mean

__all__ = ["TITLES", "print_analysis", "shown_mean", "shown_p", "summary"]

TITLES = {
    "agreement": "Prototype chosen as by the model",
    "ease": "Ease of choosing (1–5)",
    "diagnosis": "Mistake diagnosed rightly",
    "trajectory": "Trajectory chosen as by the model",
}


def summary(analysis: Analysis) -> str:
    """Return who was analysed, and who was not and why, in a sentence.

    Examples
    --------
    >>> from protorynet_lab.survey.analysis import analyse
    >>> summary(analyse([]))
    '0 of 0 people analysed.'
    """
    reasons = [f"{count} {reason}" for reason, count in analysis.left_out.items() if count]
    left_out = f"; left out: {', '.join(reasons)}" if reasons else ""
    machines = (
        f" {analysis.n_automatic} automatic participants are shown as a group of their own; they "
        "are no people."
        if analysis.n_automatic
        else ""
    )
    return f"{analysis.n_analysed} of {analysis.n_people} people analysed{left_out}.{machines}"


def print_analysis(analysis: Analysis, console: Console) -> None:
    """Print means, tests and agreement."""
    console.print(summary(analysis), soft_wrap=True)
    for measure in MEASURES:
        means = [mean for mean in analysis.means if mean.measure == measure]
        if not means:
            continue
        table = Table(title=TITLES[measure], title_justify="left", title_style="bold")
        for column in ("model", "group", "n", "mean ± error", "chance"):
            table.add_column(column, justify="left" if column in ("model", "group") else "right")
        for mean in means:
            chance = "–" if mean.chance is None else f"{100 * mean.chance:.0f}%"
            name = Text(printable(mean.model))
            table.add_row(name, mean.group, str(mean.n), shown_mean(mean), chance)
        console.print()
        console.print(table)
        for test in analysis.comparisons:
            if test.measure == measure:
                console.print(Text(_told(test)), soft_wrap=True)
        for alpha in analysis.alphas:
            if alpha.measure == measure:
                value = "not defined" if alpha.alpha is None else f"{alpha.alpha:.3f}"
                words = f"Krippendorff’s alpha ({alpha.level}), {printable(alpha.model)}: {value}"
                console.print(Text(words), soft_wrap=True)


def shown_mean(mean: Mean) -> str:
    """Return a mean with its error, as a share or as a rating.

    Examples
    --------
    >>> shown_mean(Mean("agreement", "m", "technical", 9, 0.712, 0.031, 0.25))
    '71% ± 3'
    >>> shown_mean(Mean("ease", "m", "technical", 1, 4.0, None, None))
    '4.00'
    """
    if mean.measure == "ease":
        error = "" if mean.error is None else f" ± {mean.error:.2f}"
        return f"{mean.mean:.2f}{error}"
    error = "" if mean.error is None else f" ± {100 * mean.error:.0f}"
    return f"{100 * mean.mean:.0f}%{error}"


def shown_p(p: float | None) -> str:
    """Return a probability as papers print it.

    Examples
    --------
    >>> shown_p(0.262), shown_p(0.00001), shown_p(None)
    ('p = .262', 'p < .001', 'no test: too few or equal answers')
    """
    if p is None:
        return "no test: too few or equal answers"
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".")


def _told(test: Comparison) -> str:
    figures = "" if test.t is None else f"t = {test.t:.2f}, df = {test.df:.1f}, "
    sides = f"{printable(test.left)} against {printable(test.right)}"
    return f"{printable(test.within)}: {sides}: {figures}{shown_p(test.p)}"
