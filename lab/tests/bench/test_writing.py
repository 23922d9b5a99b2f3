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
    docs = written(measured.records, "all")
    assert set(snapshot(docs)) == {*files, "paper-tables.md"}
    text = (docs / "paper-tables.md").read_text(encoding="utf-8")
    assert all(f"## {each.title}\n" in text for each in EXPERIMENTS)
    for name in re.findall(r"!\[.*?\]\((.*?)\)", text):
        ElementTree.parse(docs / name)


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
