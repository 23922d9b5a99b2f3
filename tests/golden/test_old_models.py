"""Models saved by earlier releases load for ever and predict what they predicted.

A folder holds the models of one format, made by the release that introduced it and never again,
with what they said then in ``expected.json``.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protorynet import ProtoryNetClassifier

_MODELS = ["v1/texts", "v1/vectors", "v1/edited", "v2/texts", "v2/vectors"]


@pytest.fixture(params=_MODELS)
def folder(request):
    return Path(__file__).parent / request.param


@pytest.fixture
def clf(folder, encoder):
    given = None if folder.name == "vectors" else encoder
    return ProtoryNetClassifier.load(folder / "model", encoder=given, device="cpu", cache=False)


@pytest.fixture
def expected(folder):
    values: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    values["inputs"] = [x if isinstance(x, str) else np.array(x) for x in values["inputs"]]
    return values


def test_an_old_model_gives_the_probabilities_it_gave(clf, expected):
    found = clf.predict_proba(expected["inputs"])
    np.testing.assert_allclose(found, expected["probabilities"], atol=1e-5)
    assert clf.predict(expected["inputs"]).tolist() == expected["predictions"]


def test_an_old_model_explains_as_it_explained(clf, expected):
    explanations = clf.explain(expected["inputs"])
    for explanation, then in zip(explanations, expected["explanations"], strict=True):
        assert explanation.label == then["label"]
        for step, old in zip(explanation.sentences, then["sentences"], strict=True):
            exact = {"prototype", "prototype_sentence", "member", "headline", "unfamiliar"}
            for name in exact & set(old):
                assert getattr(step, name) == old[name]
            assert step.similarity == pytest.approx(old["similarity"], abs=1e-5)
            assert step.effect == pytest.approx(old["effect"], abs=1e-5)


def test_an_old_model_has_exact_members_and_automata_since_they_are_kept(clf, encoder, folder):
    is_first = folder.parent.name == "v1"
    assert (clf.model_.automata == ()) == is_first
    assert (max(clf.prototypes_.sizes) == 1) == is_first
    assert (clf.model_.familiar == 0) == is_first
    if clf.encoder_ is not None:
        shown = [member.sentence for member in clf.prototypes_.members]
        vectors = clf.model_.embed(encoder.encode(shown))
        assert float((vectors - clf.model_.network.members).abs().max()) < 1e-5


def test_an_old_model_can_be_saved_again_and_splits_texts_as_it_did(clf, expected, tmp_path):
    clf.save(tmp_path / "model")
    again = ProtoryNetClassifier.load(tmp_path / "model", encoder=clf.encoder_, device="cpu")
    np.testing.assert_array_equal(
        again.predict_proba(expected["inputs"]), clf.predict_proba(expected["inputs"])
    )
    assert (again.splitter, again.language) == ("lines", "en")
