from .catalogue import (
    DATASETS as DATASETS,
)
from .catalogue import (
    KnownDataset as KnownDataset,
)
from .catalogue import (
    known_dataset as known_dataset,
)
from .hub import fetch_dataset as fetch_dataset
from .preparing import (
    Prepared as Prepared,
)
from .preparing import (
    prepare_dataset as prepare_dataset,
)
