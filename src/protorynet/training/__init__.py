"""Training: Algorithm 1 of the paper, with checkpoints."""

from protorynet.training.checkpoint import clear_checkpoint
from protorynet.training.fitting import fit_model, validation_documents
from protorynet.training.sources import tunable_encoder

__all__ = ["clear_checkpoint", "fit_model", "tunable_encoder", "validation_documents"]
