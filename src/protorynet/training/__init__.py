"""Training: Algorithm 1 of the paper, with checkpoints."""

from protorynet.training.checkpoint import clear_checkpoint
from protorynet.training.editing import EditableMixin, edit_model
from protorynet.training.fitted import Fitted, evenly_chosen
from protorynet.training.fitting import fit_model, validation_documents
from protorynet.training.retraining import Labelled
from protorynet.training.sharing import SharedNetwork, assist
from protorynet.training.sources import tunable_encoder
from protorynet.training.team import Team

__all__ = [
    "EditableMixin",
    "Fitted",
    "Labelled",
    "SharedNetwork",
    "Team",
    "assist",
    "clear_checkpoint",
    "edit_model",
    "evenly_chosen",
    "fit_model",
    "tunable_encoder",
    "validation_documents",
]
