"""Prototypes: where they start, which real sentences they become, which of them stay.

Names are loaded when first used, so that reading what is known of prototypes does not need torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protorynet.lazy import lazy_names

if TYPE_CHECKING:
    from protorynet.prototypes.candidates import distinct_candidates, is_readable
    from protorynet.prototypes.completeness import is_complete
    from protorynet.prototypes.edit_log import EditEntry, EditLog, PastState, Retraining
    from protorynet.prototypes.editing import apply_edits
    from protorynet.prototypes.edits import Change, Edits
    from protorynet.prototypes.kmedoids import k_medoids, mean_distance_to_nearest
    from protorynet.prototypes.medoid_swaps import faster_pam
    from protorynet.prototypes.projection import cluster_means, project
    from protorynet.prototypes.prototype import Prototype, Prototypes
    from protorynet.prototypes.pruning import PruningPoint, choose_size, sizes_to_try

__all__ = [
    "Change",
    "EditEntry",
    "EditLog",
    "Edits",
    "PastState",
    "Prototype",
    "Prototypes",
    "PruningPoint",
    "Retraining",
    "apply_edits",
    "choose_size",
    "cluster_means",
    "distinct_candidates",
    "faster_pam",
    "is_complete",
    "is_readable",
    "k_medoids",
    "mean_distance_to_nearest",
    "project",
    "sizes_to_try",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "candidates": "distinct_candidates is_readable",
        "completeness": "is_complete",
        "edit_log": "EditEntry EditLog PastState Retraining",
        "editing": "apply_edits",
        "edits": "Change Edits",
        "kmedoids": "k_medoids mean_distance_to_nearest",
        "medoid_swaps": "faster_pam",
        "projection": "cluster_means project",
        "prototype": "Prototype Prototypes",
        "pruning": "PruningPoint choose_size sizes_to_try",
    },
)
