import contextlib
import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from protorynet.data import read_table
from protorynet.errors import TableError

REVIEWS = {"text": ["Good.", "Bad.", "Fine."], "label": ["pos", "neg", "pos"]}


@pytest.fixture
def write(tmp_path: Path):
    def _write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        raw = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return _write


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


# Sources


def csv_of(table: dict) -> str:
    return pd.DataFrame(table).to_csv(index=False)


def jsonl_of(table: dict) -> str:
    return pd.DataFrame(table).to_json(orient="records", lines=True)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", csv_of(REVIEWS)),
        ("A.CSV", csv_of(REVIEWS)),
        ("a.csv.gz", csv_of(REVIEWS)),
        ("a.tsv", pd.DataFrame(REVIEWS).to_csv(index=False, sep="\t")),
        ("a.tsv.gz", pd.DataFrame(REVIEWS).to_csv(index=False, sep="\t")),
        ("a.jsonl", jsonl_of(REVIEWS)),
        ("a.ndjson", jsonl_of(REVIEWS)),
        ("a.jsonl.gz", jsonl_of(REVIEWS)),
        ("bom.csv", "\ufeff" + csv_of(REVIEWS)),
        ("bom.jsonl", "\ufeff" + jsonl_of(REVIEWS)),
    ],
)
def test_every_kind_of_text_file_gives_the_same_table(write, name, content):
    table = read_table(write(name, content), text="text", label="label")
    assert (table.texts, table.labels) == (("Good.", "Bad.", "Fine."), ("pos", "neg", "pos"))


def test_a_parquet_file_is_read(tmp_path):
    pq.write_table(pa.table(REVIEWS), tmp_path / "a.parquet")
    assert read_table(str(tmp_path / "a.parquet")).labels == ("pos", "neg", "pos")


def test_a_parquet_folder_s_name_adds_no_column(tmp_path):
    folder = tmp_path / "year=2020"
    folder.mkdir()
    pq.write_table(pa.table({"text": ["a", "b"], "kind": [1, 2]}), folder / "a.parquet")
    assert read_table(folder / "a.parquet").label_column == "kind"


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table])
def test_a_table_in_memory_is_read(make):
    table = read_table(make(REVIEWS))
    assert (table.texts, table.labels) == (("Good.", "Bad.", "Fine."), ("pos", "neg", "pos"))


def test_categories_are_read_as_their_values():
    categories = pd.DataFrame(REVIEWS).astype({"label": "category"})
    assert read_table(categories).labels == ("pos", "neg", "pos")


@pytest.mark.parametrize("kind", [pa.string_view(), pa.dictionary(pa.int8(), pa.large_string())])
def test_every_way_arrow_holds_text_is_read(kind):
    columns = {name: pa.array(values).cast(kind) for name, values in REVIEWS.items()}
    assert read_table(pa.table(columns)).labels == ("pos", "neg", "pos")


def test_a_dataset_is_read_in_the_order_of_its_rows():
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_dict(REVIEWS).select([2, 0])
    assert read_table(dataset).texts == ("Fine.", "Good.")


def test_a_split_of_a_dataset_dict_is_read():
    datasets = pytest.importorskip("datasets")
    both = datasets.DatasetDict(
        train=datasets.Dataset.from_dict(REVIEWS), test=datasets.Dataset.from_dict(REVIEWS)
    )
    assert len(read_table(both, split="test")) == 3


def test_a_dataset_dict_without_a_split_guesses_the_mistake():
    datasets = pytest.importorskip("datasets")
    both = datasets.DatasetDict(train=datasets.Dataset.from_dict(REVIEWS))
    with pytest.raises(TableError, match=r"did you mean dataset\['train'\]\?"):
        read_table(both)


def test_an_unknown_split_of_a_dataset_dict_lists_those_there_are():
    datasets = pytest.importorskip("datasets")
    both = datasets.DatasetDict(train=datasets.Dataset.from_dict(REVIEWS))
    with pytest.raises(TableError, match="no split 'dev'; it has 'train'"):
        read_table(both, split="dev")


def test_a_streamed_dataset_is_refused():
    datasets = pytest.importorskip("datasets")
    with pytest.raises(TableError, match="streaming=False"):
        read_table(datasets.Dataset.from_dict(REVIEWS).to_iterable_dataset())


