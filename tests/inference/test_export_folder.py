"""The folder of an exported model: read as it was written, and refused where it was changed."""

from typing import Any

import numpy as np
import pytest

from forging import forge
from protorynet import ProtoryNetClassifier
from protorynet.errors import InputError, ModelFormatError
from protorynet.inference import export_onnx, open_predictor, read_exported


def test_a_folder_of_version_1_is_read_as_ever(reviews, encoder, single, tmp_path):
    classifier = ProtoryNetClassifier(encoder, settings=single, cache=False)
    classifier.fit(reviews.texts, reviews.labels)
    export_onnx(classifier.predictor, tmp_path / "old")

    def as_before(values: Any) -> None:
        values.update(format_version=1)
        del values["familiar"]
        for item in values["prototypes"]:
            del item["members"], item["words"]

    forge(tmp_path / "old", "export.json", as_before)
    opened = open_predictor(tmp_path / "old", encoder=encoder, cache=False)
    assert opened.facts.prototypes.ids.tolist() == classifier.prototypes_.ids.tolist()
    mine, theirs = opened.read(reviews.texts), classifier.read(reviews.texts)
    assert np.array_equal(mine.prototypes, theirs.prototypes)


def test_what_is_written_is_what_is_read(exported, trained):
    found = read_exported(exported)
    assert found.to_json() == (exported / "export.json").read_bytes()
    assert found.prototypes == trained.prototypes_


@pytest.mark.parametrize("name", ["reader.onnx", "encoder.onnx", "tokenizer.json"])
def test_a_file_that_was_changed_or_is_missing_is_named(own, name):
    content = bytearray((own / name).read_bytes())
    content[len(content) // 2] ^= 1
    (own / name).write_bytes(content)
    with pytest.raises(ModelFormatError, match=rf"{name} was changed or cut off"):
        open_predictor(own)
    (own / name).unlink()
    with pytest.raises(ModelFormatError, match=rf"{name} cannot be read"):
        open_predictor(own)


def test_a_description_changed_by_hand_is_refused(own):
    text = (own / "export.json").read_text()
    (own / "export.json").write_text(text.replace('"good"', '"fine"'))
    with pytest.raises(ModelFormatError, match="changed by hand"):
        read_exported(own)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda v: v.update(format_version=3), "format_version '3', .* reads up to 2"),
        (lambda v: v.pop("familiar"), "'familiar'"),
        (lambda v: v.update(familiar=1.5), "familiar 1.5"),
        (
            lambda v: v["prototypes"][1].update(members=v["prototypes"][0]["members"]),
            "members have",
        ),
        (lambda v: v.update(task="ranking"), "task 'ranking'"),
        (lambda v: v.update(classes=["good", "good"]), "classes"),
        (lambda v: v.update(classes=["a", "b"]), "other classes"),
        (lambda v: v.update(splitter="../x"), "rule"),
        (lambda v: v.update(class_frequencies=[1.0]), "class frequencies"),
        (lambda v: v.update(dimension=0), "dimension 0"),
        (lambda v: v.update(prototypes=[]), "no prototypes"),
        (lambda v: v["encoder"].update(window=10**9), "window"),
        (lambda v: v["encoder"].update(precision="int2"), "precision"),
        (lambda v: v.update(more=1), "'more'"),
        (lambda v: v.update(sha256=None), "sha256"),
        (lambda v: v["sha256"].update({"../../etc/passwd": "0" * 64}), "sha256 should name"),
    ],
)
def test_values_out_of_place_are_refused(own, change, reason):
    forge(own, "export.json", change)
    with pytest.raises(ModelFormatError, match=reason):
        read_exported(own)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("reader.onnx", b"not a graph", "cannot be opened by ONNX Runtime"),
        ("encoder.onnx", b"not a graph", "cannot be opened by ONNX Runtime"),
        ("reader.onnx", "encoder.onnx", "has the inputs ids, mask"),
        ("tokenizer.json", b"{}", r"tokenizer\.json is damaged"),
    ],
)
def test_a_file_with_another_content_is_refused(own, name, content, message):
    forge(own, name, content if isinstance(content, bytes) else (own / content).read_bytes())
    with pytest.raises(ModelFormatError, match=message):
        open_predictor(own)


def test_a_graph_that_reads_other_files_is_refused(own, monkeypatch):
    onnx = pytest.importorskip("onnx")
    graph = onnx.load(own / "encoder.onnx")
    monkeypatch.chdir(own)  # onnx looks for the other file from where it runs
    onnx.external_data_helper.convert_model_to_external_data(
        graph, location="../secret", size_threshold=0
    )
    forge(own, "encoder.onnx", graph.SerializeToString())
    with pytest.raises(ModelFormatError, match="refers to other files"):
        open_predictor(own)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v["post_processor"]["special_tokens"].pop("[SEP]"), "json is damaged"),
        (lambda v: v["model"]["vocab"].update(lovely=10**6), "failed in ONNX Runtime"),
    ],
    ids=["fails when used", "of a larger model"],
)
def test_a_tokenizer_that_does_not_fit_is_refused(own, change, message):
    forge(own, "tokenizer.json", change)
    with pytest.raises(ModelFormatError, match=message):
        open_predictor(own, cache=False).read(["A lovely room."])


def test_an_encoder_of_another_width_is_refused(own):
    forge(own, "export.json", lambda values: values.update(dimension=17))
    with pytest.raises(ModelFormatError, match="vectors of 16 components, but the model reads 17"):
        open_predictor(own)


def test_an_encoder_is_not_given_where_the_folder_holds_one(exported, encoder):
    for other in (encoder, "minilm"):
        with pytest.raises(InputError, match="holds its encoder"):
            open_predictor(exported, encoder=other)
