from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from hashing_encoder import HashingEncoder
from protorynet import ProtoryNetClassifier, ProtoryNetError, Settings
from protorynet.encoders import EmbeddingCache
from protorynet.errors import EncoderError, InputError
from protorynet.inference import compare, export_onnx, open_predictor, read_exported
from protorynet.inference.exporting import _write_encoder


def fitted(encoder: Any, reviews: Any, settings: Settings, labels: Any = None) -> Any:
    classifier = ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False)
    return classifier.fit(reviews.texts, reviews.labels if labels is None else labels)


def agrees(classifier: Any, folder: Path, texts: list[str], **how: Any) -> None:
    """Fail where the exported model says anything else than the classifier."""
    scores = open_predictor(folder, cache=False, **how).read(texts)
    trajectory = classifier.read(texts)
    filled = trajectory.filled
    assert np.array_equal(scores.filled, filled)
    assert np.array_equal(scores.lengths, trajectory.lengths)
    assert np.array_equal(scores.columns, trajectory.columns)
    expected = classifier.predict_proba(texts)
    np.testing.assert_allclose(scores.probabilities, expected, atol=1e-5, rtol=0)


@pytest.fixture(scope="module")
def classifier(tiny_bert_folder, reviews, quick) -> Any:
    return fitted(tiny_bert_folder, reviews, quick)


