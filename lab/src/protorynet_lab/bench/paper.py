"""What the paper reports of its own models, to stand beside ours."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PAPER", "PAPER_AUTOMATON_FIDELITY", "PaperFigures"]


@dataclass(frozen=True)
class PaperFigures:
    """Figures printed in the paper for one data set; None where it has none.

    Parameters
    ----------
    fine_tuned, frozen, distilbert, prosenet, lstm, bag_of_words
        Accuracies of Table 1, or of the table of several classes.
    n_prototypes
        Prototypes that pruning left.
    short_share
        Share of documents of less than 25 words.
    prosenet_by_length, frozen_by_length
        Accuracies on short and on long documents, Table 2.
    substitutes
        Accuracies of the average, the logistic regression and the decision tree in place of the
        LSTM.
    dense, sparse
        Accuracies with all prototypes, and with one active prototype per sentence.
    """

    fine_tuned: float | None
    frozen: float | None
    distilbert: float | None
    prosenet: float | None
    lstm: float | None
    bag_of_words: float | None
    n_prototypes: int
    short_share: float | None = None
    prosenet_by_length: tuple[float, float] | None = None
    frozen_by_length: tuple[float, float] | None = None
    substitutes: tuple[float, float, float] | None = None
    dense: float | None = None
    sparse: float | None = None


PAPER = {
    "imdb": PaperFigures(
        *(0.914, 0.871, 0.931, 0.863, 0.871, 0.877, 8, 0.0017),
        prosenet_by_length=(0.868, 0.863),
        frozen_by_length=(0.868, 0.871),
        substitutes=(0.602, 0.859, 0.836),
        dense=0.920,
        sparse=0.914,
    ),
    "amazon": PaperFigures(
        *(0.918, 0.890, 0.940, 0.875, 0.884, 0.830, 14, 0.0602),
        prosenet_by_length=(0.908, 0.873),
        frozen_by_length=(0.843, 0.893),
        substitutes=(0.559, 0.808, 0.878),
        dense=0.921,
        sparse=0.918,
    ),
    "yelp": PaperFigures(
        *(0.962, 0.941, 0.967, 0.932, 0.952, 0.908, 15, 0.0885),
        prosenet_by_length=(0.943, 0.931),
        frozen_by_length=(0.863, 0.949),
        substitutes=(0.802, 0.825, 0.923),
        dense=0.956,
        sparse=0.954,
    ),
    "rotten_tomatoes": PaperFigures(
        *(0.881, 0.771, 0.903, 0.869, 0.877, 0.785, 23, 0.6552),
        prosenet_by_length=(0.875, 0.859),
        frozen_by_length=(0.751, 0.809),
        substitutes=(0.501, 0.671, 0.796),
        dense=0.896,
        sparse=0.881,
    ),
    "hotel": PaperFigures(
        *(0.961, 0.949, 0.976, 0.930, 0.949, 0.905, 7, 0.0211),
        prosenet_by_length=(1.000, 0.928),
        frozen_by_length=(1.000, 0.949),
        substitutes=(0.896, 0.905, 0.918),
        dense=0.968,
        sparse=0.961,
    ),
    "steam": PaperFigures(
        *(0.924, 0.876, 0.955, 0.834, 0.864, 0.844, 17, 0.2375),
        prosenet_by_length=(0.791, 0.848),
        frozen_by_length=(0.860, 0.881),
        substitutes=(0.771, 0.815, 0.790),
        dense=0.936,
        sparse=0.924,
    ),
    "dbpedia": PaperFigures(0.991, None, 0.996, 0.984, None, None, 20),
    "complaints": PaperFigures(0.927, None, 0.967, 0.878, None, None, 20),
}
"""The paper's own figures; only IMDB and Hotel were measured on the same data and split."""

PAPER_AUTOMATON_FIDELITY = 0.914
"""Share of Yelp's reviews on which the paper's automaton agrees with the model."""
