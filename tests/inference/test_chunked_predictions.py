"""Predicting in chunks: the same rows as in one go, from and to every format."""

import gzip
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from toy_predictor import ToyPredictor

from protorynet.data import TableStream, open_stream
from protorynet.errors import EmptyDocumentError, InputError, TableError
from protorynet.inference import PartStore, predict_to_file, predict_to_stream

WORDS = st.sampled_from(["", " ", "Fine.", "Bad. Very bad.", "...", "Ü. ß.", "A long, long one."])
TABLES = st.lists(st.tuples(WORDS, st.sampled_from(["train", "test"])), min_size=1, max_size=60)


class AheadPredictor(ToyPredictor):
    """One whose next chunk is prepared while this one is written."""

    def __init__(self) -> None:
        super().__init__()
        self.is_on_gpu = True

    def prepare_batch(self, batch, *, text):
        return (batch.column(text).to_pylist(),)

    def read_prepared(self, texts):
        return super().read(texts)

    def read(self, texts):
        assert not texts, "it was prepared already"
        return super().read(texts)


def predict(
    folder: Path,
    stream: TableStream,
    *,
    documents: int = 4_096,
    ending: str = "parquet",
    predictor: ToyPredictor | None = None,
) -> Path:
    output = folder / f"out-{documents}.{ending}"
    store = PartStore(output, {})
    store.begin()
    chosen = predictor or ToyPredictor()
    predict_to_file(stream, chosen, store, lambda rows: None, documents=documents)
    return output


def save(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=7)
        return path
    content = io.BytesIO()
    if "json" in path.name:
        content.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode())
    else:
        delimiter = "\t" if ".tsv" in path.name else ","
        pyarrow.csv.write_csv(table, content, pyarrow.csv.WriteOptions(delimiter=delimiter))
    compress = gzip.compress if path.suffix == ".gz" else bytes
    path.write_bytes(compress(content.getvalue()))
    return path


def save_lines(path: Path, *lines: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def rows_of(stream: TableStream, **how: int) -> pa.Table:
    return pa.Table.from_batches([chunk.batch for chunk in stream.chunks(**how)])


@pytest.fixture
def table():
    texts = [f'Row {number} is fine. So, "it"\nis\tsaid.' for number in range(50)]
    return pa.table({"text": texts, "stars": [str(number % 5) for number in range(50)]})


@settings(max_examples=60)
@given(TABLES, st.integers(1, 9), st.integers(1, 60), st.sampled_from([None, "test"]))
def test_chunks_hold_the_kept_rows_in_order_from_wherever_one_ended(
    rows, documents, text_bytes, split
):
    wanted = [row for row, (text, its) in enumerate(rows) if text.strip() and split in (None, its)]
    table = pa.table({"text": [text for text, _ in rows], "split": [its for _, its in rows]})
    with tempfile.TemporaryDirectory() as folder:
        path = save(table, Path(folder) / "t.parquet")
        if not wanted:
            with pytest.raises(TableError):
                open_stream([str(path)], text="text", split=split, skip_empty=True)
            return
        stream = open_stream([str(path)], text="text", split=split, skip_empty=True)
        chunks = list(stream.chunks(documents=documents, text_bytes=text_bytes))
        assert np.concatenate([chunk.rows for chunk in chunks]).tolist() == wanted
        assert [chunk.first for chunk in chunks] == [0, *(chunk.stop for chunk in chunks[:-1])]
        assert pa.Table.from_batches([chunk.batch for chunk in chunks]).equals(table.take(wanted))
        for number, chunk in enumerate(chunks):
            assert chunk.batch.num_rows <= documents
            rest = stream.chunks(first=chunk.stop, documents=documents, text_bytes=text_bytes)
            expected = [(c.first, c.stop) for c in chunks[number + 1 :]]
            assert [(c.first, c.stop) for c in rest] == expected


@pytest.mark.parametrize("into", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "ndjson", "jsonl.gz", "parquet"])
def test_every_format_goes_into_every_other(table, tmp_path, ending, into):
    stream = open_stream([str(save(table, tmp_path / f"t.{ending}"))])
    output = predict(tmp_path, stream, documents=8, ending=into)
    rows = rows_of(open_stream([str(output)], text="text"))
    [batch] = table.combine_chunks().to_batches()
    scored = ToyPredictor().score_batch(batch, text="text")
    for name in ("text", "stars", "trajectory"):
        assert rows[name].to_pylist() == scored[name].to_pylist()


def test_chunks_encoded_while_others_are_written_give_the_same(table, tmp_path):
    stream = open_stream([str(save(table, tmp_path / "in.parquet"))])
    plain = pq.read_table(predict(tmp_path, stream))
    ahead = predict(tmp_path, stream, documents=6, predictor=AheadPredictor())
    assert pq.read_table(ahead).equals(plain)


def test_several_files_are_one_table(table, tmp_path):
    for number in range(3):
        save(table.slice(number * 20, 20), tmp_path / f"{number}.csv")
    save(table, tmp_path / ".hidden.csv")
    stream = open_stream([str(tmp_path / "*.csv")])
    assert (stream.n_tables, stream.n_rows) == (3, 50)
    got = pq.read_table(predict(tmp_path, stream, documents=6))
    assert got["text"].to_pylist() == table["text"].to_pylist()
    expected = [("0.csv", 0), ("0.csv", 19), ("1.csv", 0), ("2.csv", 9)]
    assert stream.locate([0, 19, 20, 49]) == [(str(tmp_path / name), n) for name, n in expected]


