"""Whatever the description allows or forbids, no request makes the server fail."""

from __future__ import annotations

import csv
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from protorynet.server import Limits, ServerConfig
from server_scene import Running, error_code, running

with warnings.catch_warnings():
    # It asks packages for names that these are about to give up.
    warnings.simplefilter("ignore")
    import schemathesis

_WITHOUT_SHRINKING = (Phase.explicit, Phase.generate)
_CORE = (
    r"/v1/models(/\{name\}(/(predict|explain|prototypes|automaton|card))?)?"
    r"|/v1/jobs/\{job_id\}|/healthz|/readyz|/metrics"
)


@pytest.fixture(scope="module")
def whole(hotel: Path, reviews: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with a table of documents and a database of surveys, and a model to spoil."""
    folder = tmp_path_factory.mktemp("whole")
    table = folder / "reviews.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [("text", "label"), *zip(reviews.texts, reviews.labels, strict=True)]
        )
    config = ServerConfig(
        models={"hotel": Path(shutil.copytree(hotel, folder / "hotel"))},
        device="cpu",
        data=table,
        database=f"sqlite:///{folder / 'surveys.db'}",
        limits=Limits(seconds=20),
    )
    with running(config) as server:
        yield server


def test_no_described_request_makes_the_core_fail(whole: Running) -> None:
    described = schemathesis.openapi.from_url(f"{whole.url}/openapi.json")
    _try_all(described.include(path_regex=f"^({_CORE})$"), whole, examples=10)


@pytest.mark.slow
def test_no_described_request_makes_any_route_fail(whole: Running) -> None:
    described = schemathesis.openapi.from_url(f"{whole.url}/openapi.json")
    _try_all(described, whole, examples=60)


def _try_all(described: Any, whole: Running, *, examples: int) -> None:
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
            )(lambda case: _check(case, whole))
        )()


def _check(case: Any, whole: Running) -> None:
    # Most random names are unknown; every other request shall get past that.
    if "name" in case.path_parameters and len(str(case.path_parameters["name"])) % 2:
        case.path_parameters["name"] = "hotel"
    response = case.call(base_url=whole.url, timeout=30)
    where = f"{case.method} {case.formatted_path}: {response.status_code} {response.text[:300]}"
    assert response.status_code < 500 or response.status_code == 503, where
    if response.status_code >= 400 and not case.path.startswith("/survey"):
        assert set(response.json()["error"]) == {"code", "message"}, where


def test_errors_are_described_in_the_one_shape(whole: Running) -> None:
    described = whole.client.get("/openapi.json").json()
    predict = described["paths"]["/v1/models/{name}/predict"]["post"]["responses"]
    shape = {"$ref": "#/components/schemas/ErrorView"}
    for status in ("401", "403", "404", "413", "422", "429", "503"):
        assert predict[status]["content"]["application/json"]["schema"] == shape


def test_an_unknown_model_has_the_same_error_on_every_route(whole: Running) -> None:
    described = whole.client.get("/openapi.json").json()
    for path, operations in described["paths"].items():
        if path.startswith("/v1/models/{name}") and "get" in operations and path.count("{") == 1:
            url = path.replace("{name}", "nobody")
            response = whole.client.get(url, params={"label": "good"})
            assert (path, response.status_code) == (path, 404)
            assert error_code(response) == "unknown_model"
