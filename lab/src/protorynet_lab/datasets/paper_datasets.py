"""The eight data sets of the paper: what is known of them, fetched, and made into one table."""

import difflib
import hashlib
import heapq
import io
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protorynet.errors import InputError, TableError
from protorynet.files import write_atomically
from protorynet_lab.datasets.archive_members import explain_unreadable, list_members
from protorynet_lab.datasets.dataset_rows import RECIPES, Class, Row, read_rows


@dataclass(frozen=True, kw_only=True)
class KnownDataset:
    """A data set of the paper.

    Parameters
    ----------
    name, title
        Its name in commands and file names, and what people call it.
    document, label, n_classes
        What one document is, what its label says, and how many classes there are.
    used, size
        How many documents the paper says it used, empty where it does not say; and how many exist.
    licence, home, files
        The terms of its publisher, where it is published, and the published files that are read.
    hub
        Its name on the Hugging Face hub; None where the hub has no faithful copy.
    preparation, differences
        What the paper did with it, and `prepare` does; and what of it cannot be had exactly.
    """

    name: str
    title: str
    document: str
    label: str
    n_classes: int
    used: str
    size: str
    licence: str
    home: str
    files: tuple[str, ...]
    hub: str | None = None
    preparation: str
    differences: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `protorynet datasets --json` prints them."""
        return {**vars(self), "files": list(self.files)}


_FACTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
DATASETS = tuple(
    KnownDataset(**facts | {"files": tuple(facts["files"])}) for facts in _FACTS["dataset"]
)


def known_dataset(name: str) -> KnownDataset:
    """Return what is known of a data set."""
    known = {each.name: each for each in DATASETS}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.strip().lower().replace(" ", "_"), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? Known" if near else "known"
    raise InputError(f"there is no data set {name!r}; {hint} are {', '.join(known)}.")


def fetch_dataset(name: str) -> Path:
    """Fetch a data set from the hub, or find the copy fetched before, and return its folder."""
    dataset = known_dataset(name)
    if dataset.hub is None:
        raise InputError(
            f"the hub has no faithful copy of {name!r}; fetch it from {dataset.home} and give it "
            "with --from PATH."
        )
    from huggingface_hub import snapshot_download

    try:
        # Tables only: a data set's own code is never fetched, let alone run.
        tables = ["*.parquet", "*.csv"]
        return Path(snapshot_download(dataset.hub, repo_type="dataset", allow_patterns=tables))
    except Exception as error:
        # The hub's client raises its own, its transport's and the system's errors.
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{dataset.hub!r} cannot be fetched from the hub ({reason}); fetch {name!r} from "
            f"{dataset.home} and give it with --from PATH."
        ) from None


@dataclass(frozen=True)
class Prepared:
    """A data set prepared as in the paper."""

    dataset: KnownDataset
    rows: tuple[Row, ...]  # each with its split, those for training first
    n_found: int  # documents of the wanted classes in the files, before drawing

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Number of documents by split and class."""
        counts: dict[str, Counter[str]] = {}
        for row in self.rows:
            counts.setdefault(str(row.split), Counter())[str(row.label)] += 1
        return {split: dict(sorted(of_split.items())) for split, of_split in counts.items()}

    def to_arrow(self) -> Any:
        """Return a pyarrow Table with the columns text, label and split."""
        import pyarrow as pa

        columns = {
            "text": pa.array([row.text for row in self.rows], pa.large_string()),
            "label": pa.array([row.label for row in self.rows]),
            "split": pa.array([row.split for row in self.rows], pa.string()),
        }
        return pa.table(columns)

    def write(self, path: Path) -> None:
        """Write a Parquet file, whole or not at all."""
        import pyarrow.parquet as pq

        content = io.BytesIO()
        pq.write_table(self.to_arrow(), content, compression="zstd")
        write_atomically(path, content.getvalue())


def prepare_dataset(name: str, source: str | Path, *, seed: int = 0) -> Prepared:
    """Read a published data set, and draw, balance and split it as the paper says.

    A document is drawn by a digest of its text and the seed. So the same documents are drawn
    whether they come from an archive, its folder or the hub, on every machine.

    Parameters
    ----------
    source
        The archive, file or folder in which it is published. Archives are not unpacked to disk.
    seed
        Seed of all that is drawn.
    """
    dataset, recipe = known_dataset(name), RECIPES[known_dataset(name).name]
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InputError(f"seed={seed!r} should be a whole number from 0 to {2**63 - 1}.")
    path = Path(source).expanduser()
    samples = {label: _Sample(recipe.most, seed) for label in recipe.classes}
    with explain_unreadable(path):
        for member in list_members(path):
            for row in read_rows(member, recipe):
                samples[row.label].add(row)
    _check_found(samples, dataset, path)
    fewest = min(len(sample.kept) for sample in samples.values())
    chosen: list[tuple[int, Row]] = []
    for sample in samples.values():
        drawn = sample.in_order()
        chosen += _split(drawn[:fewest] if recipe.is_balanced else drawn, recipe.test_share)
    chosen.sort(key=lambda drawn: (drawn[1].split == "test", drawn[0]))
    n_found = sum(sample.n_seen for sample in samples.values())
    return Prepared(dataset, tuple(row for _, row in chosen), n_found)


class _Sample:
    """The documents of one class with the lowest numbers, so that memory stays bounded."""

    def __init__(self, most: int | None, seed: int) -> None:
        self.most = most
        self.key = seed.to_bytes(8, "big")
        self.n_seen = 0
        self.kept: list[tuple[int, int, Row]] = []  # a heap, the highest number on top

    def add(self, row: Row) -> None:
        self.n_seen += 1
        digest = hashlib.blake2b(row.text.encode(), digest_size=8, key=self.key).digest()
        entry = (-int.from_bytes(digest, "big"), -self.n_seen, row)
        if self.most is None or len(self.kept) < self.most:
            heapq.heappush(self.kept, entry)
        else:
            heapq.heappushpop(self.kept, entry)

    def in_order(self) -> list[tuple[int, Row]]:
        """Return the documents and their numbers, in the order of these."""
        return [(-number, row) for number, _, row in sorted(self.kept, reverse=True)]


def _split(drawn: list[tuple[int, Row]], test_share: float) -> list[tuple[int, Row]]:
    """Give documents without a split one: those with the lowest numbers are for the test."""
    ready = [(number, row) for number, row in drawn if row.split is not None]
    others = [(number, row) for number, row in drawn if row.split is None]
    n_test = round(test_share * len(others))
    return ready + [
        (number, row._replace(split="test" if rank < n_test else "train"))
        for rank, (number, row) in enumerate(others)
    ]


def _check_found(samples: dict[Class, _Sample], dataset: KnownDataset, path: Path) -> None:
    missing = [str(label) for label, sample in samples.items() if not sample.kept]
    if missing:
        listed = f"class {', '.join(map(repr, missing))}"
        what = repr(dataset.name) if len(missing) == len(samples) else listed
        expected = "; ".join(dataset.files)
        raise TableError(f"{path} holds no documents of {what}; expected {expected}.")
