"""Where a real browser is, how it is started, and what a test does where there is none."""

import os
import shutil

import pytest

__all__ = ["CHROMIUM", "FLAGS", "needs_browser"]

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
