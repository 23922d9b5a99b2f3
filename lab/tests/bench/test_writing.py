"""The pages: complete, escaped, the same from the same records, and honest about what they lack."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

from bench_scene import add
from hypothesis import given, strategies as st

from protorynet.cli import main
from protorynet_lab.bench import EXPERIMENTS, read_results
from protorynet_lab.bench.bench_blocks import escape_markdown, render_markdown
from protorynet_lab.bench.bench_recipe import RECIPE
from protorynet_lab.bench.bench_records import read_records

NAMES = [each.name for each in EXPERIMENTS]


def page(folder: Path) -> str:
    return render_markdown(RECIPE.page(read_results(folder)))


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".jsonl"
    }


def test_all_pages_are_written_from_real_records(measured, written):
    files = {"results.md", "frontier.svg", "results/dbpedia.json", "results/hotel.json"}
    assert set(snapshot(written(measured.records))) == files
    files |= {f"results/{name}.{ending}" for name in NAMES for ending in ("md", "html")}
    files |= {f"results/{name}.svg" for name in ("pruning", "prototypes", "sensitivity")}
    assert set(snapshot(written(measured.records, "all"))) == {*files, "paper-tables.md"}


def test_the_page_for_the_paper_has_every_experiment_and_picture(measured):
    text = (measured.out.parent / "paper-tables.md").read_text(encoding="utf-8")
    assert all(f"## {each.title}\n" in text for each in EXPERIMENTS)
    shown = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert len(shown) == 3
    for name in shown:
        ElementTree.parse(measured.out.parent / name)


def test_each_data_set_is_in_the_experiments_that_it_suits(measured):
    pages = {name: (measured.out / f"{name}.md").read_text("utf-8") for name in NAMES}
    assert {name for name, page in pages.items() if "DBPedia" in page} == {"multiclass", "automata"}
    assert "Hotel" not in pages["multiclass"]


def test_the_same_records_in_any_order_give_the_same_bytes(scene, written):
    first = snapshot(written(scene.records, "all"))
    path = scene.records / "hotel.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    assert snapshot(written(scene.records, "all")) == first


def test_a_page_loads_nothing_from_elsewhere(measured):
    for name in NAMES:
        text = (measured.out / f"{name}.html").read_text(encoding="utf-8")
        assert not re.search(r"<(script|iframe)|(src|href)=\"(?!data:)", text)
        assert "default-src 'none'" in text


def test_notes_follow_their_table(measured, written):
    notes = written(measured.records, "all") / "results" / "notes"
    notes.mkdir()
    (notes / "table2.md").write_text("Long ones win.\n", encoding="utf-8")
    (notes.parent.parent / "results-notes.md").write_text("Honest words.\n", encoding="utf-8")
    docs = written(measured.records, "all")
    text = (docs / "paper-tables.md").read_text(encoding="utf-8")
    section = text.split("\n## Short and long documents\n")[1].split("\n## ")[0]
    assert section.rstrip().endswith("Long ones win.")
    results = (docs / "results.md").read_text(encoding="utf-8")
    assert "## What falls short\n\nHonest words.\n" in results


def test_every_table_says_its_command_and_its_seeds(measured, written):
    text = (written(measured.records) / "results.md").read_text(encoding="utf-8")
    sections = re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]
    with_tables = [section for section in sections if "|---|" in section]
    assert len(with_tables) >= 5
    for section in with_tables:
        commands = r"\. |\.\n\n- "
        assert re.search(
            rf"^\d( to \d)? seeds?(; .*)?({commands})`protorynet bench ", section, re.M
        )


def test_the_json_holds_every_measure_of_the_records(measured, written):
    summary = json.loads((written(measured.records) / "results" / "hotel.json").read_bytes())
    frozen = next(model for model in summary["models"] if model["model"] == "none")
    records, _ = read_records(measured.records / "hotel.jsonl")
    known = [record for record in records if record.model == "none" and not record.variant]
    assert {name for each in known for name in each.faithfulness} <= set(frozen["figures"])
    assert set(frozen["figures"]["accuracy"]) == {"mean", "n", "spread"}
    assert frozen["seeds"] == [0, 1]


def test_prototypes_are_ranked_by_class_and_score(tmp_path):
    scores = [{"a": 0.1, "b": 0.2, "c": 0.7}, {"a": 0.6, "b": 0.1}, {"a": 0.8, "b": 0.1, "c": 0.1}]
    prototypes = [
        {"sentence": f"Sentence {n}.", "usage": 0.5, "scores": each, "class_rate": each}
        for n, each in enumerate(scores)
    ]
    add(tmp_path, accuracy=0.9, prototypes=prototypes)
    rows = re.findall(r"^\| ([abc]) \| (\S+) \| .* Sentence", page(tmp_path), re.M)
    assert rows == [("a", ".80"), ("a", ".60"), ("c", ".70")]


def test_mean_and_spread_are_over_seeds_and_a_mix_of_settings_is_named(tmp_path):
    for seed, accuracy in enumerate((0.932, 0.934, 0.936)):
        recipe = "a" if seed else "b"
        add(tmp_path, seed=seed, accuracy=accuracy, n_prototypes=15 + seed, recipe=recipe)
    text = page(tmp_path)
    assert "| IMDB | .934 ± .002 (15–17) |" in text
    assert "different settings: IMDB, ours, full, minilm." in text


def test_the_gap_to_the_ceiling_is_taken_seed_by_seed(tmp_path):
    for seed, ours, ceiling in ((0, 0.90, 0.91), (1, 0.80, 0.81), (2, 0.99, None)):
        add(tmp_path, seed=seed, accuracy=ours)
        if ceiling is not None:
            add(tmp_path, seed=seed, accuracy=ceiling, model="ceiling-full")
    assert "| IMDB | .860 ± .071 | .010 ± .000 |" in page(tmp_path)


def test_a_failed_job_is_listed_and_counts_for_nothing_until_it_is_measured(tmp_path):
    add(tmp_path, accuracy=0.9)
    add(tmp_path, seed=1, error="ValueError: no | luck")
    text = page(tmp_path)
    assert "- imdb minilm full, seed 1: ValueError: no \\| luck" in text
    assert "| IMDB | .900 |" in text
    add(tmp_path, seed=1, accuracy=0.9)
    assert "luck" not in page(tmp_path)


def test_a_folder_without_figures_gives_a_page_that_says_so(tmp_path, written):
    records = tmp_path / "records"
    records.mkdir()
    add(records, set="hotel", error="a broken table")
    text = (written(records) / "results.md").read_text(encoding="utf-8")
    assert "Nothing was measured yet." in text
    assert "hotel minilm full, seed 0: a broken table" in text


def test_a_missing_folder_ends_in_one_line(tmp_path, capsys):
    assert main(["bench", "recipe", "--from-records", "--out", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith("error: there is no folder ")


def test_a_set_with_a_hostile_name_stays_in_the_folder(tmp_path, written):
    records = tmp_path / "records"
    add(records, set="../../<script>", accuracy=0.9, n_prototypes=3)
    docs = written(records)
    assert [path.name for path in (docs / "results").glob("*.json")] == ["_..__script_.json"]
    text = (docs / "results.md").read_text(encoding="utf-8")
    assert "<script>" not in re.sub("`[^`]*`", "", text)
    ElementTree.parse(docs / "frontier.svg")


@given(line=st.binary(max_size=200))
def test_no_line_of_bytes_breaks_the_reading_of_records(line, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(line + b"\n")
    records, stabilities = read_records(path)
    assert len(records) + len(stabilities) <= 1 + line.count(b"\n")


@given(st.text())
def test_an_escaped_text_stays_in_its_cell(text):
    escaped = escape_markdown(text)
    assert "\n" not in escaped
    assert not re.search(r"(?<!\\)(?:\\\\)*\|", escaped)


def test_records_of_before_are_of_prototypes_of_one_sentence(tmp_path):
    names = {"set": "imdb", "encoder": "minilm", "seed": 0, "accuracy": 0.9}
    prototypes = [{"id": 1, "sentence": "Fine.", "usage": 1, "scores": {"0": 0.1, "1": 0.9}}]
    lines = [
        {**names, "kind": "job", "model": model, "prototypes": prototypes}
        for model in ("full", "adapter", "none", "paper")
    ]
    stable = {**names, "kind": "stability", "model": "full", "value": 0.5}
    text = "".join(json.dumps(line) + "\n" for line in (*lines, stable))
    (tmp_path / "imdb.jsonl").write_text(text, encoding="utf-8")
    add(tmp_path, accuracy=0.8, n_prototypes=1, n_members=30)
    groups = {group.kind.name: group for group in read_results(tmp_path).groups}
    assert list(groups) == ["full", "single-full", "single", "single-none", "paper"]
    assert (groups["single-full"].stability, groups["full"].stability) == (0.5, None)
    shown = page(tmp_path)
    assert "| Their sentences | 30 | – | – | – | – |" in shown
    (tmp_path / "records.jsonl").unlink()
    assert "Their sentences" not in page(tmp_path)
