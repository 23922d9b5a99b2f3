"""What the tests of the benchmark share: where things lie, records, and the words of a command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protorynet_lab.bench.bench_jobs import MODELS
from protorynet_lab.bench.bench_records import append_record

# One model of every kind that there is code for.
_ALIKE = {"adapter", "single", "ceiling-adapter", "ceiling-none", "paper-full"}
MEASURED = tuple(sorted({kind.name for kind in MODELS} - _ALIKE))
FEW = ("bag-of-words", "none", "transformer")


@dataclass(frozen=True)
class Scene:
    """Where data, encoders and results lie."""

    data: Path
    encoder: Path
    judge: Path
    out: Path

    @property
    def records(self) -> Path:
        """The folder of the records."""
        return self.out / "records"


def words(scene: Scene, what: str = "recipe", **options: str) -> list[str]:
    """Return the words of a quick command; options are by default those of a small one."""
    given = {
        "data": scene.data,
        "sets": "hotel",
        "encoders": scene.encoder,
        "judge": scene.judge,
        "seeds": "0",
        "out": scene.out,
        "device": "cpu",
        **options,
    }
    pairs = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    return ["bench", what, *pairs, "--quick"]


def add(folder: Path, **values: Any) -> None:
    """Append a record of a job; what is not given is as for IMDB, MiniLM, full, seed 0."""
    usual = {"kind": "job", "set": "imdb", "encoder": "minilm", "model": "full", "seed": 0}
    append_record(folder / "records.jsonl", {**usual, **values})
