import csv
import gzip
import io

import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, example, given, settings, strategies as st

from protorynet.data import open_stream, read_table
from protorynet.data.table_files import BLOCK_BYTES
from protorynet.errors import TableError

# NUL marks a binary file, and half a character cannot be written as UTF-8.
VALUE = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
    st.text(st.sampled_from('",\n\r\t; aé😀\u2028'), max_size=10),
    st.sampled_from(
        ["NA", "null", "None", "nan", "N/A", "#N/A", "1", "-1.5", "true", "007", "1e5"]
    ),
).filter(lambda value: value and not value.isspace())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(VALUE, VALUE), min_size=1, max_size=8),
    delimiter=st.sampled_from(",\t"),
    line_end=st.sampled_from(["\r\n", "\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    bom=st.booleans(),
)
@example([("a\nb", 'say "hi", x')], ",", "\n", csv.QUOTE_MINIMAL, True)
def test_texts_are_what_python_s_csv_module_reads(write, rows, delimiter, line_end, quoting, bom):
    # Some versions of Python write "\r" without quotes here, and then no reader takes it for text.
    assume(
        quoting == csv.QUOTE_ALL
        or line_end == "\r\n"
        or not any("\r" in value for row in rows for value in row)
    )
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerows([("first", "second"), *rows])
    content = ("\ufeff" if bom else "") + file.getvalue()
    path = write("a.csv" if delimiter == "," else "a.tsv", content)
    file.seek(0)
    expected = list(csv.reader(file, delimiter=delimiter))[1:]
    read = [read_table(path, text=name, labelled=False).texts for name in ("first", "second")]
    assert list(zip(*read, strict=True)) == [tuple(row) for row in expected]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["1", "2", "-3"], (1, 2, -3)),
        (["1.0", "2.0"], (1, 2)),
        (["1.5", "2", ".5", "1e3"], (1.5, 2.0, 0.5, 1000.0)),
        (["True", "false"], (True, False)),
        (["1", "two"], ("1", "two")),
        (["007", "008"], ("007", "008")),
        (["9" * 30, "1"], ("9" * 30, "1")),
        (["NA", "1"], ("NA", "1")),
        (["nan", "inf"], ("nan", "inf")),
        (["e5", "."], ("e5", ".")),
    ],
)
def test_kinds_of_labels_are_inferred(write, values, labels):
    rows = "".join(f"some text,{value}\n" for value in values)
    read = read_table(write("a.csv", "text,label\n" + rows)).labels
    assert read == labels
    assert [type(label) for label in read] == [type(label) for label in labels]
    # Kinds are those of the whole file, so that they are the same in every split.
    path = write("a.csv", "text,label,split\na,1,train\nb,x,test\n")
    assert read_table(path, split="train").labels == ("1",)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_row_of_20_megabytes_is_read_everywhere(write, name):
    texts = ["a", "word, " * 3_500_000, "b"]
    rows = pd.DataFrame({"text": texts, "label": [1, 2, 3]})
    as_json = rows.to_json(orient="records", lines=True)
    path = write(name, rows.to_csv(index=False) if name == "a.csv" else as_json)
    assert read_table(path).texts == tuple(texts)
    chunks = open_stream([str(path)], text="text").chunks(first=1)
    assert [text for chunk in chunks for text in chunk.batch["text"].to_pylist()] == texts[1:]


def test_newlines_in_quotes_survive_the_edges_of_blocks(write):
    row = '"A review of ""this"",\nand that, – which is here to fill a block.",pos\n'
    count = 2 * BLOCK_BYTES // len(row)
    table = read_table(write("a.csv", "text,label\n" + row * count))
    assert len(table) == count
    assert set(table.texts) == {'A review of "this",\nand that, – which is here to fill a block.'}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PAR1rest", r"is a Parquet file; give it the ending \.parquet"),
        (b"PK\x03\x04rest", "a zip or Excel file; unpack it, or give it the ending .xlsx"),
        (b"\x1f\x8brest", "gzip-compressed; give it the ending .gz"),
        ("text,label\na,b\n".encode("utf-16"), "UTF-16 text; save it as UTF-8"),
        (b"text,label\n\x00\x01\x02", "binary, not text"),
        (b"", "is empty"),
        (b"\n\n", "is empty"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_file_of_another_kind_is_told(write, content, message, name):
    with pytest.raises(TableError, match=message):
        read_table(write(name, content))


LATIN = ("text,label\n" + "ok,1\n" * 10_000 + "café,2\n").encode("latin-1")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\ufeff", "is empty"),
        ("text,label", "holds no rows"),
        ("text,label\n", "holds no rows"),
        ("text,label\n\n", "holds no rows"),
        ("text," * 300_000, "does not end within 1 MB"),
        (",".join(["text", *(f"c{n}" for n in range(2_000))]), "2,001 columns"),
        ("text,label\na,b\na,b,c\n", r"Row #3: Expected 2 columns, got 3.*double quotes"),
        ("text,label,label\na,1,2\n", "more than one column named 'label'"),
        ("text;label\na;1\n", "single column 'text;label', which holds ';'"),
        ('text,label\na,x\n,y\n"",z\n', r"rows 3, 4 \(the headings are row 1\)"),
        ("text,label\na,1\nb,\n", "no label in column 'label': row 3 "),
        (LATIN, r"is not UTF-8 text\. Convert it first, for example with: iconv"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_a_file_that_is_no_good_table_says_why(write, content, message):
    with pytest.raises(TableError, match=message):
        read_table(write("a.csv", content))


def test_a_compressed_file_that_is_damaged_or_not_compressed_is_refused(write):
    with pytest.raises(TableError, match="cannot be read: Not a gzipped file"):
        read_table(write("a.csv.gz", "text,label\na,b\n"))
    rows = "".join(f"review number {index},good\n" for index in range(20_000))
    packed = bytearray(gzip.compress(("text,label\n" + rows).encode()))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(TableError, match="cannot be read"):
        read_table(write("a.csv.gz", packed))
