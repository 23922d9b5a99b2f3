from .candidates import (
    distinct_candidates as distinct_candidates,
    is_complete as is_complete,
    is_readable as is_readable,
)
from .edit_log import (
    EditEntry as EditEntry,
    EditLog as EditLog,
    PastState as PastState,
    Retraining as Retraining,
)
from .editing import apply_edits as apply_edits
from .edits import (
    Change as Change,
    Edits as Edits,
)
from .kmedoids import (
    k_medoids as k_medoids,
    mean_distance_to_nearest as mean_distance_to_nearest,
)
from .medoid_swaps import faster_pam as faster_pam
from .projection import (
    cluster_means as cluster_means,
    project as project,
)
from .prototype import (
    Prototype as Prototype,
    Prototypes as Prototypes,
)
from .pruning import (
    PruningPoint as PruningPoint,
    choose_size as choose_size,
    sizes_to_try as sizes_to_try,
)
