"""The weights of the diversity and of the prototypicality loss."""

from __future__ import annotations

from protorynet_lab.bench.blocks import Block, Cell, Grid, Heading, Plot
from protorynet_lab.bench.experiments.experiment import Experiment
from protorynet_lab.bench.experiments.rows import set_title
from protorynet_lab.bench.figures import shown
from protorynet_lab.bench.jobs import Variant
from protorynet_lab.bench.plots import heat_map_svg
from protorynet_lab.bench.results import Results

__all__ = ["SENSITIVITY"]

_ALPHAS, _BETAS = (0.0, 1e-3, 1e-2, 1e-1, 1.0), (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
_QUICK_ALPHAS, _QUICK_BETAS = (0.0, 0.1), (0.0, 1e-4)
_SIZE, _QUICK_SIZE = 100, 8
_ABOUT = (
    "Accuracy on the test documents of the paper's procedure with 100 prototypes, none pruned, by "
    "the weights α of the diversity loss and β of the prototypicality loss."
)


def _variants(quick: bool) -> tuple[Variant, ...]:
    size = _QUICK_SIZE if quick else _SIZE
    kept = dict.fromkeys(("n_prototypes", "min_prototypes", "max_prototypes"), size)
    return tuple(
        Variant(_name(alpha, beta), {**kept, "alpha": alpha, "beta": beta})
        for alpha in (_QUICK_ALPHAS if quick else _ALPHAS)
        for beta in (_QUICK_BETAS if quick else _BETAS)
    )


def _name(alpha: float, beta: float) -> str:
    return f"alpha={alpha:g} beta={beta:g}"


def _blocks(results: Results) -> list[Block]:
    names = {_name(alpha, beta): (alpha, beta) for alpha in _ALPHAS for beta in _BETAS}
    groups = [group for group in results.groups if group.variant in names]
    blocks: list[Block] = []
    keys = list(dict.fromkeys((g.set, g.encoder, g.kind) for g in groups))
    for name, encoder, kind in keys:
        own = {
            names[group.variant]: group
            for group in groups
            if (group.set, group.encoder, group.kind) == (name, encoder, kind)
        }
        alphas = sorted({alpha for alpha, _ in own})
        betas = sorted({beta for _, beta in own})
        figures = {key: group.figure("accuracy") for key, group in own.items()}
        rows = tuple(
            (Cell(f"α = {a:g}"), *(Cell(shown(figures.get((a, b)))) for b in betas)) for a in alphas
        )
        title = f"{set_title(name)}, {kind.title}, {encoder}"
        svg = heat_map_svg(
            f"Accuracy by α and β, {title}",
            ("α", [f"{alpha:g}" for alpha in alphas]),
            ("β", [f"{beta:g}" for beta in betas]),
            {
                (f"{alpha:g}", f"{beta:g}"): figure.mean
                for (alpha, beta), figure in figures.items()
                if figure is not None
            },
        )
        file = "sensitivity" if len(keys) == 1 else f"sensitivity-{len(blocks) // 3 + 1}"
        blocks += [
            Heading(title),
            Grid(("", *(f"β = {beta:g}" for beta in betas)), rows),
            Plot(file, svg, "Accuracy by the weights of two losses, as a heat map."),
        ]
    return blocks


SENSITIVITY = Experiment(
    name="sensitivity",
    title="The diversity and the prototypicality term",
    about=_ABOUT,
    models=("paper",),
    sets=("hotel",),
    blocks=_blocks,
    variants=_variants,
)
