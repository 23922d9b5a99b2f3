"""What a server says is what the classifier says."""

from __future__ import annotations

import httpx
import numpy as np
import pytest

from protorynet import ProtoryNetClassifier
from protorynet.report import model_card
from server_scene import TEXTS, Running, error_code


def test_predictions_are_those_of_the_classifier(
    server: Running, classifier: ProtoryNetClassifier
) -> None:
    answer = server.predict(TEXTS).json()
    expected = classifier.predict_proba(TEXTS)
    given = [list(entry["probabilities"].values()) for entry in answer["predictions"]]
    np.testing.assert_allclose(given, expected, atol=1e-6)
    assert [entry["label"] for entry in answer["predictions"]] == classifier.predict(TEXTS).tolist()
    paths = classifier.read(TEXTS).paths(classifier.prototypes_.ids)
    assert [entry["trajectory"] for entry in answer["predictions"]] == [p.tolist() for p in paths]


def test_explanations_are_those_that_the_command_prints(
    server: Running, classifier: ProtoryNetClassifier
) -> None:
    answer = server.explain(TEXTS).json()
    expected = [found.to_dict() for found in classifier.explain(TEXTS)]
    assert _rounded(answer["explanations"]) == _rounded(expected)


def test_words_are_explained_when_asked_for(
    server: Running, classifier: ProtoryNetClassifier
) -> None:
    body = {"texts": TEXTS[:1], "words": True}
    answer = server.client.post("/v1/models/hotel/explain", json=body).json()
    expected = [classifier.explain(TEXTS[0], words=True).to_dict()]
    assert _rounded(answer["explanations"]) == _rounded(expected)


def test_prototypes_are_those_that_the_command_prints(
    server: Running, classifier: ProtoryNetClassifier
) -> None:
    answer = server.client.get("/v1/models/hotel/prototypes").json()
    assert answer == classifier.prototypes_.to_dict()


def test_the_automaton_of_a_class_is_the_stored_one(
    server: Running, classifier: ProtoryNetClassifier
) -> None:
    answer = server.client.get("/v1/models/hotel/automaton", params={"label": "good"}).json()
    assert answer == classifier.automaton("good").to_dict()


def test_an_unknown_class_has_no_automaton(server: Running) -> None:
    response = server.client.get("/v1/models/hotel/automaton", params={"label": "<b>"})
    assert (response.status_code, error_code(response)) == (404, "unknown_class")
    assert "<b>" not in response.text


def test_the_card_is_markdown(server: Running, classifier: ProtoryNetClassifier) -> None:
    response = server.client.get("/v1/models/hotel/card")
    assert response.headers["content-type"].startswith("text/markdown")
    assert response.text == model_card(classifier.model_)


def test_models_are_listed_without_where_their_files_lie(server: Running) -> None:
    response = server.client.get("/v1/models")
    assert [model["name"] for model in response.json()["models"]] == ["hotel"]
    assert response.json()["models"][0]["encoder"] == "tiny"
    assert "/" not in response.text


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_running_server_is_well_and_ready(server: Running, path: str) -> None:
    assert server.client.get(path).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "other",
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "hotel%2f..%2fhotel",
        "hotel%00",
        "Hotel",
        "hotel ",
        ".hotel",
        "h" * 65,
        "%ff",
    ],
)
def test_only_the_exact_name_finds_a_model(server: Running, name: str) -> None:
    # Sent as it is: httpx would tidy up the path.
    url = httpx.URL(server.url).copy_with(raw_path=f"/v1/models/{name}/card".encode())
    response = server.client.get(url)
    assert response.status_code in (404, 422)
    assert error_code(response)


@pytest.mark.parametrize(
    "path",
    ["/assets/..%2fapp.py", "/assets/%2fetc%2fpasswd", "/..%2fapp.py", "/app.py", "/assets/"],
)
def test_only_files_of_the_pages_are_given(server: Running, path: str) -> None:
    url = httpx.URL(server.url).copy_with(raw_path=path.encode())
    assert server.client.get(url).status_code == 404


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list) else value
