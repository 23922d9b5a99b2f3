from .paper_datasets import (
    DATASETS as DATASETS,
    KnownDataset as KnownDataset,
    Prepared as Prepared,
    fetch_dataset as fetch_dataset,
    known_dataset as known_dataset,
    prepare_dataset as prepare_dataset,
)
