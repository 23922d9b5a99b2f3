"""The report in a real browser: no complaint, no request, no sideways scrolling, and a PDF."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protorynet import ProtoryNetClassifier, Settings
from protorynet.explain.audit_corpus import LabelledDocuments
from protorynet.report.compiling import compile_report
from protorynet.report.full_report import write_report

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium, which is not installed")

# Scripts of the page around it measure how wide the report is in a frame of some width.
_FRAME = """<!doctype html><title>waiting</title>
<iframe src="report.html" style="width:{width}px;height:800px;border:0"></iframe>
<script>
onload = () => {{
  const page = document.querySelector("iframe").contentDocument.documentElement;
  document.title = page.scrollWidth > page.clientWidth ? "scrolls" : "fits";
}};
</script>
"""


@pytest.fixture(scope="module")
def folder(
    reviews: Any, unseen_reviews: Any, encoder: Any, quick: Settings, tmp_path_factory: Any
) -> Path:
    """A folder with report.html."""
    clf = ProtoryNetClassifier(encoder, settings=quick, device="cpu", cache=False)
    texts = [f"{text} <script>document.title = 'run'</script>" for text in reviews.texts]
    clf.fit(texts, reviews.labels)

    def prepared(texts: list[str], labels: list[str]) -> LabelledDocuments:
        targets = clf.model_.labels.encode(labels)
        return LabelledDocuments(
            texts, np.arange(len(texts)), *clf._prepare(texts, clf._encoder), targets
        )

    turned = [*reversed(unseen_reviews.labels[:4]), *unseen_reviews.labels[4:]]
    report = compile_report(
        clf.model_,
        clf.evaluate(unseen_reviews.texts, turned, judge=encoder),
        prepared(unseen_reviews.texts, turned),
        prepared(texts, reviews.labels),
        title="Report",
    )
    folder: Path = tmp_path_factory.mktemp("page")
    write_report(report, folder / "report.html")
    for width in (390, 1200):
        (folder / f"frame-{width}.html").write_text(_FRAME.format(width=width))
    return folder


class Recorder(SimpleHTTPRequestHandler):
    """Serves a folder and keeps what was asked for."""

    asked: list[str] = []  # noqa: RUF012

    def log_message(self, *_: Any) -> None:
        self.asked.append(self.path)


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    Recorder.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Recorder, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def browse(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr")
    profile = f"--user-data-dir={folder / 'profile'}"
    return subprocess.run(
        [CHROMIUM, *options, profile, "--virtual-time-budget=5000", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def test_the_browser_has_nothing_to_complain_of(folder: Path, tmp_path: Path) -> None:
    ended = browse(tmp_path, "--dump-dom", (folder / "report.html").as_uri())
    assert "<title>Report</title>" in ended.stdout
    assert [line for line in ended.stderr.splitlines() if "CONSOLE" in line] == []


def test_the_page_asks_no_host_for_anything(address: str, tmp_path: Path) -> None:
    ended = browse(tmp_path, "--dump-dom", f"{address}/report.html")
    assert "<title>Report</title>" in ended.stdout
    assert Recorder.asked == ["/report.html"]


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_never_scrolls_sideways(address: str, tmp_path: Path, width: int) -> None:
    ended = browse(tmp_path, "--dump-dom", f"{address}/frame-{width}.html")
    assert re.findall(r"<title>(.*?)</title>", ended.stdout)[0] == "fits"


def test_the_page_prints_as_a_pdf(folder: Path, tmp_path: Path) -> None:
    pdf = tmp_path / "report.pdf"
    browse(tmp_path, f"--print-to-pdf={pdf}", (folder / "report.html").as_uri())
    assert pdf.read_bytes().startswith(b"%PDF-")