@pytest.mark.parametrize("source", [["Good.", "Bad."], None, 5, pd.Series(["Good."])])
def test_what_is_no_table_is_refused(source):
    with pytest.raises(TableError, match="expected the path of a file, a pandas DataFrame"):
        read_table(source)


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(TableError, match="is a directory"):
        read_table(tmp_path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(TableError, match=r"there is no file .*nowhere\.csv"):
        read_table(tmp_path / "nowhere.csv")


@pytest.mark.parametrize("name", ["a.xlsx", "a.json", "a", "a.parquet.gz", "a.gz"])
def test_an_unknown_ending_lists_the_known_ones(write, name):
    with pytest.raises(TableError, match=r"known are \.csv, \.tsv, \.jsonl, \.ndjson .* \.parquet"):
        read_table(write(name, "text,label\na,b\n"))


@pytest.mark.parametrize("keep", [3, 100, -1])
def test_a_truncated_parquet_file_is_refused(tmp_path, keep):
    pq.write_table(pa.table(REVIEWS), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[:keep])
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        read_table(tmp_path / "b.parquet")


def test_a_table_without_rows_is_refused():
    with pytest.raises(TableError, match="the DataFrame holds no rows"):
        read_table(pd.DataFrame({"text": [], "label": []}))


def test_a_table_without_columns_is_refused():
    with pytest.raises(TableError, match="has no columns"):
        read_table(pd.DataFrame(index=range(3)))


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame([["a", "b", "c"]], columns=["text", "label", "label"]),
        pa.table([["a"], ["b"], ["c"]], names=["text", "label", "label"]),
    ],
)
def test_repeated_column_names_are_refused(source):
    with pytest.raises(TableError, match="more than one column named 'label'"):
        read_table(source)


# JSON lines


def test_json_lines_with_differing_keys_are_filled_with_nothing(write):
    path = write("a.jsonl", '{"text": "a", "label": 1}\n\n{"label": 2, "text": "b", "more": [1]}\n')
    assert read_table(path).labels == (1, 2)


def test_a_malformed_line_is_named(write):
    path = write("a.jsonl", '{"text": "a", "label": 1}\n\n{"text": \n')
    with pytest.raises(TableError, match=r"line 3 of .*a\.jsonl is not valid JSON"):
        read_table(path)


@pytest.mark.parametrize("line", ["[" * 100_000, "9" * 5_000, "[1]", '"text"', "null"])
def test_a_line_that_is_no_object_is_named(write, line):
    with pytest.raises(TableError, match=r"line 1 of .* expected one object per line"):
        read_table(write("a.jsonl", line))


def test_a_separator_of_unicode_lines_inside_a_string_ends_no_line(write):
    path = write("a.jsonl", json.dumps({"text": "a\u2028b", "label": 1}, ensure_ascii=False))
    assert read_table(path).texts == ("a\u2028b",)


def test_labels_that_mix_numbers_and_words_are_words(write):
    path = write("a.jsonl", '{"text": "a", "label": 1}\n{"text": "b", "label": "two"}\n')
    assert read_table(path).labels == ("1", "two")


def test_a_column_of_mixed_kinds_does_no_harm_unless_it_is_chosen(write):
    path = write(
        "a.jsonl", '{"text": "a", "label": 1, "m": {"x": 1}}\n{"text": "b", "label": 2, "m": "x"}\n'
    )
    assert read_table(path).labels == (1, 2)
    with pytest.raises(TableError, match=r"column 'm' .* mixes values of several kinds"):
        read_table(path, label="m")


@pytest.mark.parametrize("name", ["text", "\\ud800"])
def test_half_a_character_in_json_is_refused(write, name):
    with pytest.raises(TableError, match="holds half a Unicode character"):
        read_table(write("a.jsonl", f'{{"{name}": "a \\ud800", "label": 1}}'))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
NAME = st.sampled_from(["text", "label", "split", "other"]) | st.text(max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.dictionaries(NAME, JSON, max_size=4), max_size=4), st.booleans())
def test_any_records_give_a_table_or_a_clear_error(write, records, skip_empty):
    path = write("a.jsonl", "\n".join(json.dumps(record) for record in records))
    with contextlib.suppress(TableError):
        table = read_table(path, skip_empty=skip_empty, prefer_split="train")
        assert len(table.texts) == len(table.labels) == len(table.rows) > 0


