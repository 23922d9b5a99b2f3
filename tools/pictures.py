"""Make the pictures of the documentation again, and README's example, from the demo's model.

``make pictures`` runs this after ``make demo``. It needs Chromium, and fetches nothing.
"""

import argparse
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from protorynet import ProtoryNetClassifier
from protorynet.demo import choose_text

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PROGRAM = [sys.executable, "-m", "protorynet"]
EXAMPLE = re.compile(r"(?<=^\$ )protorynet explain .*\n\n(?:.*\n)*?(?=```$)", re.MULTILINE)
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
PATIENCE = 300_000  # milliseconds: the pages measure what they show when first asked for
WIDTH = 1200
# File, page of the workbench, what it shows when it is full, height.
PAGES = (
    ("workbench.png", "read", ".step", 1080),
    ("workbench-prototypes.png", "prototypes", ".family-title", 1080),
    ("workbench-patterns.png", "patterns", ".walk li", 1260),
)


def main() -> None:
    """Take all pictures of a demo's folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("demo", nargs="?", type=Path, default=ROOT / "demo")
    demo = parser.parse_args().demo.resolve()
    model, table = demo / "model", demo / "model.workbench" / "texts.csv"
    report = demo / "report.html"
    run("report", model, table, "-o", report, "--title", "Movie reviews")
    with browsing() as page, serving(model) as address:
        for name, place, shown, height in PAGES:
            page.set_viewport_size({"width": WIDTH, "height": height})
            page.goto(f"{address}/#/{place}")
            page.wait_for_selector(shown)
            page.wait_for_load_state("networkidle")
            page.wait_for_selector("progress, .quiet-wait", state="detached")
            take(page, DOCS / name)
        for name, path, height in (
            ("demo.png", demo / "index.html", 1100),
            ("report.png", report, 900),
        ):
            page.set_viewport_size({"width": WIDTH, "height": height})
            page.goto(path.as_uri())
            take(page, DOCS / name)
    write_example(model)


def run(*words: Any) -> str:
    """Run a command of protorynet, and return what it prints."""
    command = [*PROGRAM, *map(str, words)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return done.stdout


@contextmanager
def browsing() -> Iterator[Page]:
    """Open a page in Chromium that keeps still."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(reduced_motion="reduce", color_scheme="light")
        page.set_default_timeout(PATIENCE)
        yield page
        browser.close()


@contextmanager
def serving(model: Path) -> Iterator[str]:
    """Serve a model with the texts beside it, and give the address."""
    command = [*PROGRAM, "serve", str(model), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603
        assert server.stderr is not None
        announced = (ADDRESS.search(line) for line in server.stderr)
        try:
            yield next(found[0] for found in announced if found)
        finally:
            server.terminate()


def take(page: Page, path: Path) -> None:
    """Write what a window shows, in few colours: a third of the size, and no eye sees it."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


def write_example(model: Path) -> None:
    """Let README show what its first explanation prints now."""
    text = README.read_text(encoding="utf-8")
    assert EXAMPLE.search(text), "README.md has no example of `protorynet explain`"
    tried = choose_text(ProtoryNetClassifier.load(model))
    printed = run("explain", model, tried)
    printed = printed[printed.index("\n1  ") + 1 :].rstrip()  # without the legend
    example = f'protorynet explain demo/model "{tried}"\n\n{printed}\n'
    README.write_text(EXAMPLE.sub(lambda _: example, text, count=1))
    print("README.md: its example")


if __name__ == "__main__":
    main()
