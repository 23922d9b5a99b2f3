"""The network: representation, prototype layer, selection, reader and losses."""

from protorynet.network.distances import pairwise_distance, similarity
from protorynet.network.losses import (
    accuracy_loss,
    anchor_loss,
    balance_loss,
    diversity_loss,
    probabilities,
    prototypicality_loss,
)
from protorynet.network.network import ProtoryNetwork, pad_documents, read_trajectory, trace
from protorynet.network.reader import Reader, at_last_sentence
from protorynet.network.representation import Adapter, Centring
from protorynet.network.selection import active_prototype, select
from protorynet.network.trajectory import Prediction, Trajectory

__all__ = [
    "Adapter",
    "Centring",
    "Prediction",
    "ProtoryNetwork",
    "Reader",
    "Trajectory",
    "accuracy_loss",
    "active_prototype",
    "anchor_loss",
    "at_last_sentence",
    "balance_loss",
    "diversity_loss",
    "pad_documents",
    "pairwise_distance",
    "probabilities",
    "prototypicality_loss",
    "read_trajectory",
    "select",
    "similarity",
    "trace",
]
