"""What the package is made of: a bill of materials, and a locked set with hashes.

``python tools/supply_chain.py sbom`` prints a CycloneDX document of the installed distributions
that protorynet needs. ``python tools/supply_chain.py lock REPORT`` prints, from what ``pip install
--dry-run --report`` writes, requirements for ``pip install --require-hashes``.
"""

import argparse
import json
import platform
import re
from contextlib import suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_ROOT, _EXTRAS = "protorynet", ("demo", "excel", "onnx", "png", "server")


def find_dependencies() -> dict[str, Distribution]:
    """Return the installed distributions that the package needs, by name."""
    found: dict[str, Distribution] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [(_ROOT, _EXTRAS), ("protorynet-lab", ())]
    while waiting:
        name, extras = waiting.pop()
        # Some are of another platform, or of an extra that is not installed.
        with suppress(PackageNotFoundError):
            found[name] = distribution(name)
        for wanted in map(Requirement, (found[name].requires or []) if name in found else []):
            other, marker = canonicalize_name(wanted.name), wanted.marker
            applies = marker is None or any(marker.evaluate({"extra": e}) for e in ("", *extras))
            if applies and other not in found:
                waiting.append((other, tuple(wanted.extras)))
    return found


def bill_of_materials() -> dict[str, Any]:
    """Return the distributions as a CycloneDX document."""
    found = find_dependencies()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component(_ROOT, found.pop(_ROOT))},
        "components": [_component(name, found[name]) for name in sorted(found)],
    }


def _component(name: str, known: Distribution) -> dict[str, Any]:
    about = known.metadata
    licence = about.get("License-Expression") or about.get("License") or ""
    kinds = [kind for kind in about.get_all("Classifier") or [] if kind.startswith("License")]
    named = (
        licence.splitlines()[0][:100]
        if licence
        else ", ".join(kind.rpartition(" :: ")[2] for kind in kinds)
    )
    return {
        "type": "library",
        "name": name,
        "version": known.version,
        "purl": f"pkg:pypi/{name}@{known.version}",
        "licenses": [{"license": {"name": named}}] if named else [],
    }


def lock(report: Path) -> str:
    """Return a line for each distribution that pip would install, with the hash of its file."""
    lines = []
    for each in json.loads(report.read_text(encoding="utf-8"))["install"]:
        about, archive = each["metadata"], each["download_info"].get("archive_info", {})
        name = canonicalize_name(about["name"])
        if sha256 := archive.get("hashes", {}).get("sha256"):
            version = re.sub(r"\+.*", "", about["version"])
            lines.append(f"{name}=={version} --hash=sha256:{sha256}")
    python = ".".join(platform.python_version_tuple()[:2])
    head = (
        f"# {platform.system()} on {platform.machine()}, Python {python}, the CPU build of torch; "
        "written by `make lock`.\n# pip install --require-hashes -r requirements.lock\n"
    )
    return head + "\n".join(sorted(lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["sbom", "lock"])
    parser.add_argument("report", type=Path, nargs="?")
    given = parser.parse_args()
    print(json.dumps(bill_of_materials(), indent=2) if given.what == "sbom" else lock(given.report))
