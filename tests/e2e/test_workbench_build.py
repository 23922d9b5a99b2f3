"""The workbench's pages in the package are those of its sources."""

import hashlib
import json
import re
from pathlib import Path

import pytest

import protorynet

WEB = Path(__file__).parents[2] / "web"
STATIC = Path(protorynet.__file__).parent / "server" / "static"
FILES = ("index.html", "package-lock.json", "vite.config.ts")

needs_sources = pytest.mark.skipif(not WEB.is_dir(), reason="needs the checkout's folder web/")


def source_digest() -> str:
    """Return what web/digest.ts computes."""
    nested = [path for part in ("src", "public") for path in (WEB / part).rglob("*")]
    paths = [*(WEB / name for name in FILES), *(path for path in nested if path.is_file())]
    named = sorted((path.relative_to(WEB).as_posix(), path) for path in paths)
    whole = hashlib.sha256()
    for name, path in named:
        whole.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


@needs_sources
def test_the_build_is_up_to_date():
    built = json.loads((STATIC / "build.json").read_text("utf-8"))
    assert built["sources"] == source_digest(), "run `make web`, and commit what it builds"


def test_the_first_page_names_only_files_that_are_there_and_holds_no_code():
    page = (STATIC / "index.html").read_text("utf-8")
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert named
    assert all((STATIC / name.lstrip("/")).is_file() for name in named)
    assert re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=", page) is None


@needs_sources
def test_every_package_is_locked_by_its_digest_and_to_no_private_place():
    lock = json.loads((WEB / "package-lock.json").read_text("utf-8"))
    packages = [each for name, each in lock["packages"].items() if name]
    assert packages
    assert all(each["integrity"].startswith("sha512-") for each in packages)
    addresses = [each["resolved"] for each in packages if "resolved" in each]
    assert all(address.startswith("https://registry.npmjs.org/") for address in addresses)
