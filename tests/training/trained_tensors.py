"""All that training decides, as tensors to compare."""

import torch
from torch import Tensor

from protorynet import ProtoryNetClassifier


def tensors_of(clf: ProtoryNetClassifier) -> dict[str, Tensor]:
    model = clf.model_
    parts = {"network": model.network, "centring": model.centring, "adapter": model.adapter}
    if model.encoder.tuned:
        parts["encoder"] = clf.encoder_.network
    return {
        f"{part}.{name}": value
        for part, module in parts.items()
        if module is not None
        for name, value in module.state_dict().items()
    }


def different_tensors(one: ProtoryNetClassifier, other: ProtoryNetClassifier) -> list[str]:
    """Return the names of the tensors that two classifiers do not share to the last bit."""
    a, b = tensors_of(one), tensors_of(other)
    shared = a.keys() & b.keys()
    return sorted(a.keys() ^ b.keys()) + [n for n in shared if not torch.equal(a[n], b[n])]
