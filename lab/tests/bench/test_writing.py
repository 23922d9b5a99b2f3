"""The recipe: pages that are the same each time, whatever the records lack."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from bench_scene import Scene
from hypothesis import given, strategies as st

from protorynet.cli import main
from protorynet_lab.bench import read_results
from protorynet_lab.bench.appending import append_record
from protorynet_lab.bench.figures import Figure, figure_of, shown
from protorynet_lab.bench.markdown import escaped
from protorynet_lab.bench.panel import round_steps
from protorynet_lab.bench.recipe import RECIPE
from protorynet_lab.bench.recipe.frontier import frontier_svg
from protorynet_lab.bench.recipe.goals import accuracy_goals, faithfulness_goals
from protorynet_lab.bench.recipe.page import results_page
from protorynet_lab.bench.records import read_records
from protorynet_lab.bench.results import Results

Write = Callable[[Path], Path]


def add(folder: Path, **values: Any) -> None:
    """Append a record of a job; what is not given is as for IMDB, MiniLM, full, seed 0."""
    usual = {"kind": "job", "set": "imdb", "encoder": "minilm", "model": "full", "seed": 0}
    append_record(folder / "records.jsonl", {**usual, **values})


def page(folder: Path) -> str:
    return results_page(read_results(folder), None)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".jsonl"
    }


def test_all_pages_are_written_from_real_records(measured: Scene, written: Write) -> None:
    assert set(snapshot(written(measured.records))) == {
        "results.md",
        "frontier.svg",
        "results/dbpedia.json",
        "results/hotel.json",
    }


def test_writing_again_changes_nothing(measured: Scene, written: Write) -> None:
    first = snapshot(written(measured.records))
    assert snapshot(written(measured.records)) == first


def test_the_order_of_the_records_does_not_matter(scene: Scene, written: Write) -> None:
    first = snapshot(written(scene.records))
    path = scene.records / "hotel.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    assert snapshot(written(scene.records)) == first


def test_every_table_says_its_command_and_its_seeds(measured: Scene, written: Write) -> None:
    text = (written(measured.records) / "results.md").read_text(encoding="utf-8")
    sections = re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]
    with_tables = [section for section in sections if "|---|" in section]
    assert len(with_tables) >= 6
    for section in with_tables:
        commands = r"\. |\.\n\n- "
        assert re.search(
            rf"^\d( to \d)? seeds?(; .*)?({commands})`protorynet bench ", section, re.M
        )


def test_models_that_others_judged_are_measured_by_other_commands(tmp_path: Path) -> None:
    for encoder, judge in (("minilm", "gte-small"), ("minilm:static", "minilm")):
        add(tmp_path, encoder=encoder, judge=judge, accuracy=0.9)
    goals = page(tmp_path).split("## Goals")[1].split("## ")[0]
    commands = re.findall(r"--encoders (\S+) .*--judge (\S+) ", goals)
    assert sorted(commands) == [("minilm", "gte-small"), ("minilm:static", "minilm")]


def test_the_command_of_an_encoders_accuracies_is_about_its_data_sets(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.9)
    for name in ("imdb", "hotel"):
        add(tmp_path, set=name, encoder=None, model="bag-of-words", accuracy=0.8)
    accuracies = page(tmp_path).split("## Accuracy")[1].split("## Against")[0]
    assert re.findall(r"--sets (\S+) ", accuracies) == ["imdb"]


def test_a_data_set_on_which_all_failed_is_told(tmp_path: Path, written: Write) -> None:
    job = {"kind": "job", "set": "hotel", "encoder": "tiny", "model": "full", "seed": 0}
    append_record(tmp_path / "records" / "hotel.jsonl", {**job, "error": "a broken table"})
    page = (written(tmp_path / "records") / "results.md").read_text(encoding="utf-8")
    assert "hotel tiny full, seed 0: a broken table" in page


def test_the_json_holds_every_measure_of_the_records(measured: Scene, written: Write) -> None:
    summary = json.loads((written(measured.records) / "results" / "hotel.json").read_bytes())
    frozen = next(model for model in summary["models"] if model["model"] == "none")
    records, _ = read_records(measured.records / "hotel.jsonl")
    known = [record for record in records if record.model == "none" and not record.variant]
    names = {
        name for record in known for name in record.faithfulness if record.figure(name) is not None
    }
    assert names <= set(frozen["figures"])
    assert frozen["seeds"] == [0, 1]


def test_only_models_that_are_shown_keep_their_prototypes(measured: Scene) -> None:
    records, _ = read_records(measured.records / "hotel.jsonl")
    ours = [record for record in records if record.faithfulness]
    assert {(bool(record.variant), bool(record.prototypes)) for record in ours} == {
        (False, True),
        (True, False),
    }


def test_the_prototypes_are_ranked_by_score(measured: Scene, written: Write) -> None:
    text = (written(measured.records) / "results.md").read_text(encoding="utf-8")
    table = text.split("### Hotel\n")[1].split("##")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    scores = [float(row.split("|")[1]) for row in rows[1:]]
    assert scores == sorted(scores, reverse=True)


def test_the_papers_own_figures_stand_beside_ours(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.93, n_prototypes=15)
    assert "| IMDB | .930 (15) | .914 (8) | .871 | .931 | .877 |" in page(tmp_path)


def test_mean_and_spread_are_over_seeds(tmp_path: Path) -> None:
    for seed, accuracy in enumerate((0.932, 0.934, 0.936)):
        add(tmp_path, seed=seed, accuracy=accuracy, n_prototypes=15 + seed)
    assert "| IMDB | .934 ± .002 (15–17) |" in page(tmp_path)


def test_the_gap_to_the_ceiling_is_taken_seed_by_seed(tmp_path: Path) -> None:
    for seed, ours, ceiling in ((0, 0.90, 0.91), (1, 0.80, 0.81), (2, 0.99, None)):
        add(tmp_path, seed=seed, accuracy=ours)
        if ceiling is not None:
            add(tmp_path, seed=seed, accuracy=ceiling, model="ceiling-full")
    gap = read_results(tmp_path).ceiling_gap("imdb", "minilm", "full")
    assert gap is not None
    assert (round(gap.mean, 6), gap.n) == (0.01, 2)


def test_a_goal_is_met_or_missed_by_so_much(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.927)
    add(tmp_path, accuracy=0.95, encoder="gte-small")
    verdicts = {
        each.goal: each.verdict
        for each in accuracy_goals(read_results(tmp_path))
        if each.model == "full" and each.goal.startswith("IMDB: accuracy")
    }
    assert verdicts == {
        "IMDB: accuracy ≥ .945": "met",
        "IMDB: accuracy ≥ .930": "missed by .003",
    }


def test_a_goal_over_all_sets_shows_the_worst(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.9, faithfulness={"ids_only_accuracy": 0.899})
    add(tmp_path, set="hotel", accuracy=0.9, faithfulness={"ids_only_accuracy": 0.89})
    outcome = next(
        each
        for each in faithfulness_goals(read_results(tmp_path))
        if each.goal.startswith("ids-only") and each.model == "full"
    )
    assert outcome.measured == "Hotel .010"
    assert outcome.verdict == "missed on 1 of 2 sets by up to .005"


def test_seeds_trained_with_different_settings_are_told(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.9, recipe="a")
    add(tmp_path, accuracy=0.9, recipe="b", seed=1)
    assert "different settings:** IMDB, ours, full, minilm." in page(tmp_path)


def test_a_failed_job_is_listed_and_counts_for_nothing(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.9)
    add(tmp_path, seed=1, error="ValueError: no | luck")
    text = page(tmp_path)
    assert "- imdb minilm full, seed 1: ValueError: no \\| luck" in text
    assert "| IMDB | .900 |" in text


def test_a_later_record_of_a_job_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    add(tmp_path, error="ValueError: no luck")
    add(tmp_path, accuracy=0.9)
    assert "no luck" not in page(tmp_path)


def test_notes_go_under_what_falls_short(tmp_path: Path, written: Write) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "results-notes.md").write_text("Honest words.\n", encoding="utf-8")
    records = tmp_path / "records"
    add(records, accuracy=0.9)
    text = (written(records) / "results.md").read_text(encoding="utf-8")
    assert "## What falls short\n\nHonest words.\n" in text


def test_missing_figures_print_as_a_dash(tmp_path: Path) -> None:
    add(tmp_path)
    add(tmp_path, model="bag-of-words", encoder=None, set="hotel", accuracy=0.9)
    assert "| IMDB | – | – |" in page(tmp_path)


@pytest.mark.parametrize("model", RECIPE.models)
def test_one_bare_record_never_breaks_a_page(model: str, tmp_path: Path, written: Write) -> None:
    records = tmp_path / "records"
    add(records, model=model)
    add(records, model=model, seed=1, accuracy="high", prototypes=[{"scores": 3}, 4], seconds=[])
    ElementTree.parse(written(records) / "frontier.svg")


def test_an_empty_folder_gives_a_page_that_says_so(tmp_path: Path, written: Write) -> None:
    (tmp_path / "records").mkdir()
    docs = written(tmp_path / "records")
    assert "Nothing was measured yet." in (docs / "results.md").read_text(encoding="utf-8")
    assert "Nothing was measured yet." in (docs / "frontier.svg").read_text(encoding="utf-8")


def test_a_missing_folder_ends_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "recipe", "--from-records", "--out", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith("error: there is no folder ")


def test_a_set_with_a_hostile_name_stays_in_the_folder(tmp_path: Path, written: Write) -> None:
    records = tmp_path / "records"
    add(records, set="../../<script>", accuracy=0.9)
    docs = written(records)
    assert [path.name for path in (docs / "results").glob("*.json")] == ["_..__script_.json"]
    text = (docs / "results.md").read_text(encoding="utf-8")
    assert "<script>" not in re.sub("`[^`]*`", "", text)


def test_prototypes_of_several_classes_name_their_strongest(tmp_path: Path) -> None:
    scores = [{"a": 0.1, "b": 0.2, "c": 0.7}, {"a": 0.8, "b": 0.1, "c": 0.1}]
    prototypes = [
        {"sentence": f"Sentence {n}.", "usage": 0.5, "scores": each, "class_rate": each}
        for n, each in enumerate(scores)
    ]
    add(tmp_path, accuracy=0.9, prototypes=prototypes)
    text = page(tmp_path)
    assert text.index("| a | .80 | .80 | .500 | Sentence 1. |") < text.index("| c | .70 |")


def test_the_plot_tells_ours_from_the_papers_by_shape(measured: Scene) -> None:
    picture = ElementTree.fromstring(frontier_svg(read_results(measured.records)))
    space = "{http://www.w3.org/2000/svg}"
    titles = {
        shape.tag.removeprefix(space): title.text or ""
        for shape in picture.iter()
        for title in shape.findall(f"{space}title")
        if shape is not picture
    }
    assert "ours" in titles["circle"]
    assert "paper's" in titles["path"]


def test_the_plot_has_one_row_per_encoder(tmp_path: Path) -> None:
    add(tmp_path, accuracy=0.9, n_prototypes=15)
    one = frontier_svg(read_results(tmp_path))
    add(tmp_path, accuracy=0.95, n_prototypes=15, encoder="gte-small")
    two = frontier_svg(read_results(tmp_path))
    heights = [int(ElementTree.fromstring(svg).attrib["height"]) for svg in (one, two)]
    assert heights[1] > 1.5 * heights[0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_a_mean_lies_between_the_extremes(values: list[float]) -> None:
    figure = figure_of(values)
    assert isinstance(figure, Figure)
    assert min(values) - 1e-9 <= figure.mean <= max(values) + 1e-9


@given(st.floats(-1e6, 1e6, allow_nan=False))
def test_a_printed_figure_reads_back_as_itself(value: float) -> None:
    assert abs(float(shown(value).replace("−", "-")) - value) <= 0.0005001


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_lie_within_the_range_and_are_few(low: float, width: float) -> None:
    high = low + width
    steps = round_steps(low, high)
    slack = 1e-6 * max(1.0, abs(low), width)
    assert len(steps) <= 7
    assert all(low - slack <= step <= high + slack for step in steps)


@given(line=st.binary(max_size=200))
def test_no_line_of_bytes_breaks_the_reading_of_records(
    line: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(line + b"\n")
    read_records(path)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
_FIELDS = ("accuracy", "faithfulness", "prototypes", "seconds", "settings", "versions", "error")


@given(
    values=st.dictionaries(st.sampled_from(_FIELDS), _JSON), model=st.sampled_from(RECIPE.models)
)
def test_no_record_breaks_a_page(
    values: dict[str, Any], model: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "any"
    folder.mkdir(exist_ok=True)
    usual = {"kind": "job", "set": "imdb", "encoder": "e", "model": model, "seed": 0}
    (folder / "any.jsonl").write_text(json.dumps({**usual, **values}) + "\n", encoding="utf-8")
    results = read_results(folder)
    results_page(results, None).encode("utf-8", "backslashreplace")
    ElementTree.fromstring(frontier_svg(results))


@given(st.text())
def test_an_escaped_text_stays_in_its_cell(text: str) -> None:
    shown_text = escaped(text)
    assert "\n" not in shown_text
    assert not re.search(r"(?<!\\)(?:\\\\)*\|", shown_text)


def test_nothing_measured_has_no_sets() -> None:
    assert Results((), ()).sets == ()
