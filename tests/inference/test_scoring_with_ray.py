"""A real Ray on this machine scores and encodes as one process does."""

import os
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scale_scene import rows_in, rows_of

pytest.importorskip("ray", reason="needs the extra 'scale'")

from protorynet import ProtoryNetClassifier
from protorynet.encoders import load_encoder
from protorynet.errors import EncoderError, InputError, ProtoryNetError
from protorynet.inference import encode_with_ray, predict_with_ray, ray_cluster, ray_session
from protorynet.inference.ray_cluster import Encoding
from protorynet.ray_training import fit_with_ray


@pytest.fixture(scope="module", autouse=True)
def one_ray():
    """Starting Ray takes seconds, so the tests share one, as calls within a session do."""
    with ray_session():
        yield


def test_a_folder_of_parts_holds_the_rows_of_one_process_in_order(hotel, table, expected, tmp_path):
    written = predict_with_ray(hotel, [table], tmp_path / "out", skip_empty=True)
    assert written.n_rows == len(expected)
    assert written.n_unfamiliar == sum(row["unfamiliar"] > 0.5 for row in expected)
    assert rows_in(tmp_path / "out") == expected
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_more_workers_than_there_are_processors_are_refused(tiny_bert_folder, reviews):
    classifier = ProtoryNetClassifier(tiny_bert_folder, encoder_training="full", device="cpu")
    with pytest.raises(InputError, match="workers=1000, but Ray has"):
        fit_with_ray(classifier, reviews.texts, reviews.labels, workers=1000)


@pytest.mark.slow
def test_one_file_or_an_address_is_written_where_asked_for(hotel, table, expected, tmp_path):
    predict_with_ray(hotel, [f"{table}/*.parquet"], tmp_path / "out.parquet", skip_empty=True)
    assert rows_of(pq.read_table(tmp_path / "out.parquet")) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]
    predict_with_ray(hotel, [table.as_uri()], (tmp_path / "out").as_uri(), skip_empty=True)
    assert rows_in(tmp_path / "out") == expected
    assert (tmp_path / "out" / "_SUCCESS").is_file()


@pytest.mark.slow
def test_an_empty_document_is_named_by_its_file_and_row(hotel, table, tmp_path):
    with pytest.raises(InputError, match=r"b\.parquet: .*row (0, 97, 194|291, 388, 485)"):
        predict_with_ray(hotel, [table / "b.parquet"], tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_sentences_are_encoded_as_here_by_an_encoder_that_workers_have(tiny_bert_folder):
    texts = [f"The room was {'very ' * (number % 7)}lovely." for number in range(5_000)]
    here = load_encoder(tiny_bert_folder, device="cpu").encode(texts)
    assert np.allclose(encode_with_ray(str(tiny_bert_folder), texts), here, atol=1e-6)
    with pytest.raises(EncoderError, match="no-such-encoder"):
        encode_with_ray("no-such-encoder", ["A sentence."])


@pytest.mark.slow
def test_sentences_that_end_every_worker_are_given_up_and_named(tiny_bert_folder, monkeypatch):
    class Fatal:
        def encode(self, sentences: list[str]) -> None:
            os._exit(1)  # as a worker ends that takes too much memory

    class FatalEncoding(Encoding):
        def open(self) -> Any:
            return Fatal()

    monkeypatch.setattr(ray_cluster, "Encoding", FatalEncoding)
    with pytest.raises(ProtoryNetError, match="ended every worker that took them"):
        encode_with_ray(str(tiny_bert_folder), ["The room was clean.", "Awful."])
