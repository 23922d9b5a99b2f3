import contextlib
import gzip
import sys
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from protorynet.data import open_table, read_columns, read_table
from protorynet.errors import MissingExtraError, TableError

REVIEWS = {"text": ["Good.", "Bad.", "Fine."], "label": ["pos", "neg", "pos"]}
CONTENTS = {
    "csv": pd.DataFrame(REVIEWS).to_csv(index=False),
    "tsv": pd.DataFrame(REVIEWS).to_csv(index=False, sep="\t"),
    "jsonl": pd.DataFrame(REVIEWS).to_json(orient="records", lines=True),
}


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


SPLIT = frame(text=list("abcd"), label=[1, 2, 1, 2], Split=["train", "test", "train", None])

# Sources


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(("form", "pack"), [("a.{}", bytes), ("A.{}.gz", gzip.compress)])
@pytest.mark.parametrize("ending", ["csv", "CSV", "tsv", "jsonl", "ndjson"])
def test_every_kind_of_text_file_gives_the_same_table(write, ending, form, pack, mark):
    content = mark + CONTENTS[{"CSV": "csv", "ndjson": "jsonl"}.get(ending, ending)]
    path = write(form.format(ending), pack(content.encode()))
    table = read_table(path, text="text", label="label")
    assert (table.texts, table.labels) == (("Good.", "Bad.", "Fine."), ("pos", "neg", "pos"))


def test_a_parquet_file_is_read_and_its_folder_s_name_adds_no_column(tmp_path):
    folder = tmp_path / "year=2020"
    folder.mkdir()
    pq.write_table(pa.table({"text": ["a", "b"], "kind": [1, 2]}), folder / "a.parquet")
    table = read_table(str(folder / "a.parquet"))
    assert (table.texts, table.label_column, table.labels) == (("a", "b"), "kind", (1, 2))


def write_sheet(path: Path, *rows: tuple[object, ...]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_an_excel_file_is_read_with_numbers_among_words_as_words(tmp_path):
    rows = [("text", "label", "n"), ("Good.", 1, 2), (42, 0), (None, None, None), ("Bad.", 1), ()]
    path = write_sheet(tmp_path / "t.xlsx", *rows, (None, None, None))
    table = read_table(path, skip_empty=True)
    assert (table.texts, table.labels) == (("Good.", "42", "Bad."), (1, 0, 1))
    assert table.rows.tolist() == [0, 1, 3]
    reader = open_table(path)
    assert [batch.num_rows for batch in reader.batches(1)] == [3]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((("text", None, "label"), ("Good.", 1, 2)), "column 2 of .* has no name"),
        ((("text", "label"), ("Good.", 1, 2)), "row 2 of .* has more cells than the 2 columns"),
        ((("text", "text"),), "more than one column named 'text'"),
        (((),), "no columns"),
        ((("text", "label"),), "holds no rows"),
    ],
)
def test_an_excel_sheet_that_is_no_table_is_refused(tmp_path, rows, message):
    with pytest.raises(TableError, match=message):
        read_table(write_sheet(tmp_path / "t.xlsx", *rows))


def test_an_excel_file_that_is_damaged_or_a_bomb_is_refused(tmp_path, monkeypatch):
    path = write_sheet(tmp_path / "t.xlsx", ("text", "label"), ("Good.", 1))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("bomb", bytes(2**22))
    with pytest.raises(TableError, match="when unpacked; save it as CSV"):
        read_table(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(TableError, match="cannot be read as an Excel file"):
        read_table(path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'protorynet\[excel\]'"):
        read_table(path)


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame(REVIEWS),
        pa.table(REVIEWS),
        pd.DataFrame(REVIEWS).astype({"label": "category"}),
        pa.table(REVIEWS).cast(pa.schema([(n, pa.string_view()) for n in REVIEWS])),
        pa.table({n: pa.array(v).dictionary_encode() for n, v in REVIEWS.items()}),
    ],
    ids=["frame", "arrow", "categories", "views", "dictionaries"],
)
def test_a_table_in_memory_is_read_however_it_holds_text(source):
    table = read_table(source)
    assert (table.texts, table.labels) == (("Good.", "Bad.", "Fine."), ("pos", "neg", "pos"))


def test_datasets_are_read_by_split_and_in_the_order_of_their_rows():
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_dict(REVIEWS)
    assert read_table(dataset.select([2, 0])).texts == ("Fine.", "Good.")
    both = datasets.DatasetDict(train=dataset, test=dataset)
    assert len(read_table(both, split="test")) == 3
    with pytest.raises(TableError, match=r"did you mean dataset\['train'\]\?"):
        read_table(both)
    with pytest.raises(TableError, match="no split 'dev'; it has 'train', 'test'"):
        read_table(both, split="dev")
    with pytest.raises(TableError, match="streaming=False"):
        read_table(dataset.to_iterable_dataset())


