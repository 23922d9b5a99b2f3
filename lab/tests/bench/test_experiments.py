"""The experiments' tables, plots and commands, by what the records say."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_scene import add

from protorynet_lab.bench import EXPERIMENTS, read_results
from protorynet_lab.bench.accuracy_tables import make_own_experiment
from protorynet_lab.bench.bench_blocks import (
    Block,
    Command,
    Grid,
    render_markdown as markdown,
)
from protorynet_lab.bench.bench_recipe import RECIPE
from protorynet_lab.bench.bench_significance import pack_flags

SINGLE = {"model": "single-full"}
BY_NAME = {each.name: each for each in (RECIPE, *EXPERIMENTS)}


def page(folder: Path, name: str = "table1") -> list[Block]:
    return BY_NAME[name].page(read_results(folder))


def grids(folder: Path, name: str = "table1") -> list[Grid]:
    return [block for block in page(folder, name) if isinstance(block, Grid)]


def commands(folder: Path, name: str = "table1") -> tuple[str, ...]:
    return next(block.lines for block in page(folder, name) if isinstance(block, Command))


def right(count: int) -> dict[str, Any]:
    """Of a hundred documents."""
    return {"accuracy": count / 100, "n_test": 100, "correct": pack_flags(np.arange(100) < count)}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_experiment_has_a_table_after_a_quick_run(measured, name):
    assert any(grid.rows for grid in grids(measured.records, name))


def test_variants_stay_out_of_the_tables_of_plain_models(tmp_path):
    add(tmp_path, accuracy=0.9, **SINGLE)
    add(tmp_path, accuracy=0.5, **DENSE)
    add(tmp_path, accuracy=0.5, **DENSE, encoder="gte-small")
    assert ".500" not in markdown(grids(tmp_path))
    assert len(grids(tmp_path)) == 1
    assert ".500" in markdown(grids(tmp_path, "sparsity"))


def test_the_commands_measure_what_the_table_shows_and_nothing_else(tmp_path):
    shown = {
        (name, encoder, model, seed)
        for name in ("imdb", "hotel")
        for encoder, models in (("minilm", ("full", "none")), ("", ("lstm",)), ("gte", ("full",)))
        for model in models
        for seed in (0, 1)
    } - {("hotel", "gte", "full", 0), ("hotel", "gte", "full", 1), ("imdb", "gte", "full", 1)}
    for name, encoder, model, seed in sorted(shown):
        add(tmp_path, set=name, encoder=encoder, model=model, seed=seed, **right(90))
    measured = set()
    for line in commands(tmp_path):
        given = {name: words.split(",") for name, words in re.findall(r"--(\w+) (\S+)", line)}
        for model in given["models"]:
            encoders = [""] if model == "lstm" else given["encoders"]
            for name, encoder, seed in product(given["sets"], encoders, given["seeds"]):
                measured.add((name, encoder, model, int(seed)))
    assert measured == shown


DENSE = {**SINGLE, "variant": "selection=dense"}
WITH_VECTORS = {"model": "lstm", "encoder": "", "settings": {"vectors": "my vectors.txt"}}


@pytest.mark.parametrize(
    ("experiment", "records", "words"),
    [
        ("table1", [{"set": "my data; rm"}], "--sets 'my data; rm' "),
        ("table1", [WITH_VECTORS], "--vectors 'my vectors.txt'"),
        # An encoder that is compared with nothing; a seed that one variant does not have.
        ("sparsity", [DENSE, SINGLE, {**SINGLE, "encoder": "gte-small"}], "--encoders minilm "),
        ("sparsity", [SINGLE, {**SINGLE, "seed": 1}, DENSE], "--seeds 0,1 "),
    ],
)
def test_the_command_names_what_the_table_shows(experiment, records, words, tmp_path):
    for record in records:
        add(tmp_path, **right(90), **record)
    (line,) = commands(tmp_path, experiment)
    assert words in line


def test_the_papers_figure_stands_beside_ours(tmp_path):
    add(tmp_path, accuracy=0.93, n_prototypes=15)
    assert "| .930 (15) <sub>paper .914</sub> |" in markdown(grids(tmp_path))
    row = "| IMDB | .930 (15) | .914 (8) | .871 | .931 | .877 |"
    assert row in markdown(grids(tmp_path, "recipe"))


def test_the_own_table_is_ordered_by_accuracy_and_measured_against_a_black_box(tmp_path):
    add(tmp_path, set="mine", n_prototypes=12, **right(90))
    add(tmp_path, set="mine", model="transformer", **right(95))
    add(tmp_path, set="mine", model="bag-of-words", encoder=None, **right(60))
    grid = make_own_experiment("mine", "mine.csv").page(read_results(tmp_path))[0]
    assert [row[0].text for row in grid.rows] == ["transformer", "ours, full", "bag of words"]
    assert [row[2].text[:4] for row in grid.rows] == ["the ", "−5.0", "−35."]
    assert [row[3].text[:4] for row in grid.rows] == ["−5.0", "this", "+30."]
    assert [row[4].text for row in grid.rows] == ["nothing", "12 sentences", "words"]
