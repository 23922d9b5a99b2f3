"""Exporting a model: the folder says what the model says, whatever encoder it has."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from hashing_encoder import HashingEncoder
from protorynet import ProtoryNetClassifier, ProtoryNetError, Settings
from protorynet.errors import InputError, ModelFormatError
from protorynet.inference import export_onnx, open_predictor, read_exported


def fit(encoder: Any, reviews: Any, settings: Settings) -> Any:
    classifier = ProtoryNetClassifier(encoder, settings=settings, device="cpu", cache=False)
    return classifier.fit(reviews.texts, reviews.labels)


def check_same(classifier: Any, folder: Path, documents: list[Any], **how: Any) -> None:
    """Fail where the exported model says anything else than the classifier."""
    mine, theirs = (
        predictor.read(documents)
        for predictor in (open_predictor(folder, cache=False, **how), classifier)
    )
    for name in ("filled", "lengths", "prototypes", "members"):
        assert np.array_equal(getattr(mine, name), getattr(theirs, name))
    np.testing.assert_allclose(mine.probabilities, theirs.probabilities, atol=1e-5, rtol=0)


def test_an_exported_model_says_what_the_model_says(trained, exported, unseen_reviews):
    long = "The pool was lovely, " * 40 + "and the bed broken."
    check_same(trained, exported, [*unseen_reviews.texts, long, "Room"])


def test_several_labels_and_a_tuned_encoder_are_exported(several, tuned, unseen_reviews, tmp_path):
    for name, classifier, encoder in (("s", several, several.encoder), ("t", tuned, None)):
        export_onnx(classifier.predictor, tmp_path / name)
        check_same(classifier, tmp_path / name, unseen_reviews.texts, encoder=encoder)


def test_an_explanation_is_the_models_own_but_for_the_automaton(trained, exported, unseen_reviews):
    long = "The room was lovely. The staff was awful. " * 150
    texts = [*unseen_reviews.texts[:6], "The room was lovely.", long]
    mine = open_predictor(exported, cache=False).explain(texts)
    for ours, theirs in zip(mine, trained.explain(texts), strict=True):
        expected = {**theirs.to_dict(), "automaton": None, "pattern": None}
        (mine_said, mine_numbers), (said, numbers) = map(_apart, (ours.to_dict(), expected))
        assert mine_said == said
        # A sentence that is a member itself is at a distance of mere rounding.
        np.testing.assert_allclose(mine_numbers, numbers, atol=5e-4, rtol=0)


def test_vectors_alone_are_scored_where_the_model_was_made_of_vectors(of_vectors, tmp_path):
    classifier, sequences, _ = of_vectors
    export_onnx(classifier.predictor, tmp_path / "m")
    assert not (tmp_path / "m" / "encoder.onnx").exists()
    several = [np.concatenate(sequences[n : n + 1 + n % 3]) for n in range(len(sequences))]
    check_same(classifier, tmp_path / "m", [*several, sequences[0][:1]])


@pytest.fixture(scope="module")
def hashing(fitted, tmp_path_factory):
    """A model made with an encoder of the user's own, and its export."""
    target = tmp_path_factory.mktemp("own") / "model"
    export_onnx(fitted.predictor, target)
    return fitted, target


def test_an_encoder_of_ones_own_is_given_when_loading(hashing, unseen_reviews):
    class Other(HashingEncoder):
        fingerprint = "hashing-2"

    check_same(*hashing, unseen_reviews.texts, encoder=HashingEncoder())
    with pytest.raises(InputError, match=r"comes without an encoder.*Give arrays"):
        open_predictor(hashing[1]).read(["A text."])
    with pytest.raises(ProtoryNetError, match="made with another encoder"):
        open_predictor(hashing[1], encoder=Other())


def test_a_folder_that_says_something_else_is_not_delivered(reviews, single, tmp_path):
    class Restless(HashingEncoder):
        draw = np.random.default_rng(0)

        def encode(self, sentences: list[str]) -> Any:
            vectors = super().encode(sentences)
            return vectors + self.draw.normal(0, 3, vectors.shape).astype(np.float32)

    classifier = fit(Restless(), reviews, single)
    with pytest.raises(ProtoryNetError, match=r"differs from the model.*Nothing was written"):
        export_onnx(classifier.predictor, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_the_same_model_is_exported_to_the_same_bytes(trained, exported, tmp_path):
    for _ in range(2):  # an earlier export is replaced
        export_onnx(trained.predictor, tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    for path in exported.iterdir():
        assert (tmp_path / "m" / path.name).read_bytes() == path.read_bytes(), path.name


def test_an_encoder_in_onnx_goes_along_unless_it_was_changed(exported, reviews, single, tmp_path):
    copied = Path(shutil.copytree(exported, tmp_path / "copied"))
    classifier = fit(open_predictor(copied).encoder, reviews, single)
    export_onnx(classifier.predictor, tmp_path / "m")
    graphs = [(path / "encoder.onnx").read_bytes() for path in (copied, tmp_path / "m")]
    assert graphs[0] == graphs[1]
    (copied / "encoder.onnx").write_bytes(b"other")
    with pytest.raises(ModelFormatError, match="cannot be opened by ONNX Runtime"):
        export_onnx(classifier.predictor, tmp_path / "m")


@pytest.mark.filterwarnings("ignore:this processor has no bfloat16:RuntimeWarning")
@pytest.mark.parametrize(
    ("variant", "written"), [("bf16", "float32"), ("int8", "int8"), ("static", "float32")]
)
def test_a_variant_of_an_encoder_is_exported(
    tiny_bert_folder, reviews, unseen_reviews, single, tmp_path, variant, written
):
    classifier = fit(f"{tiny_bert_folder}:{variant}", reviews, single)
    comparison = export_onnx(classifier.predictor, tmp_path / "m")
    assert comparison.same_labels > 0.8
    part = read_exported(tmp_path / "m").encoder
    assert part.precision == written
    if variant != "bf16":
        check_same(classifier, tmp_path / "m", unseen_reviews.texts)


def test_the_folder_asks_for_what_runs_it_and_not_for_torch(exported):
    lines = (exported / "requirements.txt").read_text().splitlines()
    wanted = {line.partition(">=")[0] for line in lines if not line.startswith("#")}
    assert {"numpy", "onnxruntime", "tokenizers"} <= wanted
    assert not wanted & {"torch", "transformers", "pandas", "scikit-learn"}


def _apart(value: Any) -> tuple[Any, list[float]]:
    """Return a value without its decimal numbers, and these."""
    numbers: list[float] = []

    def without(value: Any) -> Any:
        if isinstance(value, float):
            numbers.append(value)
            return None
        if isinstance(value, dict):
            return {key: without(entry) for key, entry in value.items()}
        return [without(entry) for entry in value] if isinstance(value, list) else value

    return without(value), numbers
