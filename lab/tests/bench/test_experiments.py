"""The experiments' tables, plots and commands, by what the records say."""

import io
import re
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from bench_scene import add
from rich.console import Console

from protorynet_lab.bench import EXPERIMENTS, print_blocks, read_results
from protorynet_lab.bench.accuracy_tables import make_own_experiment
from protorynet_lab.bench.bench_blocks import (
    Block,
    Cell,
    Command,
    Grid,
    render_markdown as markdown,
)
from protorynet_lab.bench.bench_plots import draw_heat_map
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


def right(count: int, of: int = 100) -> dict[str, Any]:
    flags = np.arange(of) < count
    return {"accuracy": count / of, "n_test": of, "correct": pack_flags(flags)}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_experiment_has_a_table_after_a_quick_run(measured, name):
    assert any(grid.rows for grid in grids(measured.records, name))


def test_a_data_set_stands_in_the_tables_of_its_encoders(tmp_path):
    add(tmp_path, set="imdb", **right(90))
    add(tmp_path, set="hotel", **right(90))
    add(tmp_path, set="imdb", encoder="gte-small", **right(90))
    add(tmp_path, set="steam", encoder="", model="lstm", **right(90))
    headers = [grid.header[1:] for grid in grids(tmp_path) if grid.header[0] == "model"]
    assert headers == [("IMDB", "Hotel", "Steam *"), ("IMDB", "Steam *")]


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
PRUNED = {**SINGLE, "set": "amazon", "variant": "n_prototypes=200", "pruning": [{"threshold": 0.0}]}
BY_ANOTHER = {
    **SINGLE,
    "set": "hotel",
    "variant": "n_prototypes=20",
}  # what another experiment measured


@pytest.mark.parametrize(
    ("experiment", "records", "words"),
    [
        ("table1", [{"model": "full"}, {"model": "paper-full"}], "--models full,paper-full "),
        ("table1", [{"set": "my data; rm"}], "--sets 'my data; rm' "),
        ("table1", [WITH_VECTORS], "--vectors 'my vectors.txt'"),
        # An encoder that is compared with nothing; a seed that one variant does not have.
        ("sparsity", [DENSE, SINGLE, {**SINGLE, "encoder": "gte-small"}], "--encoders minilm "),
        ("sparsity", [SINGLE, {**SINGLE, "seed": 1}, DENSE], "--seeds 0,1 "),
        ("pruning", [PRUNED, BY_ANOTHER], "--sets amazon "),
    ],
)
def test_the_command_names_what_the_table_shows(experiment, records, words, tmp_path):
    for record in records:
        add(tmp_path, **right(90), **record)
    (line,) = commands(tmp_path, experiment)
    assert words in line


def test_models_that_others_judged_are_measured_by_other_commands(tmp_path):
    for encoder, judge in (("minilm", "gte-small"), ("minilm:static", "minilm")):
        add(tmp_path, encoder=encoder, judge=judge, accuracy=0.9)
    text = markdown(page(tmp_path, "recipe"))
    found = set(re.findall(r"--encoders (\S+) .*--judge (\S+) ", text))
    assert found == {("minilm", "gte-small"), ("minilm:static", "minilm")}


def test_the_papers_figure_stands_beside_ours(tmp_path):
    add(tmp_path, accuracy=0.93, n_prototypes=15)
    assert "| .930 (15) <sub>paper .914</sub> |" in markdown(grids(tmp_path))
    row = "| IMDB | .930 (15) | .914 (8) | .871 | .931 | .877 |"
    assert row in markdown(grids(tmp_path, "recipe"))


def test_pruning_shows_accuracy_and_prototypes_left_and_seeds_with_nothing_left(tmp_path):
    whole = {"threshold": 0.0, "n_prototypes": 200, "accuracy": 0.918}
    pruned = {"threshold": 0.005, "n_prototypes": 14, "accuracy": 0.917}
    usual = {**SINGLE, "set": "amazon", "variant": "n_prototypes=200", "accuracy": 0.918}
    add(tmp_path, **usual, seed=0, pruning=[whole, pruned])
    add(tmp_path, **usual, seed=1, pruning=[whole])
    table = markdown(grids(tmp_path, "pruning"))
    assert "| prototypes | all | θ = 0.5% |" in table
    assert "| .918 ± .000 (200) | .917 (14) <sub>1 of 2 seeds</sub> |" in table


def test_significance_is_shown_for_the_first_of_ours_that_can_be_compared(tmp_path):
    add(tmp_path, accuracy=0.95)
    add(tmp_path, model="adapter", **right(90))
    add(tmp_path, model="lstm", encoder=None, seed=0, **right(70))
    add(tmp_path, model="lstm", encoder=None, seed=1, accuracy=0.7)
    assert "Points by which “ours, adapter” is better" in markdown(page(tmp_path))
    against = {row[0].text: row[1] for row in grids(tmp_path)[1].rows}
    assert against["vanilla LSTM"].text.startswith("+20.0 ±")
    assert against["vanilla LSTM"].small == "1 of 2 seeds"


def test_the_own_table_is_ordered_by_accuracy_and_measured_against_a_black_box(tmp_path):
    add(tmp_path, set="mine", n_prototypes=12, **right(90))
    add(tmp_path, set="mine", model="transformer", **right(95))
    add(tmp_path, set="mine", model="bag-of-words", encoder=None, **right(60))
    grid = make_own_experiment("mine", "mine.csv").page(read_results(tmp_path))[0]
    assert [row[0].text for row in grid.rows] == ["transformer", "ours, full", "bag of words"]
    assert [row[2].text[:4] for row in grid.rows] == ["the ", "−5.0", "−35."]
    assert [row[3].text[:4] for row in grid.rows] == ["−5.0", "this", "+30."]
    assert [row[4].text for row in grid.rows] == ["nothing", "12 sentences", "words"]


HEADER = ("model", "accuracy", "against the best black box", "ours against it", "read", "time")
ROW = ("bag of words, the paper's", ".925", "+10.0 ±13.8 ***", "−37.5 ±15.0 *", "words", "987 s")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_loses_no_figure(width):
    written = io.StringIO()
    small = "weights of an-encoder-of-a-long-name"
    rows = (tuple(map(Cell, ROW)), (Cell("transformer", small), *map(Cell, ROW[1:])))
    print_blocks("Models", [Grid(HEADER, rows)], Console(width=width, file=written))
    below_header = written.getvalue().split("─")[-1]
    assert ROW[0] in below_header
    # Cells are broken over lines, so the characters come in another order.
    expected = "".join([*ROW, "transformer", small, *ROW[1:]])
    assert sorted(re.sub(r"\s", "", below_header)) == sorted(re.sub(r"\s", "", expected))


def _words(svg: str) -> list[str]:
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [text.text or "" for text in texts]


def test_a_heat_map_shows_each_figure_and_a_dash_for_what_was_not_measured():
    values = {(0.0, 0.0): 0.909, (0.0, 1.0): 0.914, (0.1, 0.0): 0.8}
    said = _words(draw_heat_map(("α", [0.0, 0.1]), ("β", [0.0, 1.0]), values))
    assert [word for word in said if word[:1] in ".–"] == [".909", ".914", ".800", "–"]
