"""What `make docs` adds to the pages of docs/: README and the like, notebooks run, a gallery.

Nothing that these make is committed; links that fail, and code that does, end the build.
"""

import base64
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "docs" / "notebooks"
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "lab/README.md": "lab.md",
}
FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = ("text/html", "image/svg+xml", "image/png", "text/plain")  # the best first


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are written elsewhere, or made."""
    for source, name in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=move_links(text)))
    example = ROOT / "examples" / "spark_scoring.py"
    files.append(File.generated(config, "examples/spark_scoring.py", content=example.read_bytes()))
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        page = File.generated(
            config, f"notebooks/{path.stem}.md", content=notebook_page(run_notebook(path), path)
        )
        files.append(page)
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    for name, content in run_gallery(FENCE.findall(page)[0]).items():
        files.append(File.generated(config, f"gallery/{name}", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to other folders of the checkout lead to what is copied from them."""
    # A folder has no page.
    markdown = markdown.replace("[`results/`](results)", "`results/`")
    return markdown.replace("](../examples/", "](examples/")


def move_links(text: str) -> str:
    """Return a page of the checkout's root with links as from docs/."""
    for source, name in PAGES.items():
        text = text.replace(f"]({source})", f"]({name})")
    return text.replace("](docs/", "](").replace("[LICENSE](LICENSE)", "LICENSE")


def run_notebook(path: Path) -> nbformat.NotebookNode:
    """Run a notebook in a folder of its own with the tables beside it; a cell that fails raises."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        for table in path.parent.glob("*.csv"):
            shutil.copy(table, folder)
        client = NotebookClient(
            notebook,
            timeout=600,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        client.execute(env={**os.environ, "PROTORYNET_CACHE": str(Path(folder, "cache"))})
    return notebook


def notebook_page(notebook: nbformat.NotebookNode, path: Path) -> str:
    """Return a notebook that was run as Markdown."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stdout":
                parts.append(f"```text\n{output.text}\n```")
            elif "data" in output:
                parts.append(show(output.data))
    title, *rest = parts
    download = f"[Download this notebook]({path.name}), and its [table](hotel_reviews.csv)."
    return "\n\n".join([title, download, *rest]) + "\n"


def show(data: dict[str, str]) -> str:
    """Return the best form of an output as Markdown."""
    kind = next(kind for kind in SHOWN if kind in data)
    if kind == "text/plain":
        return f"```text\n{data[kind]}\n```"
    if kind == "image/png":
        return f'<img alt="" src="data:image/png;base64,{data[kind].strip()}">'
    if kind == "image/svg+xml":
        packed = base64.b64encode(data[kind].encode()).decode()
        return f'<img alt="" src="data:image/svg+xml;base64,{packed}">'
    # Blank lines would end a block of HTML in Markdown.
    lines = (line.strip() for line in data[kind].splitlines())
    return '<div class="output">' + "\n".join(line for line in lines if line) + "</div>"


def run_gallery(commands: str) -> dict[str, bytes]:
    """Run the commands of the gallery's page, and return the files that they write."""
    with tempfile.TemporaryDirectory() as folder:
        table = shutil.copy(NOTEBOOKS / "hotel_reviews.csv", folder)
        env = {**os.environ, "PROTORYNET_CACHE": str(Path(folder, "cache"))}
        for line in commands.splitlines():
            program, *arguments = shlex.split(line, comments=True)
            assert program == "protorynet", line
            command = [sys.executable, "-m", "protorynet", *arguments]
            subprocess.run(command, cwd=folder, env=env, check=True)  # noqa: S603
        made = [path for path in Path(folder).iterdir() if path.is_file() and path != Path(table)]
        return {path.name: path.read_bytes() for path in made}
