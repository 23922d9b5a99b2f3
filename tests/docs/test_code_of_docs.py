"""All code in the documentation: commands parse, and what small data can run is run."""

import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from typer.main import get_command

from protorynet.cli import app, main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "lab" / "README.md"]
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>[^>]+) -->\n)?```(?P<kind>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# These serve until they are stopped, take minutes, or are about data or machines of the reader's.
NOT_RUN = re.compile(
    r"serve\b|survey serve|bench\b|demo\b|encoders$|.*--engine ray|.*\b[A-Z]{2,}\b"
    r"|.*\b(complaints|hotel)\.parquet|.*:static"
)
PROGRAM = get_command(app)
REPLACES = ("fit", "predict")  # a page may make a model of one name twice


def blocks(page: Path) -> list[re.Match[str]]:
    return list(BLOCK.finditer(page.read_text(encoding="utf-8")))


def commands(code: str) -> list[str]:
    """Return what stands behind `protorynet` in each line, without comments and pipes."""
    lines = code.replace("\\\n", " ").splitlines()
    found = [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?protorynet ", line)]
    split = (shlex.split(line, comments=True)[1:] for line in found)
    return [shlex.join(words[: words.index(">")] if ">" in words else words) for words in split]


EVERY = [
    (page.name, line)
    for page in PAGES
    for found in blocks(page)
    for line in commands(found["code"])
]


@pytest.mark.parametrize(("page", "line"), [each for each in EVERY if "--help" not in each[1]])
def test_a_command_of_the_documentation_has_these_options(page, line):
    command, words = PROGRAM, shlex.split(line)
    context = command.make_context("protorynet", list(words), resilient_parsing=True)
    while words and hasattr(command, "get_command"):
        command = command.get_command(context, words.pop(0))
        assert command is not None, f"{page}: there is no such command"
    command.make_context(command.name, words, parent=context)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """A folder with the tables and the model that pages speak of."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copy(ROOT / "docs" / "notebooks" / "hotel_reviews.csv", folder)
    table = pd.read_csv(folder / "hotel_reviews.csv").rename(columns={"sentiment": "stars"})
    table = table.groupby(["split", "stars"]).head(40)  # enough, and quickly learned from
    table.to_csv(folder / "reviews.csv", index=False)
    unseen = table[table["split"] == "test"].drop(columns="split")
    unseen.to_csv(folder / "more_reviews.csv", index=False)
    for name in ("new.csv", "new_reviews.csv"):
        unseen[["review"]].to_csv(folder / name, index=False)
    numbers = table["stars"].map({"negative": 0, "positive": 1})
    table.assign(stars=numbers).to_csv(folder / "numbered.csv", index=False)
    words = {word: table["review"].str.contains(word).astype(int) for word in ("clean", "kind")}
    pd.DataFrame({"text": table["review"], **words}).to_csv(folder / "topics.csv", index=False)
    (folder / "all").mkdir()
    unseen.to_parquet(folder / "all" / "1.parquet")
    (folder / "my.toml").write_text("max_prototypes = 12\n")
    fit = ["fit", str(folder / "reviews.csv"), "-o", str(folder / "model")]
    assert main(fit) == 0
    shutil.copytree(folder / "model", folder / "demo" / "model")
    (folder / "demo" / "model.workbench").mkdir()
    shutil.copy(folder / "reviews.csv", folder / "demo" / "model.workbench" / "texts.csv")
    assert main(["export", str(folder / "model"), "-o", str(folder / "exported")]) == 0
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # a machine may be slow with some encoders
@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_code_of_a_page_runs(page, scene, tmp_path, monkeypatch):
    folder = shutil.copytree(scene, tmp_path / "here")
    monkeypatch.chdir(folder)
    train, test = (pd.read_csv(name) for name in ("reviews.csv", "more_reviews.csv"))
    names = {"texts": train["review"].tolist(), "labels": train["stars"].tolist()}
    names |= {"test_texts": test["review"].tolist(), "test_labels": test["stars"].tolist()}
    names |= {"batch": pa.RecordBatch.from_pandas(test)}
    for found in blocks(page):
        if found["why"]:
            continue
        if found["kind"] == "python":
            exec(compile(found["code"], str(page), "exec"), names)
        for line in commands(found["code"]):
            words = shlex.split(line)
            more = ["--force"] if words[0] in REPLACES else []
            if not NOT_RUN.match(line):
                assert main([*words, *more]) == 0, f"{page.name}: protorynet {line}"
