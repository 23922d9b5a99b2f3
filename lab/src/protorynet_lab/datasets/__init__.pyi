from .paper_datasets import DATASETS as DATASETS
from .paper_datasets import KnownDataset as KnownDataset
from .paper_datasets import Prepared as Prepared
from .paper_datasets import fetch_dataset as fetch_dataset
from .paper_datasets import known_dataset as known_dataset
from .paper_datasets import prepare_dataset as prepare_dataset
