"""The experiments' tables: complete, escaped, and the same from the same records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from bench_scene import Scene
from hypothesis import given, strategies as st

from protorynet_lab.bench import Experiment, read_results
from protorynet_lab.bench.appending import append_record
from protorynet_lab.bench.blocks import Cell, Command, Grid, as_markdown
from protorynet_lab.bench.catalogue import MODELS
from protorynet_lab.bench.experiments import EXPERIMENTS, experiment
from protorynet_lab.bench.experiments.own import own_grid
from protorynet_lab.bench.html import html_page
from protorynet_lab.bench.significance import pack_flags

NAMES = [each.name for each in EXPERIMENTS]


def add(folder: Path, **values: Any) -> None:
    usual = {"kind": "job", "set": "imdb", "encoder": "minilm", "model": "full", "seed": 0}
    append_record(folder / "records.jsonl", {**usual, **values})


def grids(folder: Path, name: str) -> list[Grid]:
    return [b for b in experiment(name).page(read_results(folder)) if isinstance(b, Grid)]


def right(count: int, of: int = 100) -> dict[str, Any]:
    flags = np.arange(of) < count
    return {"accuracy": count / of, "n_test": of, "correct": pack_flags(flags)}


@pytest.mark.parametrize("each", EXPERIMENTS, ids=lambda each: each.name)
def test_every_experiment_has_a_table_after_a_quick_run(measured: Scene, each: Experiment) -> None:
    blocks = each.page(read_results(measured.records))
    assert any(isinstance(block, Grid) and block.rows for block in blocks)


def test_all_writes_a_page_per_experiment_and_one_for_the_paper(measured: Scene) -> None:
    found = {path.name for path in measured.out.iterdir()}
    assert {f"{name}.{ending}" for name in NAMES for ending in ("md", "html")} <= found
    assert {"pruning.svg", "prototypes.svg", "sensitivity.svg"} <= found
    page = (measured.out.parent / "paper-tables.md").read_text(encoding="utf-8")
    assert [f"## {each.title}\n" in page for each in EXPERIMENTS] == [True] * len(EXPERIMENTS)


def test_each_data_set_is_in_the_experiments_that_it_suits(measured: Scene) -> None:
    pages = {name: (measured.out / f"{name}.md").read_text("utf-8") for name in NAMES}
    assert {name for name, page in pages.items() if "DBPedia" in page} == {"multiclass", "automata"}
    assert "Hotel" not in pages["multiclass"]


def test_every_picture_that_the_paper_page_shows_is_there(measured: Scene) -> None:
    page = (measured.out.parent / "paper-tables.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[.*?\]\((.*?)\)", page)
    assert len(shown) == 3
    for name in shown:
        ElementTree.parse(measured.out.parent / name)


def test_a_data_set_stands_in_the_tables_of_its_encoders(tmp_path: Path) -> None:
    add(tmp_path, set="imdb", **right(90))
    add(tmp_path, set="hotel", **right(90))
    add(tmp_path, set="imdb", encoder="gte-small", **right(90))
    headers = [grid.header[1:] for grid in grids(tmp_path, "table1") if grid.header[0] == "model"]
    assert headers == [("IMDB", "Hotel"), ("IMDB",)]


def test_a_data_set_that_no_encoder_was_tried_on_is_shown_too(tmp_path: Path) -> None:
    add(tmp_path, set="imdb", **right(90))
    add(tmp_path, set="hotel", encoder="", model="lstm", **right(90))
    assert grids(tmp_path, "table1")[0].header == ("model", "IMDB", "Hotel")


def test_an_encoder_of_variants_alone_has_no_table_of_accuracies(tmp_path: Path) -> None:
    add(tmp_path, **right(90))
    add(tmp_path, encoder="gte-small", variant="selection=dense", **right(90))
    add(tmp_path, encoder="", model="lstm", **right(90))
    assert len([grid for grid in grids(tmp_path, "table1") if grid.header[0] == "model"]) == 1


def _command(folder: Path, name: str) -> str:
    page = experiment(name).page(read_results(folder))
    (line,) = next(block.lines for block in page if isinstance(block, Command))
    return line


def test_the_command_names_models_beside_the_experiments_own(tmp_path: Path) -> None:
    for model in ("full", "paper-full"):
        add(tmp_path, model=model, **right(90))
    assert "--models full,paper-full " in _command(tmp_path, "table1")


def test_the_command_names_the_word_vectors(tmp_path: Path) -> None:
    add(tmp_path, model="lstm", encoder="", settings={"vectors": "my vectors.txt"}, **right(90))
    assert "--vectors 'my vectors.txt'" in _command(tmp_path, "table1")


def test_the_command_leaves_out_an_encoder_that_is_compared_with_nothing(tmp_path: Path) -> None:
    add(tmp_path, variant="selection=dense", **right(90))
    add(tmp_path, **right(91))
    add(tmp_path, encoder="gte-small", **right(92))
    assert "--encoders minilm " in _command(tmp_path, "sparsity")


def test_the_commands_measure_what_the_table_shows_and_nothing_else(tmp_path: Path) -> None:
    shown = {
        (name, encoder, model, seed)
        for name in ("imdb", "hotel")
        for encoder, models in (("minilm", ("full", "none")), ("", ("lstm",)), ("gte", ("full",)))
        for model in models
        for seed in (0, 1)
    } - {("hotel", "gte", "full", 0), ("hotel", "gte", "full", 1), ("imdb", "gte", "full", 1)}
    for name, encoder, model, seed in sorted(shown):
        add(tmp_path, set=name, encoder=encoder, model=model, seed=seed, **right(90))
    page = experiment("table1").page(read_results(tmp_path))
    measured = set()
    for line in next(block.lines for block in page if isinstance(block, Command)):
        given = {name: words.split(",") for name, words in re.findall(r"--(\w+) (\S+)", line)}
        for model in given["models"]:
            encoders = [""] if model == "lstm" else given["encoders"]
            for name, encoder, seed in product(given["sets"], encoders, given["seeds"]):
                measured.add((name, encoder, model, int(seed)))
    assert measured == shown


def test_word_vectors_are_named_for_the_models_that_read_them(tmp_path: Path) -> None:
    add(tmp_path, **right(90))
    add(tmp_path, model="lstm", encoder="", settings={"vectors": "glove.txt"}, **right(90))
    add(tmp_path, model="prosenet", encoder="", **right(90))
    page = experiment("table1").page(read_results(tmp_path))
    lines = next(block.lines for block in page if isinstance(block, Command))
    assert sorted(("prosenet" in line, "--vectors" in line) for line in lines) == [
        (False, True),
        (True, False),
    ]


def test_only_what_was_measured_for_a_moment_is_called_quick(tmp_path: Path) -> None:
    add(tmp_path, **right(90))
    add(tmp_path, set="hotel", settings={"quick": True}, **right(90))
    page = experiment("table1").page(read_results(tmp_path))
    lines = next(block.lines for block in page if isinstance(block, Command))
    assert [("hotel" in line) == ("--quick" in line) for line in lines] == [True, True]


def test_a_seed_that_one_variant_has_not_makes_no_other_command(tmp_path: Path) -> None:
    for seed in (0, 1):
        add(tmp_path, seed=seed, **right(90))
    add(tmp_path, variant="selection=dense", **right(90))
    assert "--seeds 0,1 " in _command(tmp_path, "sparsity")


def test_the_command_leaves_out_what_another_experiment_measured(tmp_path: Path) -> None:
    points = [{"threshold": 0.0, "n_prototypes": 200, "accuracy": 0.918}]
    add(tmp_path, set="amazon", variant="n_prototypes=200", accuracy=0.918, pruning=points)
    add(tmp_path, set="hotel", variant="n_prototypes=20", accuracy=0.918)
    assert "--sets amazon " in _command(tmp_path, "pruning")


def test_an_adapter_is_shown_by_its_number_of_prototypes(tmp_path: Path) -> None:
    add(tmp_path, model="adapter", variant="n_prototypes=50", accuracy=0.867)
    assert "| IMDB | ours, adapter, minilm | .867 |" in as_markdown(grids(tmp_path, "prototypes"))


def test_names_are_quoted_for_a_shell(tmp_path: Path) -> None:
    add(tmp_path, set="my data; rm", **right(90))
    assert "--sets 'my data; rm' " in _command(tmp_path, "table1")


def test_a_reason_that_many_jobs_share_is_told_once(tmp_path: Path) -> None:
    add(tmp_path, **right(90))
    for model in ("adapter", "transformer"):
        for seed in (0, 1):
            add(tmp_path, model=model, encoder="gone", seed=seed, error="it is not there")
    page = as_markdown(experiment("table1").page(read_results(tmp_path)))
    jobs = "imdb gone adapter, seeds 0, 1; imdb gone transformer, seeds 0, 1"
    assert page.count("it is not there") == 1
    assert f"- {jobs}: it is not there" in page


def test_notes_follow_their_table(measured: Scene, written: Callable[..., Path]) -> None:
    docs = written(measured.records, "all")
    (docs / "results" / "notes").mkdir()
    (docs / "results" / "notes" / "table2.md").write_text("Long ones win.\n", encoding="utf-8")
    page = (written(measured.records, "all") / "paper-tables.md").read_text(encoding="utf-8")
    section = page.split("\n## Short and long documents\n")[1].split("\n## ")[0]
    assert section.rstrip().endswith("Long ones win.")


def test_writing_again_changes_nothing(measured: Scene, written: Callable[..., Path]) -> None:
    def snapshot() -> dict[str, bytes]:
        docs = written(measured.records, "all")
        return {str(path): path.read_bytes() for path in docs.rglob("*") if path.is_file()}

    assert snapshot() == snapshot()


def test_a_page_loads_nothing_from_elsewhere(measured: Scene) -> None:
    page = (measured.out / "table1.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link(?! rel=\"icon\" href=\"data:)|img|iframe)", page)
    assert "default-src 'none'" in page
    parser = HTMLParser()
    parser.feed(page)


def test_the_papers_figure_stands_beside_ours(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.93, n_prototypes=15)
    assert "| .930 (15) <sub>paper .914</sub> |" in as_markdown(grids(tmp_path, "table1"))


def test_a_rival_that_is_clearly_worse_gets_stars_and_one_that_is_equal_none(
    tmp_path: Path,
) -> None:
    add(tmp_path, **right(95))
    add(tmp_path, model="adapter", **right(95))
    add(tmp_path, model="lstm", encoder=None, **right(70))
    against = {row[0].text: row[1].text for row in grids(tmp_path, "table1")[1].rows}
    assert against["ours, adapter"] == "0.0 ±0.0"
    assert re.fullmatch(r"\+25\.0 ±\d\.\d \*\*\*", against["vanilla LSTM"])


def test_models_tested_on_other_documents_are_not_compared(tmp_path: Path) -> None:
    add(tmp_path, **right(95))
    add(tmp_path, model="lstm", encoder=None, **right(30, of=50))
    assert len(grids(tmp_path, "table1")) == 1


def test_the_transformers_row_says_whose_weights_it_has(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.93)
    add(tmp_path, model="transformer", encoder="distilbert", accuracy=0.94)
    rows = grids(tmp_path, "table1")[0].rows
    assert rows[0][0] == Cell("transformer", "weights of distilbert")


def test_variants_stay_out_of_the_tables_of_plain_models(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.9)
    add(tmp_path, accuracy=0.5, variant="selection=dense")
    assert ".500" not in as_markdown(grids(tmp_path, "table1"))
    assert ".500" in as_markdown(grids(tmp_path, "sparsity"))


def test_pruning_shows_accuracy_and_prototypes_left_at_each_threshold(tmp_path: Path) -> None:
    points = [
        {"threshold": 0.0, "n_prototypes": 200, "accuracy": 0.918},
        {"threshold": 0.005, "n_prototypes": 14, "accuracy": 0.917},
    ]
    add(tmp_path, set="amazon", variant="n_prototypes=200", accuracy=0.918, pruning=points)
    table = as_markdown(grids(tmp_path, "pruning"))
    assert "| prototypes | all | θ = 0.5% |" in table
    assert "| K = 200 | .918 (200) | .917 (14) |" in table


def test_seeds_with_nothing_left_after_pruning_are_told(tmp_path: Path) -> None:
    whole = {"threshold": 0.0, "n_prototypes": 200, "accuracy": 0.9}
    last = {"threshold": 0.02, "n_prototypes": 2, "accuracy": 0.8}
    usual = {"set": "amazon", "variant": "n_prototypes=200", "accuracy": 0.9}
    add(tmp_path, **usual, seed=0, pruning=[whole, last])
    add(tmp_path, **usual, seed=1, pruning=[whole])
    assert "| .800 (2) <sub>1 of 2 seeds</sub> |" in as_markdown(grids(tmp_path, "pruning"))


def test_seeds_that_cannot_be_compared_are_told(tmp_path: Path) -> None:
    add(tmp_path, **right(95))
    add(tmp_path, model="lstm", encoder=None, seed=0, **right(70))
    add(tmp_path, model="lstm", encoder=None, seed=1, accuracy=0.7)
    against = {row[0].text: row[1].small for row in grids(tmp_path, "table1")[1].rows}
    assert against["vanilla LSTM"] == "1 of 2 seeds"


def test_a_model_with_fewer_seeds_than_the_others_is_named(tmp_path: Path) -> None:
    for name, seeds in (("full", 3), ("adapter", 3), ("ceiling-full", 2)):
        for seed in range(seeds):
            add(tmp_path, model=name, seed=seed, accuracy=0.9)
    command = experiment("table1").page(read_results(tmp_path))[-1]
    assert isinstance(command, Command)
    assert command.seeds == "3 seeds; IMDB, no prototypes, full, minilm: 2"


def test_many_different_numbers_of_seeds_are_told_as_a_range(tmp_path: Path) -> None:
    names = ("full", "adapter", "none", "paper", "ceiling-full", "lstm", "prosenet", "protoattend")
    for name, seeds in zip(names, (1, 1, 1, 1, 3, 3, 3, 3), strict=True):
        for seed in range(seeds):
            add(tmp_path, model=name, seed=seed, accuracy=0.9)
    command = experiment("table1").page(read_results(tmp_path))[-1]
    assert isinstance(command, Command)
    assert command.seeds == "1 to 3 seeds"


def test_the_model_compared_is_the_first_of_ours_that_tells_what_it_labels_rightly(
    tmp_path: Path,
) -> None:
    add(tmp_path, accuracy=0.95)
    add(tmp_path, model="adapter", **right(90))
    add(tmp_path, model="lstm", encoder=None, **right(70))
    text = as_markdown(experiment("table1").page(read_results(tmp_path)))
    assert "Points by which “ours, adapter” is better" in text


def test_seeds_that_start_from_other_weights_are_not_averaged(tmp_path: Path) -> None:
    add(tmp_path, seed=0, accuracy=0.5, weights="old")
    add(tmp_path, seed=1, accuracy=0.9, weights="new")
    text = as_markdown(experiment("table1").page(read_results(tmp_path)))
    assert "| .900 <sub>" in text
    assert "from other weights or in a quick run: full." in text


def test_a_set_without_an_encoder_keeps_its_place_beside_one_that_failed(tmp_path: Path) -> None:
    add(tmp_path, set="hotel", accuracy=0.9)
    add(tmp_path, set="imdb", model="bag-of-words", encoder=None, accuracy=0.87)
    add(tmp_path, set="imdb", encoder="gone", model="none", error="EncoderError: cannot be had")
    assert read_results(tmp_path).sets_of("minilm") == ("imdb", "hotel")


def test_an_encoder_with_which_all_failed_has_a_table_beside_one_that_was_measured(
    tmp_path: Path,
) -> None:
    add(tmp_path, accuracy=0.9)
    add(tmp_path, encoder="gone", error="EncoderError: cannot be fetched")
    text = as_markdown(experiment("table1").page(read_results(tmp_path)))
    assert re.search(r"encoder gone\n\n.*\n.*\n\| ours, full \| failed", text)


def test_a_failed_rival_names_the_word_vectors_it_was_given(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.9)
    failed = {"error": "InputError: none", "settings": {"vectors": "glove-100d"}}
    add(tmp_path, model="lstm", encoder=None, **failed)
    rows = grids(tmp_path, "table1")[0].rows
    assert rows[-1][0] == Cell("vanilla LSTM", "word vectors glove-100d")


def test_a_failed_rival_has_a_row_and_a_reason(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.9)
    add(tmp_path, model="lstm", encoder=None, error="InputError: no <vectors>")
    text = as_markdown(experiment("table1").page(read_results(tmp_path)))
    assert re.search(r"\| vanilla LSTM .*\| failed", text)
    assert "- imdb lstm, seed 0: InputError: no &lt;vectors&gt;" in text


def test_the_own_table_is_ordered_by_accuracy_and_measured_against_a_black_box(
    tmp_path: Path,
) -> None:
    add(tmp_path, set="mine", n_prototypes=12, **right(90))
    add(tmp_path, set="mine", model="transformer", **right(95))
    add(tmp_path, set="mine", model="bag-of-words", encoder=None, **right(60))
    grid = own_grid(read_results(tmp_path), "mine", "minilm")
    assert grid is not None
    assert [row[0].text for row in grid.rows] == ["transformer", "ours, full", "bag of words"]
    assert grid.rows[1][2].text.startswith("−5.0 ±")
    assert [row[4].text for row in grid.rows] == ["nothing", "12 sentences", "words"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
_FIELDS = (
    "accuracy",
    "substitutes",
    "pruning",
    "automata",
    "correct",
    "n_test",
    "error",
    "seconds",
)
_VARIANTS = ("", "n_prototypes=20", "n_prototypes=x", "selection=dense", "alpha=0 beta=0")


@given(
    values=st.dictionaries(st.sampled_from(_FIELDS), _JSON),
    variant=st.sampled_from(_VARIANTS),
    kind=st.sampled_from(MODELS),
)
def test_no_record_breaks_a_table(
    values: dict[str, Any], variant: str, kind: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "any-experiment"
    folder.mkdir(exist_ok=True)
    usual = {"kind": "job", "set": "hotel", "encoder": "e", "model": kind.name, "seed": 0}
    line = json.dumps({**usual, "variant": variant, **values})
    (folder / "any.jsonl").write_text(line + "\n", encoding="utf-8")
    results = read_results(folder)
    for each in EXPERIMENTS:
        blocks = each.page(results)
        as_markdown(blocks)
        html_page(each.title, each.about, blocks)
