from .candidates import (
    cluster_means as cluster_means,
    distinct_candidates as distinct_candidates,
    is_complete as is_complete,
    is_readable as is_readable,
    marking_words as marking_words,
    project as project,
    typical_first as typical_first,
)
from .edits import (
    KEPT_STATES as KEPT_STATES,
    Change as Change,
    EditEntry as EditEntry,
    EditLog as EditLog,
    Edits as Edits,
    PastState as PastState,
    Retraining as Retraining,
)
from .family_editing import Edited as Edited, apply_edits as apply_edits, score_alone as score_alone
from .kmedoids import faster_pam as faster_pam, k_medoids as k_medoids
from .prototype import (
    Member as Member,
    Prototype as Prototype,
    Prototypes as Prototypes,
    PruningPoint as PruningPoint,
    choose_size as choose_size,
    sizes_to_try as sizes_to_try,
)
