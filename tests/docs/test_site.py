"""The site: it builds without a warning and without the network, and is read from disk."""

import subprocess
import sys
from pathlib import Path

import pytest

from chromium import needs_browser

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, timeout=900)
    return folder


@pytest.mark.slow
@needs_browser
def test_the_search_works_on_pages_read_from_disk_and_asks_nobody_else(site, browser):
    page = browser.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"file://{site}/index.html")
    page.keyboard.press("f")
    page.get_by_role("textbox", name="Search").press_sequentially("push_to_hub")
    page.locator(".md-search-result__item").first.wait_for(timeout=20_000)
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
