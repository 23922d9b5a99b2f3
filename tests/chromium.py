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


class Window:
    """A window of the browser, what its pages complain of, and what they ask for."""

    def __init__(self, browser: Any, *, width: int = 1280, height: int = 900, **options: Any):
        viewport = {"width": width, "height": height}
        self.context = browser.new_context(viewport=viewport, **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def check_access(self) -> None:
        """Fail where axe finds something, each with the first place of it, or the page is wider.

        axe is a script, which pages that forbid scripts let in only with `bypass_csp`.
        """
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        places = [(each["id"], each["help"], each["nodes"][0]["html"][:300]) for each in found]
        assert places == []
        root = "document.documentElement"
        assert self.page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
