"""Scoring and training on many machines, with Ray.

Nothing here imports Ray before it is used, so a missing extra is told in one line.
"""

from typing import TYPE_CHECKING

from protorynet.lazy import lazy_names

if TYPE_CHECKING:
    from protorynet.scale.encoding import encode_with_ray
    from protorynet.scale.predicting import predict_with_ray
    from protorynet.scale.session import ray_session
    from protorynet.scale.training import fit_with_ray

__all__ = ["encode_with_ray", "fit_with_ray", "predict_with_ray", "ray_session"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "encoding": "encode_with_ray",
        "predicting": "predict_with_ray",
        "session": "ray_session",
        "training": "fit_with_ray",
    },
)
