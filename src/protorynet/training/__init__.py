"""Training: Algorithm 1 of the paper, with checkpoints."""

from protorynet.training.fitting import fit_model, validation_documents

__all__ = ["fit_model", "validation_documents"]