TWICE = ["text", "label", "label"]
NO_SOURCE = "expected the path of a file, a pandas DataFrame"
ENDINGS = r"known are \.csv, \.tsv, \.jsonl, \.ndjson .* \.parquet"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        *((it, NO_SOURCE) for it in (["a"], None, 5, pd.Series(["Good."]))),
        (Path(), "is a directory"),
        ("nowhere.csv", r"there is no file nowhere\.csv"),
        *((name, ENDINGS) for name in ["a.xls", "a.json", "a", "a.parquet.gz", "a.gz"]),
        (frame(text=[], label=[]), "the DataFrame holds no rows"),
        (pd.DataFrame(index=range(3)), "has no columns"),
        (pd.DataFrame([["a", "b", "c"]], columns=TWICE), "more than one column named 'label'"),
        (pa.table([["a"], ["b"], ["c"]], names=TWICE), "more than one column named 'label'"),
    ],
)
def test_what_is_no_table_is_refused(write, source, message):
    with pytest.raises(TableError, match=message):
        read_table(write(source, "text,label\na,b\n") if message is ENDINGS else source)


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        ('{"text": "a", "label": 1}\n\n{"label": 2, "text": "b", "more": [1]}\n', (1, 2)),
        ('{"text": "a", "label": 1}\n{"text": "b", "label": "two"}\n', ("1", "two")),
        ('{"text": "a\u2028b", "label": 1}', (1,)),
    ],
    ids=["keys that differ", "numbers among words", "a separator of lines in a string"],
)
def test_objects_of_many_forms_are_read(write, content, labels):
    assert read_table(write("a.jsonl", content)).labels == labels


def test_numbers_among_words_are_words_and_other_mixtures_are_left_out(write, monkeypatch):
    monkeypatch.setattr("protorynet.data.json_lines._LINES_PER_BATCH", 2)
    values = ["1", "1.5", "2", "3", '"x"', "true", "null"]
    lines = [f'{{"text": "a", "n": {value}}}' for value in values]
    columns = read_columns(write("a.jsonl", "\n".join(lines)))
    assert columns["n"].to_pylist() == ["1", "1.5", "2", "3", "x", "True", None]
    mixed = '{"text": "a", "label": 1, "m": {"x": 1}}\n{"text": "b", "label": 2, "m": "x"}\n'
    assert read_table(write("b.jsonl", mixed)).labels == (1, 2)
    with pytest.raises(TableError, match=r"column 'm' .* mixes values of several kinds"):
        read_table(write("b.jsonl", mixed), label="m")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a", "label": 1}\n\n{"text": \n', r"line 3 of .*a\.jsonl is not valid JSON"),
        *(
            (line, r"line 1 of .* expected one object per line")
            for line in ["[" * 100_000, "9" * 5_000, "[1]", '"text"', "null"]
        ),
        ('{"text": "a \\ud800", "label": 1}', "holds half a Unicode character"),
        ('{"\\ud800": "a", "label": 1}', "holds half a Unicode character"),
        ('{"text": "a"}\n{"text": "caf\xe9"}'.encode("latin-1"), "line 2 of .* is not UTF-8 text"),
    ],
    ids=["malformed", "deep", "long number", "list", "text", "null", "half", "half name", "latin"],
)
def test_a_line_that_is_no_object_is_named(write, content, message):
    with pytest.raises(TableError, match=message):
        read_table(write("a.jsonl", content))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@settings(deadline=None)
@given(st.lists(st.tuples(JSON | st.binary(max_size=2), JSON), min_size=1, max_size=4))
def test_any_data_frame_gives_a_table_or_a_clear_error(values):
    with contextlib.suppress(TableError):
        assert len(read_table(pd.DataFrame(values, columns=["text", "label"], dtype=object))) > 0


@pytest.mark.parametrize(
    ("columns", "guess"),
    [
        *(
            ({"url": ["http://long/long"] * 2, name: ["Hi.", "Ho."], "label": [1, 2]}, name)
            for name in ["text", "Review", "COMMENT", "body", "sentence"]
        ),
        ({"city": ["Rome", "Oslo"], "words": ["A long text.", "One."], "label": [1, 2]}, "words"),
        ({"text": [1, 2], "words": ["a", "b"], "label": [1, 2]}, "words"),
    ],
)
def test_a_well_known_text_column_is_guessed_or_that_of_the_longest_texts(columns, guess):
    table = read_table(pd.DataFrame(columns), label="label")
    assert table.text_column == guess
    assert table.notes == (f"text column: {guess!r} (guessed; choose with --text)",)