@settings(deadline=None)
@given(st.lists(st.tuples(JSON | st.binary(max_size=2), JSON), min_size=1, max_size=4))
def test_any_data_frame_gives_a_table_or_a_clear_error(values):
    with contextlib.suppress(TableError):
        assert len(read_table(pd.DataFrame(values, columns=["text", "label"], dtype=object))) > 0


# Columns


@pytest.mark.parametrize("name", ["text", "Review", "COMMENT", "body", "sentence"])
def test_a_well_known_text_column_is_guessed(name):
    table = read_table(pd.DataFrame({"url": ["http://long/long"], name: ["Hi."]}), labelled=False)
    assert table.text_column == name
    assert table.notes == (f"text column: {name!r} (guessed; choose with --text)",)


def test_otherwise_the_longest_texts_are_guessed():
    source = frame(city=["Rome", "Oslo"], words=["A long text.", "Another one."], label=[1, 2])
    assert read_table(source).text_column == "words"


def test_a_well_known_name_of_a_column_of_numbers_is_no_text():
    assert read_table(frame(text=[1, 2], words=["a", "b"], label=[1, 2])).text_column == "words"


@pytest.mark.parametrize("name", ["label", "Class", "stars", "SENTIMENT", "product", "y"])
def test_a_well_known_label_column_is_guessed(name):
    table = read_table(pd.DataFrame({"text": ["a", "b"], "n": [1, 2], name: ["p", "q"]}))
    assert table.label_column == name
    assert f"label column: {name!r} (guessed; choose with --label)" in table.notes


def test_otherwise_the_only_column_of_few_values_is_guessed():
    source = frame(
        text=[f"t{i}" for i in range(60)], n=range(60), kind=["p", "q"] * 30, c=["c"] * 60
    )
    assert read_table(source).label_column == "kind"


def test_an_unclear_label_column_is_refused_with_the_remedy():
    with pytest.raises(TableError, match=r"'text', 'm', 'n'\. Use --label COLUMN \(label=…\)"):
        read_table(frame(text=["a", "b"], m=[1, 2], n=[1, 2]))


def test_columns_that_are_named_give_no_notes():
    assert read_table(frame(a=["x", "y"], b=[1, 2]), text="a", label="b").notes == ()


def test_a_missing_column_suggests_the_nearest():
    with pytest.raises(
        TableError, match=r"no column 'Labels'; it has 'text', 'label'\. Did you mean"
    ):
        read_table(pd.DataFrame(REVIEWS), label="Labels")


def test_a_missing_column_unlike_any_lists_those_there_are():
    with pytest.raises(TableError, match=r"it has 'text', 'label'\. Choose one with --text"):
        read_table(pd.DataFrame(REVIEWS), text="zzz")


def test_one_column_cannot_be_text_and_label():
    with pytest.raises(TableError, match="cannot be both"):
        read_table(pd.DataFrame(REVIEWS), text="text", label="text")


def test_no_column_of_texts_is_refused():
    with pytest.raises(TableError, match="has no column of texts; its columns are 'a'"):
        read_table(frame(a=[1]), labelled=False)


def test_without_labels_none_are_read():
    table = read_table(pd.DataFrame(REVIEWS), labelled=False)
    assert (table.labels, table.label_column) == (None, None)


# Splits

SPLIT = frame(text=list("abcd"), label=[1, 2, 1, 2], Split=["train", "test", "train", None])


def test_a_split_keeps_its_rows_in_order():
    table = read_table(SPLIT, split="train")
    assert (table.texts, table.rows.tolist(), table.rows.dtype) == (("a", "c"), [0, 2], np.int64)
    assert "using the 2 rows with split 'train' of 4" in table.notes


def test_an_unknown_split_lists_those_there_are():
    with pytest.raises(TableError, match="no split 'dev'; it has 'train', 'test'"):
        read_table(SPLIT, split="dev")


def test_a_split_of_a_table_without_splits_is_refused():
    with pytest.raises(TableError, match="no column 'split' that names splits, so 'train'"):
        read_table(pd.DataFrame(REVIEWS), split="train")


