from .candidates import (
    distinct_candidates as distinct_candidates,
)
from .candidates import (
    is_readable as is_readable,
)
from .completeness import is_complete as is_complete
from .edit_log import (
    EditEntry as EditEntry,
)
from .edit_log import (
    EditLog as EditLog,
)
from .edit_log import (
    PastState as PastState,
)
from .edit_log import (
    Retraining as Retraining,
)
from .editing import apply_edits as apply_edits
from .edits import (
    Change as Change,
)
from .edits import (
    Edits as Edits,
)
from .kmedoids import (
    k_medoids as k_medoids,
)
from .kmedoids import (
    mean_distance_to_nearest as mean_distance_to_nearest,
)
from .medoid_swaps import faster_pam as faster_pam
from .projection import (
    cluster_means as cluster_means,
)
from .projection import (
    project as project,
)
from .prototype import (
    Prototype as Prototype,
)
from .prototype import (
    Prototypes as Prototypes,
)
from .pruning import (
    PruningPoint as PruningPoint,
)
from .pruning import (
    choose_size as choose_size,
)
from .pruning import (
    sizes_to_try as sizes_to_try,
)
