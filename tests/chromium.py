"""Where a real browser is, how it is started, and what a test does where there is none."""

import os
import shutil
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
IS_REQUIRED = os.environ.get("PROTORYNET_REQUIRE_BROWSER") == "1"
FLAGS = [
    "--no-sandbox",  # which a browser run by root cannot have
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

needs_browser = pytest.mark.skipif(
    CHROMIUM is None and not IS_REQUIRED, reason="needs chromium, which is not installed"
)


def watch(page: Any) -> tuple[list[str], list[str]]:
    """Return what a page complains of and what it asks for, from now on."""
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    return complaints, asked


def violations(page: Any) -> list[str]:
    """Return what axe finds, each with the first place of it."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:300]}" for each in found]
