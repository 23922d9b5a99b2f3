"""What the tests of commands share: a small table of reviews, and how a command ended."""

import csv
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_GOOD = ["great", "wonderful", "superb", "moving", "brilliant"]
_BAD = ["awful", "dreadful", "boring", "terrible", "clumsy"]
_THINGS = ["acting", "story", "music", "photography"]
START = "import sys; from protorynet.cli import main; sys.exit(main())"
SETTINGS = """\
n_prototypes = 8
min_prototypes = 6
max_prototypes = 6
epochs = 4
retrain_epochs = 4
patience = 4
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def start(*arguments: object, code: str = START, **how: Any) -> subprocess.Popen[str]:
    """Start a command in a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, text=True, stderr=subprocess.PIPE, **how)


def finish(process: subprocess.Popen[str]) -> Ended:
    out, err = process.communicate(timeout=120)
    return Ended(process.returncode, out or "", err)


def reviews() -> list[tuple[str, str]]:
    """Return 40 reviews of two sentences, half of them positive."""
    kinds = (("positive", _GOOD, "I loved it"), ("negative", _BAD, "I hated it"))
    return [
        (f"The {thing} was {word}. {verdict}, and the {word} {thing} is why!", label)
        for thing in _THINGS
        for good_and_bad in zip(_GOOD, _BAD, strict=True)
        for (label, _, verdict), word in zip(kinds, good_and_bad, strict=True)
    ]


def write_csv(path: Path, header: list[str], rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def read_rows(table: Path) -> list[tuple[str, ...]]:
    """Return the rows of a CSV file without its header."""
    with table.open(newline="", encoding="utf-8") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


def write_splits(table: Path, folder: Path) -> dict[str, Path]:
    """Write the two splits of a table as two tables without a column 'split'."""
    return {
        name: write_csv(
            folder / f"{name}.csv",
            ["review", "sentiment"],
            [row[:2] for row in read_rows(table) if row[2] == name],
        )
        for name in ("train", "test")
    }


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def the_error(ended: Ended, code: int) -> str:
    """Check that a command failed with one line and nothing else, and return that line."""
    lines = [line for line in ended.err.splitlines() if line.startswith("error: ")]
    assert (ended.code, len(lines), ended.out) == (code, 1, ""), ended
    assert ended.err.splitlines()[-1] == lines[0]
    assert "Traceback" not in ended.err
    return lines[0]
