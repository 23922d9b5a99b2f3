"""Models saved by earlier releases load for ever and predict what they predicted.

A folder holds the models of one format, made by the release that introduced it and never again,
with what they said then in ``expected.json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protorynet import ProtoryNetClassifier

_MODELS = ["v1/texts", "v1/vectors", "v1/edited"]


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
            assert step.prototype == old["prototype"]
            assert step.prototype_sentence == old["prototype_sentence"]
            assert step.similarity == pytest.approx(old["similarity"], abs=1e-5)
            assert step.effect == pytest.approx(old["effect"], abs=1e-5)


def test_an_old_model_has_exact_prototypes_and_no_automata(clf, encoder):
    assert clf.model_.automata == ()
    if clf.encoder_ is not None:
        vectors = clf.model_.embed(encoder.encode([item.sentence for item in clf.prototypes_]))
        assert float((vectors - clf.model_.network.members).abs().max()) < 1e-5


def test_an_old_model_can_be_saved_again(clf, expected, tmp_path):
    clf.save(tmp_path / "model")
    again = ProtoryNetClassifier.load(tmp_path / "model", encoder=clf.encoder_, device="cpu")
    np.testing.assert_array_equal(
        again.predict_proba(expected["inputs"]), clf.predict_proba(expected["inputs"])
    )
