"""Changes to a model directory or an export, with checksums that fit, as a forger makes them."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protorynet.records import digest_values


def forge(folder: Path, name: str, change: bytes | Callable[[Any], object]) -> None:
    """Replace a file, or change the values of a JSON file, and mend the checksums."""
    path = folder / name
    if callable(change):
        values = json.loads(path.read_bytes())
        change(values)
        change = json.dumps(values).encode()
    path.write_bytes(change)
    index = folder / ("export.json" if (folder / "export.json").exists() else "config.json")
    values = json.loads(index.read_bytes())
    if isinstance(values.get("sha256"), dict):
        values["sha256"][name] = hashlib.sha256(change).hexdigest()
        values["sha256"][index.name] = digest_values(values)
    index.write_text(json.dumps(values), encoding="utf-8")
