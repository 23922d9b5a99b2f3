from .catalogue import (
    DATASETS as DATASETS,
    KnownDataset as KnownDataset,
    known_dataset as known_dataset,
)
from .hub import fetch_dataset as fetch_dataset
from .preparing import (
    Prepared as Prepared,
    prepare_dataset as prepare_dataset,
)
