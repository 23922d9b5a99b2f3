"""Archives that are broken, or made to do harm."""

import contextlib
import gzip
import struct
import tarfile
import zipfile

import pytest
from dataset_scene import hotel_csv, imdb_files, pack
from hypothesis import HealthCheck, given, settings, strategies as st

from protorynet.errors import TableError
from protorynet_lab.datasets import archive_members, prepare_dataset

quick = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_names_that_point_outside_are_only_names(tmp_path):
    inner = {f"../../{name}": content for name, content in imdb_files().items()}
    inner["/etc/train/pos/1_9.txt"] = b"An absolute name."
    source = pack(tmp_path / "evil.tar.gz", inner)
    before = set(tmp_path.parent.rglob("*"))
    assert len(prepare_dataset("imdb", source)) == 13
    assert set(tmp_path.parent.rglob("*")) == before


def test_links_and_devices_are_passed_over(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("A secret.")
    source = pack(tmp_path / "links.tar", imdb_files())
    with tarfile.open(source, "a") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo(f"aclImdb/train/pos/{ord(kind)}_9.txt")
            info.type, info.linkname = kind, str(secret)
            archive.addfile(info)
    rows = prepare_dataset("imdb", source).rows
    assert len(rows) == 12
    assert "A secret." not in {row.text for row in rows}


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("name", ["short.tar", "short.tar.gz", "short.zip"])
def test_an_archive_cut_short_is_refused_and_not_taken_for_a_small_one(tmp_path, name, share):
    source = tmp_path / name
    whole = pack(source, imdb_files(20)).read_bytes().rstrip(b"\0")
    source.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(TableError, match=r"short\..* cannot be read .* Fetch it again"):
        prepare_dataset("imdb", source)


@pytest.mark.parametrize(
    ("name", "at", "message"),
    [("a.tar", 4 * 1024 + 5, "damaged or missing header"), ("a.tgz", -6, "CRC check failed")],
)
def test_one_wrong_bit_in_a_header_or_a_checksum_is_noticed(tmp_path, name, at, message):
    source = pack(tmp_path / name, imdb_files())
    content = bytearray(source.read_bytes())
    content[at] ^= 1
    source.write_bytes(content)
    with pytest.raises(TableError, match=message):
        prepare_dataset("imdb", source)


@quick
@given(
    st.binary(max_size=300), st.sampled_from(["a.tar", "a.tgz", "a.zip", "a.csv.gz", "a.parquet"])
)
def test_any_bytes_of_any_ending_are_refused_in_one_line(tmp_path, content, name):
    source = tmp_path / name
    source.write_bytes(content)
    with pytest.raises(TableError) as refused:
        prepare_dataset("imdb", source)
    assert "\n" not in str(refused.value)


@quick
@given(st.data())
def test_a_damaged_archive_is_read_or_refused(tmp_path, data):
    name = data.draw(st.sampled_from(["a.tar", "a.tgz", "a.zip"]))
    content = bytearray(pack(tmp_path / name, imdb_files(1)).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / name).write_bytes(content)
    with contextlib.suppress(TableError):
        prepare_dataset("imdb", tmp_path / name)


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [("MOST_BYTES", 100, "unpacks to more than"), ("MOST_MEMBERS", 4, "more than 4 files")],
)
@pytest.mark.parametrize("name", ["a.tar.gz", "a.zip", "a"])
def test_more_than_any_archive_holds_is_refused(tmp_path, monkeypatch, name, limit, value, message):
    monkeypatch.setattr(archive_members, limit, value)
    with pytest.raises(TableError, match=message):
        prepare_dataset("imdb", pack(tmp_path / name, imdb_files()))


CSV_HEADER = b"reviews.rating,reviews.text\n"
JSON_LINE = b'{"stars": 5, "text": "Good."}\n'


@pytest.mark.parametrize(
    ("dataset", "name", "content", "message"),
    [
        ("hotel", "bomb.csv.gz", gzip.compress(CSV_HEADER + b"a" * 2**23), "line of more than"),
        ("hotel", "a.csv", CSV_HEADER + b'5,"' + b"a\n" * 200_000 + b'"', "CSV near line"),
        ("hotel", "latin.csv", hotel_csv(3, 3) + "5,Café\n".encode("latin-1"), "not UTF-8"),
        ("imdb", "a.csv", hotel_csv(3, 0), r"no documents of 'imdb'; expected aclImdb_v1\.tar"),
        ("hotel", "a.csv", hotel_csv(3, 0), "no documents of class '0'"),
        ("imdb", "train/pos/9_9.txt", b"a" * (2**20 + 1), "holds more than 1,048,576 bytes"),
        ("yelp", "review.json", JSON_LINE + b"[1, 2]", r"line 2 of review\.json"),
        ("yelp", "review.json", JSON_LINE + b"{", r"line 2 of review\.json"),
        ("yelp", "review.json", JSON_LINE + b"[" * 100_000, r"line 2 of review\.json"),
        ("imdb", "train-0.parquet", b"PAR1 but not PAR1", r"train-0\.parquet cannot be read as"),
    ],
)
def test_an_endless_broken_or_other_file_is_refused(tmp_path, dataset, name, content, message):
    folder = pack(tmp_path / "folder", {name: content})
    with pytest.raises(TableError, match=message):
        prepare_dataset(dataset, folder if dataset == "imdb" else folder / name)


def test_a_zip_whose_sizes_lie_is_refused(tmp_path):
    source = pack(tmp_path / "a.zip", {"aclImdb/train/pos/1_9.txt": b"Good. " * 100})
    with zipfile.ZipFile(source) as archive:
        size = archive.infolist()[0].file_size
    content = source.read_bytes().replace(struct.pack("<I", size), struct.pack("<I", 10))
    source.write_bytes(content)
    with pytest.raises(TableError):
        prepare_dataset("imdb", source)