def test_a_preferred_split_is_used_and_told():
    table = read_table(SPLIT, prefer_split="test")
    assert table.texts == ("b",)
    assert "using the 1 rows with split 'test' of 4; choose with --split" in table.notes


@pytest.mark.parametrize("source", [SPLIT, pd.DataFrame(REVIEWS)])
def test_a_preferred_split_that_is_not_there_changes_nothing(source):
    assert len(read_table(source, prefer_split="validation")) == len(source)


def test_a_split_overrules_the_preferred_one():
    assert read_table(SPLIT, split="train", prefer_split="test").texts == ("a", "c")


# Missing and unusable values


@pytest.mark.parametrize("blank", [None, float("nan"), "", "  \n", "\u3000"])
def test_a_blank_text_is_refused_with_its_row(blank):
    with pytest.raises(TableError, match=r"1 of 2 rows .* 'text': row 1 \(counted from 0\)"):
        read_table(frame(text=["a", blank], label=[1, 2]))


@pytest.mark.parametrize("blank", [None, float("nan"), "", "  \n"])
def test_a_blank_text_is_skipped_on_request(blank):
    table = read_table(frame(text=[blank, "b"], label=[None, "x"]), skip_empty=True)
    assert (table.texts, table.labels, table.rows.tolist()) == (("b",), ("x",), [1])
    assert "skipped 1 of 2 rows without text" in table.notes


def test_rows_are_counted_in_the_source_not_in_the_split():
    source = frame(text=["a", "b", ""], label=[1, 2, 1], split=["test", "train", "train"])
    with pytest.raises(TableError, match="row 2 "):
        read_table(source, split="train")


@pytest.mark.parametrize("skip_empty", [True, False])
def test_a_table_of_blank_texts_is_refused(skip_empty):
    with pytest.raises(TableError, match="text in column 'text'"):
        read_table(frame(text=[None, None], label=[1, 2]), text="text", skip_empty=skip_empty)


@pytest.mark.parametrize("missing", [None, float("nan"), "", " "])
def test_a_missing_label_is_refused_with_its_row(missing):
    with pytest.raises(TableError, match=r"1 of 2 rows .* no label in column 'label': row 1 "):
        read_table(frame(text=["a", "b"], label=["x", missing]), skip_empty=True)


@pytest.mark.parametrize(
    "values", [[1, 2], [b"a", b"b"], [b"a", "b"], [["a"], ["b"]], [True, False]]
)
def test_a_text_column_without_text_is_refused(values):
    with pytest.raises(TableError, match=r"column 'text' of the DataFrame holds .*, not text"):
        read_table(pd.DataFrame({"text": values, "label": [1, 2]}), text="text")


@pytest.mark.parametrize(
    "values", [[b"a", b"b"], pd.to_datetime(["2020", "2021"]), [{"a": 1}, {"a": 2}]]
)
def test_a_label_column_that_names_no_classes_is_refused(values):
    with pytest.raises(TableError, match="expected labels that are text, numbers, true/false"):
        read_table(pd.DataFrame({"text": ["a", "b"], "label": values}))


# Labels


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1, 2], (1, 2)),
        ([1.0, 2.0], (1, 2)),
        ([1.5, 2.0], (1.5, 2.0)),
        ([True, False], (True, False)),
        (["1", "2"], ("1", "2")),
        ([["a", "b"], []], (("a", "b"), ())),
        ([[], []], ((), ())),
        ([[1], [1, 2]], (("1",), ("1", "2"))),
    ],
)
def test_labels_keep_their_kind(values, labels):
    read = read_table(pd.DataFrame({"text": ["a", "b"], "label": values})).labels
    assert read == labels
    assert [type(label) for label in read] == [type(label) for label in labels]


def test_a_missing_label_in_a_list_is_refused():
    with pytest.raises(TableError, match="no label in column 'label': row 1 "):
        read_table(pa.table({"text": ["a", "b"], "label": [["x"], ["y", None]]}))


def test_labels_with_a_gap_are_whole_numbers_once_the_gap_is_skipped():
    table = read_table(frame(text=["a", None, "c"], label=[1, None, 2]), skip_empty=True)
    assert table.labels == (1, 2)
    assert type(table.labels[0]) is int
