"""The paper's tables and figures, one module each: their jobs, and what is made of the records."""

from protorynet_lab.bench.experiments.accuracy import MULTICLASS, TABLE1
from protorynet_lab.bench.experiments.automata import AUTOMATA
from protorynet_lab.bench.experiments.experiment import Experiment
from protorynet_lab.bench.experiments.lengths import TABLE2
from protorynet_lab.bench.experiments.sensitivity import SENSITIVITY
from protorynet_lab.bench.experiments.sizes import PROTOTYPES, PRUNING
from protorynet_lab.bench.experiments.sparsity import SPARSITY
from protorynet_lab.bench.experiments.substituting import SUBSTITUTING

__all__ = ["EXPERIMENTS", "Experiment", "experiment"]

EXPERIMENTS = (
    TABLE1,
    TABLE2,
    PRUNING,
    SUBSTITUTING,
    AUTOMATA,
    MULTICLASS,
    PROTOTYPES,
    SENSITIVITY,
    SPARSITY,
)
"""All experiments, in the order of the paper."""


def experiment(name: str) -> Experiment:
    """Return an experiment by its name.

    Examples
    --------
    >>> experiment("table1").title
    'Prediction accuracy'
    """
    return next(each for each in EXPERIMENTS if each.name == name)
