"""What a server says is what the classifier says, and no request makes it fail."""

import json
import shutil
import warnings
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from protorynet.report import model_card
from protorynet.server import Limits
from server_scene import TEXTS, Running, error_code, serving

with warnings.catch_warnings():
    # It asks packages for names that these are about to give up.
    warnings.simplefilter("ignore")
    import schemathesis

_WITHOUT_SHRINKING = (Phase.explicit, Phase.generate)
_CORE = (
    r"/v1/models(/\{name\}(/(predict|explain|prototypes|automaton|card))?)?"
    r"|/v1/jobs/\{job_id\}|/healthz|/readyz|/metrics"
)


def test_predictions_are_those_of_the_classifier(server, classifier):
    answer = server.predict(TEXTS).json()
    expected = classifier.predict_proba(TEXTS)
    given = [list(entry["probabilities"].values()) for entry in answer["predictions"]]
    np.testing.assert_allclose(given, expected, atol=1e-6)
    assert [entry["label"] for entry in answer["predictions"]] == classifier.predict(TEXTS).tolist()
    paths = classifier.read(TEXTS).paths(classifier.prototypes_.ids)
    assert [entry["trajectory"] for entry in answer["predictions"]] == [p.tolist() for p in paths]


@pytest.mark.parametrize("words", [False, True])
def test_explanations_are_those_that_the_command_prints(server, classifier, words):
    answer = server.post("/explain", {"texts": TEXTS, "words": words}).json()
    expected = [found.to_dict() for found in classifier.explain(TEXTS, words=words)]
    assert _rounded(answer["explanations"]) == _rounded(expected)


def test_prototypes_automata_and_card_are_those_of_the_classifier(server, classifier):
    given = server.get("/prototypes", members=100).json()["prototypes"]
    for item, own in zip(given, classifier.prototypes_.to_dict()["prototypes"], strict=True):
        assert json.loads(json.dumps(own)).items() <= item.items()
        assert item["n_members"] == len(own["members"])
    few = server.get("/prototypes", members=1).json()["prototypes"]
    assert [item["members"] for item in few] == [item["members"][:1] for item in given]
    assert server.get("").json()["n_members"] == sum(item["n_members"] for item in given)
    automaton = server.get("/automaton", label="good").json()
    assert automaton == classifier.automaton("good").to_dict()
    card = server.get("/card")
    assert card.headers["content-type"].startswith("text/markdown")
    assert card.text == model_card(classifier.model_)


def test_an_unknown_class_has_no_automaton(server):
    response = server.get("/automaton", label="<b>")
    assert (response.status_code, error_code(response)) == (404, "unknown_class")
    assert "<b>" not in response.text


def test_models_are_listed_without_where_their_files_lie(server):
    response = server.client.get("/v1/models")
    assert [model["name"] for model in response.json()["models"]] == ["hotel"]
    assert response.json()["models"][0]["encoder"] == "tiny"
    assert "/" not in response.text


@pytest.mark.parametrize(
    "name",
    [
        *("other", "..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "hotel%2f..%2fhotel", "hotel%00"),
        *("Hotel", "hotel ", ".hotel", "h" * 65, "%ff"),
    ],
)
def test_only_the_exact_name_finds_a_model(server, name):
    # Sent as it is: httpx would tidy up the path.
    url = httpx.URL(server.url).copy_with(raw_path=f"/v1/models/{name}/card".encode())
    response = server.client.get(url)
    assert response.status_code in (404, 422)
    assert error_code(response)


@pytest.mark.parametrize(
    "path",
    ["/assets/..%2fapp.py", "/assets/%2fetc%2fpasswd", "/..%2fapp.py", "/app.py", "/assets/"],
)
def test_only_files_of_the_pages_are_given(server, path):
    url = httpx.URL(server.url).copy_with(raw_path=path.encode())
    assert server.client.get(url).status_code == 404


@pytest.fixture(scope="module")
def whole(hotel, table, tmp_path_factory):
    """A server with a table of documents and a database of surveys, and a model to spoil."""
    folder = tmp_path_factory.mktemp("whole")
    model, database = folder / "hotel", f"sqlite:///{folder / 'surveys.db'}"
    shutil.copytree(hotel, model)
    with serving(model, data=table, database=database, limits=Limits(seconds=20)) as server:
        yield server


def test_no_described_request_makes_the_core_fail(whole):
    described = schemathesis.openapi.from_url(f"{whole.url}/openapi.json")
    _check_all(described.include(path_regex=f"^({_CORE})$"), whole, examples=10)


@pytest.mark.slow
def test_no_described_request_makes_any_route_fail(whole):
    described = schemathesis.openapi.from_url(f"{whole.url}/openapi.json")
    _check_all(described, whole, examples=60)


def _check_all(described: Any, whole: Running, *, examples: int) -> None:
    operations = [found.ok() for found in described.get_all_operations()]
    assert len(operations) >= 11
    for operation in operations:
        given(operation.as_strategy())(
            settings(
                max_examples=examples,
                phases=_WITHOUT_SHRINKING,
                suppress_health_check=list(HealthCheck),
                derandomize=True,
                database=None,
            )(lambda case: _check_answer(case, whole))
        )()


def _check_answer(case: Any, whole: Running) -> None:
    # Most random names are unknown; every other request shall get past that.
    if "name" in case.path_parameters and len(str(case.path_parameters["name"])) % 2:
        case.path_parameters["name"] = "hotel"
    response = case.call(base_url=whole.url, timeout=30)
    where = f"{case.method} {case.formatted_path}: {response.status_code} {response.text[:300]}"
    assert response.status_code < 500 or response.status_code == 503, where
    if response.status_code >= 400 and not case.path.startswith("/survey"):
        assert set(response.json()["error"]) == {"code", "message"}, where


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list) else value