@pytest.fixture(scope="module")
def folder(classifier, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("exported") / "model"
    export_onnx(classifier.predictor, target)
    return target


def test_an_exported_model_says_what_the_model_says(classifier, folder, unseen_reviews) -> None:
    agrees(classifier, folder, unseen_reviews.texts)


def test_several_labels_at_once_survive_the_export(
    tiny_bert_folder, reviews, unseen_reviews, quick, tmp_path
) -> None:
    sets = [(label, "pool") if "pool" in text else (label,) for text, label in _pairs(reviews)]
    classifier = fitted(tiny_bert_folder, reviews, quick, sets)
    export_onnx(classifier.predictor, tmp_path / "m")
    agrees(classifier, tmp_path / "m", unseen_reviews.texts)


def test_a_tuned_encoder_goes_along(
    tiny_bert_folder, reviews, unseen_reviews, quick, tmp_path
) -> None:
    settings = quick.replace(encoder_training="full")
    classifier = fitted(tiny_bert_folder, reviews, settings)
    export_onnx(classifier.predictor, tmp_path / "m")
    agrees(classifier, tmp_path / "m", unseen_reviews.texts)


def test_long_sentences_are_cut_alike(classifier, folder) -> None:
    agrees(classifier, folder, ["The pool was lovely, " * 40 + "and the bed broken.", "Room"])


def test_an_explanation_is_the_models_own_but_for_the_automaton(
    classifier, folder, unseen_reviews
) -> None:
    texts = [*unseen_reviews.texts[:6], "The room was lovely."]
    mine = open_predictor(folder, cache=False).explain(texts)
    for ours, theirs in zip(mine, classifier.explain(texts), strict=True):
        expected = {**theirs.to_dict(), "automaton": None, "pattern": None}
        assert _rounded(ours.to_dict()) == _rounded(expected)


def test_a_very_long_document_is_explained_as_by_the_model(classifier, folder) -> None:
    text = "The room was lovely. The staff was awful. " * 150
    ours = open_predictor(folder, cache=False).explain([text])[0]
    theirs = classifier.explain(text)
    np.testing.assert_allclose(
        [step.effect for step in ours.sentences],
        [step.effect for step in theirs.sentences],
        atol=1e-5,
    )


def test_vectors_alone_are_scored_where_the_model_was_made_of_vectors(quick, tmp_path) -> None:
    draw = np.random.default_rng(0)
    sequences = [draw.normal(place % 2, 1, (1 + place % 5, 6)) for place in range(40)]
    classifier = ProtoryNetClassifier("precomputed", settings=quick, cache=False)
    classifier.fit(sequences, ["a", "b"] * 20)
    export_onnx(classifier.predictor, tmp_path / "m")
    assert not (tmp_path / "m" / "encoder.onnx").exists()
    scores = open_predictor(tmp_path / "m").read(sequences)
    expected = classifier.predict_proba(sequences)
    np.testing.assert_allclose(scores.probabilities, expected, atol=1e-5)


@pytest.fixture(scope="module")
def own(reviews, quick, tmp_path_factory) -> Any:
    """A model made with an encoder of the user's own, and its export."""
    target = tmp_path_factory.mktemp("own") / "model"
    classifier = fitted(HashingEncoder(), reviews, quick)
    export_onnx(classifier.predictor, target)
    return classifier, target


def test_an_encoder_of_ones_own_is_given_back_when_loading(own, unseen_reviews) -> None:
    agrees(own[0], own[1], unseen_reviews.texts, encoder=HashingEncoder())


def test_without_an_encoder_texts_are_refused(own) -> None:
    with pytest.raises(InputError, match=r"comes without an encoder.*Give arrays"):
        open_predictor(own[1]).read(["A text."])


def test_another_encoder_than_the_models_is_refused(own) -> None:
    class Other(HashingEncoder):
        fingerprint = "hashing-2"

    with pytest.raises(ProtoryNetError, match="made with another encoder"):
        open_predictor(own[1], encoder=Other())


def test_a_folder_that_says_something_else_is_not_delivered(reviews, quick, tmp_path) -> None:
    class Restless(HashingEncoder):
        draw = np.random.default_rng(0)

        def encode(self, sentences: list[str]) -> Any:
            vectors = super().encode(sentences)
            return vectors + self.draw.normal(0, 3, vectors.shape).astype(np.float32)

    classifier = fitted(Restless(), reviews, quick)
    with pytest.raises(ProtoryNetError, match=r"differs from the model.*Nothing was written"):
        export_onnx(classifier.predictor, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_eight_bits_do_not_depend_on_the_batch(classifier, unseen_reviews, tmp_path) -> None:
    comparison = export_onnx(classifier.predictor, tmp_path / "m", precision="int8")
    assert comparison.same_labels > 0.8
    encoder = open_predictor(tmp_path / "m").encoder
    assert encoder is not None
    sentences = unseen_reviews.texts[:12]
    together = encoder.encode(sentences)
    alone = np.concatenate([encoder.encode([text]) for text in sentences])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_eight_bits_are_refused_where_no_encoder_is_exported(own, tmp_path) -> None:
    with pytest.raises(InputError, match="about the encoder"):
        export_onnx(own[0].predictor, tmp_path / "m", precision="int8")


def test_an_unknown_precision_is_refused(classifier, tmp_path) -> None:
    with pytest.raises(InputError, match="precision='int4' is not one of"):
        export_onnx(classifier.predictor, tmp_path / "m", precision="int4")  # type: ignore[arg-type]


def test_a_folder_of_other_things_is_left_alone(classifier, tmp_path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not an exported model"):
        export_onnx(classifier.predictor, tmp_path)


def test_an_export_beside_other_files_is_left_alone(own, tmp_path) -> None:
    export_onnx(own[0].predictor, tmp_path / "m")
    (tmp_path / "m" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds 'thesis\.txt', which is no part"):
        export_onnx(own[0].predictor, tmp_path / "m")
    assert (tmp_path / "m" / "thesis.txt").read_text() == "mine"


def test_an_earlier_export_is_replaced(own, tmp_path) -> None:
    export_onnx(own[0].predictor, tmp_path / "m")
    export_onnx(own[0].predictor, tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_the_same_model_is_exported_to_the_same_bytes(classifier, folder, tmp_path) -> None:
    export_onnx(classifier.predictor, tmp_path / "m")
    for path in folder.iterdir():
        assert (tmp_path / "m" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_static_encoder_is_exported_too(
    tiny_bert_folder, reviews, unseen_reviews, quick, tmp_path
) -> None:
    from protorynet.encoders import StaticEncoder, load_encoder

    static = StaticEncoder.distil(load_encoder(tiny_bert_folder, device="cpu"), dimension=8)
    classifier = fitted(static, reviews, quick)
    export_onnx(classifier.predictor, tmp_path / "m")
    agrees(classifier, tmp_path / "m", [*unseen_reviews.texts, "§"])


def test_an_encoder_in_onnx_goes_along_as_it_is(
    classifier, folder, reviews, quick, tmp_path
) -> None:
    encoder = open_predictor(folder).encoder
    export_onnx(fitted(encoder, reviews, quick).predictor, tmp_path / "m")
    graphs = [(path / "encoder.onnx").read_bytes() for path in (folder, tmp_path / "m")]
    assert graphs[0] == graphs[1]


def test_an_encoder_in_onnx_that_was_changed_meanwhile_is_not_exported(folder, tmp_path) -> None:
    copied = Path(shutil.copytree(folder, tmp_path / "copied"))
    encoder: Any = open_predictor(copied).encoder
    (copied / "encoder.onnx").write_bytes(b"other")
    with pytest.raises(EncoderError, match="was changed after it was loaded"):
        _write_encoder(encoder, tmp_path / "encoder.onnx", "float32")


@pytest.mark.filterwarnings("ignore:this processor has no bfloat16:RuntimeWarning")
def test_an_encoder_in_bfloat16_is_exported_in_float32(
    tiny_bert_folder, reviews, quick, tmp_path
) -> None:
    classifier = fitted(f"{tiny_bert_folder}:bf16", reviews, quick)
    comparison = export_onnx(classifier.predictor, tmp_path / "m")
    assert comparison.same_labels > 0.8
    assert read_exported(tmp_path / "m").encoder.precision == "float32"  # type: ignore[union-attr]


def test_an_encoder_in_eight_bits_keeps_its_vectors(
    tiny_bert_folder, reviews, unseen_reviews, quick, tmp_path
) -> None:
    classifier = fitted(f"{tiny_bert_folder}:int8", reviews, quick)
    export_onnx(classifier.predictor, tmp_path / "m")
    assert read_exported(tmp_path / "m").encoder.precision == "int8"  # type: ignore[union-attr]
    agrees(classifier, tmp_path / "m", unseen_reviews.texts)


def test_a_comparison_measures_both_against_the_right_labels(
    classifier, folder, unseen_reviews
) -> None:
    found = compare(classifier.predictor, folder, unseen_reviews.texts, unseen_reviews.labels)
    expected = (classifier.predict(unseen_reviews.texts) == np.array(unseen_reviews.labels)).mean()
    assert found.accuracy == found.exported_accuracy == pytest.approx(expected)


def test_the_exported_encoder_shares_no_cache_with_the_models(classifier, folder, tmp_path) -> None:
    exported = open_predictor(folder).encoder
    assert exported is not None
    assert exported.fingerprint != classifier.encoder_.fingerprint
    cache = EmbeddingCache(tmp_path)
    cache.put(classifier.encoder_, ["Room"], classifier.encoder_.encode(["Room"]))
    assert not cache.get(exported, ["Room"])[0].any()


def test_what_the_folder_asks_to_be_installed_is_what_the_package_asks(folder) -> None:
    import tomllib

    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    known = {*project["dependencies"], *project["optional-dependencies"]["onnx"]}
    lines = (folder / "requirements.txt").read_text().splitlines()
    wanted = {line for line in lines if not line.startswith("#")}
    assert wanted <= known
    assert not any(re.match(r"torch|transformers|pandas|scikit", line) for line in wanted)


def _pairs(reviews: Any) -> list[tuple[str, str]]:
    return list(zip(reviews.texts, reviews.labels, strict=True))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        # Adding 0 turns −0 into 0.
        return round(value, 4) + 0.0
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list) else value