def test_files_that_do_not_go_together_are_refused_by_name(table, tmp_path):
    one = save(table, tmp_path / "a.parquet")
    names = save(table.rename_columns(["text", "rating"]), tmp_path / "b.parquet")
    kinds = save(table.set_column(1, "stars", pa.array([1] * 50)), tmp_path / "c.parquet")
    link = tmp_path / "d.parquet"
    link.symlink_to(one)
    for other, message in (
        (names, r"b\.parquet has the columns 'text', 'rating', but .*a\."),
        (kinds, r"'stars' holds int64 in .*c\.parquet, but string before"),
        (one, "more than once"),
        (link, "more than once"),
    ):
        with pytest.raises(TableError, match=message):
            open_stream([str(one), str(other)])


@pytest.mark.parametrize(
    ("late", "expected"),
    [({"n": 0.5, "late": [1]}, {"n": 1.0, "late": None}), ({"n": "many"}, {"n": "1"})],
    ids=["columns", "words"],
)
def test_columns_and_words_that_come_late_in_json_lines_are_kept(tmp_path, late, expected):
    lines = [{"text": "Fine.", "n": 1}] * 3_000 + [{"text": "Bad.", **late}]
    stream = open_stream([str(save_lines(tmp_path / "t.jsonl", *lines))])
    got = pq.read_table(predict(tmp_path, stream, documents=500))
    for name, first in expected.items():
        assert got[name].to_pylist() == [first] * 3_000 + [late[name]]


def test_a_stream_that_brings_new_columns_is_refused_by_line():
    lines = ['{"text": "Fine."}'] * 3_000 + ['{"text": "Bad.", "late": 1}']
    stream = open_stream(["-"], standard_input=io.BytesIO("\n".join(lines).encode()))
    with pytest.raises(TableError, match=r"lines 2049 to 3001 of standard input .*'late'"):
        list(stream.chunks())


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_standard_input_is_read_as_a_file_is(table, tmp_path, kind):
    content = b"\n\n " * (kind == "jsonl") + save(table, tmp_path / f"t.{kind}").read_bytes()
    stream = open_stream(["-"], kind=kind, standard_input=io.BytesIO(content))
    assert rows_of(stream, documents=7)["text"].to_pylist() == table["text"].to_pylist()
    assert stream.n_rows is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"PAR1....", "Parquet cannot be read"),
        (b"text,n\na\n", "Row #"),
        (b'{"text": "a"}\nnonsense\n', "line 2"),
        (b'{"text": "a"}\n{"text": ""}\n', "row 3 "),
    ],
)
def test_bad_standard_input_is_refused_with_one_line(content, message):
    with pytest.raises(TableError, match=message) as caught:
        list(open_stream(["-"], standard_input=io.BytesIO(content)).chunks())
    assert "\n" not in str(caught.value)


def test_documents_without_a_sentence_are_named_with_their_files(tmp_path):
    files = [
        save(pa.table({"text": ["Fine.", text]}), tmp_path / f"{number}.parquet")
        for number, text in enumerate(["Bad.", "..."])
    ]
    stream = open_stream([str(file) for file in files])
    with pytest.raises(TableError, match=r"row 3 of .*1\.parquet \(the headings are row 1\)"):
        predict_to_stream(stream, ToyPredictor(), io.BytesIO(), ".csv", lambda rows: None)


def test_the_share_of_unfamiliar_sentences_is_a_column_unless_the_model_knows_none(monkeypatch):
    texts = ["Fine. An odd one.", "Quite odd. So odd. Bad.", "Fine."]
    batch, toy = pa.record_batch({"text": texts}), ToyPredictor()
    scored = toy.score_batch(batch, text="text")
    assert scored["unfamiliar"].to_pylist() == [0.5, 0.666667, 0.0]
    assert toy.count_unfamiliar(scored) == 1
    monkeypatch.setattr(toy.facts, "familiar", 0.0)
    named = pa.record_batch({"text": texts, "unfamiliar": ["1", "1", "1"]})
    assert toy.score_batch(named, text="text").schema.names[:2] == ["text", "unfamiliar"]
    assert toy.count_unfamiliar(named) == 0


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ({"body": ["a"]}, "no column 'text'"),
        ({"text": ["a"], "p_bad": [1], "unfamiliar": [0]}, "'p_bad', 'unfamiliar'"),
        ({"text": [1]}, "column 'text' holds int64, not text"),
        ({"text": ["Fine.", "..."]}, "row 1"),
    ],
)
def test_a_batch_that_cannot_be_predicted_is_refused(columns, error):
    with pytest.raises(InputError, match=error) as caught:
        ToyPredictor().score_batch(pa.record_batch(columns), text="text")
    if isinstance(caught.value, EmptyDocumentError):
        assert caught.value.rows == [1]


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("protorynet.data.json_lines.ROW_BYTES", 1_000)
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a"}\n{"text": "' + b"a" * 5_000 + b'"}\n'))
    with pytest.raises(TableError, match=r"line 2 of .*t\.jsonl\.gz is longer than"):
        open_stream([str(path)])


def test_a_quote_that_is_never_closed_is_guessed(tmp_path, monkeypatch):
    monkeypatch.setattr("protorynet.data.table_batches.ROW_BYTES", 8 * 2**20)
    path = tmp_path / "t.csv"
    path.write_text('text\nFine.\n"Never closed.\n' + "Bad.\n" * 4_000_000)
    with pytest.raises(TableError, match="a double quote is never closed"):
        open_stream([str(path)])