@pytest.mark.parametrize("name", ["label", "Class", "stars", "SENTIMENT", "product", "y"])
def test_a_well_known_label_column_is_guessed_or_the_only_one_of_few_values(name):
    table = read_table(pd.DataFrame({"text": ["a", "b"], "n": [1, 2], name: ["p", "q"]}))
    assert table.label_column == name
    assert f"label column: {name!r} (guessed; choose with --label)" in table.notes
    texts = [f"t{i}" for i in range(60)]
    likely = frame(text=texts, n=range(60), kind=["p", "q"] * 30, c=["c"] * 60)
    assert read_table(likely).label_column == "kind"


@pytest.mark.parametrize(
    ("columns", "how", "message"),
    [
        ({"text": ["a", "b"], "m": [1, 2], "n": [1, 2]}, {}, r"'m', 'n'\. Use --label COLUMN \(l"),
        (REVIEWS, {"label": "Labels"}, r"no column 'Labels'; it has 'label', 'text'\. Choose"),
        (REVIEWS, {"text": "zzz"}, r"it has 'text', 'label'\. Choose with --text"),
        (REVIEWS, {"text": "text", "label": "text"}, "cannot be both"),
        (
            {"text": [None], "label": [1]},
            {"text": "text", "skip_empty": True},
            "no row of .* has t",
        ),
        ({"a": [1]}, {"labelled": False}, "has no column of texts; its columns are 'a'"),
        (REVIEWS, {"split": "train"}, "no column 'split' that names splits, so 'train'"),
        (SPLIT, {"split": "dev"}, "no split 'dev'; it has 'train', 'test'"),
        *(
            ({"text": values, "label": [1, 2]}, {"text": "text"}, "holds .*, not text")
            for values in ([1, 2], [b"a", b"b"], [b"a", "b"], [["a"], ["b"]], [True, False])
        ),
        *(
            ({"text": ["a", "b"], "label": values}, {}, "expected labels that are text, numbers")
            for values in ([b"a", b"b"], pd.to_datetime(["2020", "2021"]), [{"a": 1}, {"a": 2}])
        ),
        *(
            ({"text": ["a", "b"], "label": values}, {}, r"1 of 2 rows .* no label .*: row 3 ")
            for values in (
                ["x", None],
                [1, float("nan")],
                ["x", ""],
                ["x", " "],
                [["x"], ["y", None]],
            )
        ),
    ],
)
def test_columns_that_cannot_be_used_are_told_with_the_remedy(columns, how, message):
    with pytest.raises(TableError, match=message):
        read_table(pd.DataFrame(columns), **how)


@pytest.mark.parametrize("how", [{"split": "train"}, {"split": "train", "prefer_split": "test"}])
def test_a_split_that_is_asked_for_or_preferred_keeps_its_rows_in_order(how):
    table = read_table(SPLIT, **how)
    assert (table.texts, table.rows.tolist(), table.rows.dtype) == (("a", "c"), [0, 2], np.int64)
    assert "using the 2 rows with split 'train' of 4" in table.notes
    preferred = read_table(SPLIT, prefer_split="test")
    assert preferred.texts == ("b",)
    assert "using the 1 rows with split 'test' of 4; choose with --split" in preferred.notes
    for source in (SPLIT, pd.DataFrame(REVIEWS)):
        assert len(read_table(source, prefer_split="validation")) == len(source)


@pytest.mark.parametrize("blank", [None, float("nan"), "", "  \n", "\u3000"])
def test_a_blank_text_is_refused_with_its_row_or_skipped_on_request(blank):
    source = frame(text=["b", blank], label=["x", None])
    with pytest.raises(TableError, match=r"1 of 2 rows .* 'text': row 3 \(the headings"):
        read_table(source)
    table = read_table(source, skip_empty=True)
    assert (table.texts, table.labels, table.rows.tolist()) == (("b",), ("x",), [0])
    assert "skipped 1 of 2 rows without text" in table.notes
    # Rows are counted in the source, not in the split.
    source = frame(text=["a", "b", blank], label=[1, 2, 1], split=["test", "train", "train"])
    with pytest.raises(TableError, match="row 4 "):
        read_table(source, split="train")


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
    # A gap that is skipped makes fractions of whole numbers, which are whole again without it.
    source = frame(text=["a", "b", None], label=[*values, None])
    read = read_table(source, skip_empty=True).labels
    assert read == labels
    assert [type(label) for label in read] == [type(label) for label in labels]
