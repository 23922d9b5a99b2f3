"""The OpenAPI description, and a page to read it on that loads nothing from elsewhere."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from fastapi.routing import iter_route_contexts

from protorynet.server.failures import ERROR_ANSWERS
from protorynet.server.keys import declared_scope, public

__all__ = ["describe", "route_scopes", "router"]

_FILES = resources.files("protorynet.server") / "templates"
_USUAL = frozenset(answer["description"] for answer in ERROR_ANSWERS.values())
_METHODS = ("get", "post", "put", "patch", "delete")

router = APIRouter(include_in_schema=False)


@router.get("/docs", dependencies=[Depends(public)])
def docs(request: Request) -> HTMLResponse:
    """Show the description of all routes."""
    from jinja2 import Environment

    template = (_FILES / "docs.html").read_text(encoding="utf-8")
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(template)
    shown = page.render(
        api=request.app.openapi(), groups=_groups(request.app), errors=ERROR_ANSWERS
    )
    return HTMLResponse(shown)


@router.get("/docs/style.css", dependencies=[Depends(public)])
def style() -> Response:
    """Give the style of the page."""
    return Response((_FILES / "docs.css").read_bytes(), media_type="text/css")


@router.get("/openapi.json", dependencies=[Depends(public)])
async def openapi(request: Request) -> dict[str, Any]:
    """Give the description to programs."""
    described: dict[str, Any] = request.app.openapi()
    return described


def route_scopes(app: FastAPI) -> dict[tuple[str, str], str | None]:
    """Return the scope that each route declares, by method and path; None for public ones.

    A route that declares nothing is a `LookupError`: it would be open by accident.
    """
    scopes: dict[tuple[str, str], str | None] = {}
    for route in iter_route_contexts(app.routes):
        called = [entry.dependency for entry in getattr(route, "dependencies", ())]
        try:
            scope = declared_scope([call for call in called if call is not None])
        except LookupError as error:
            raise LookupError(f"{route.path}: {error}") from None
        scopes |= {(method, str(route.path)): scope for method in route.methods or ()}
    return scopes


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description, with the scope that each route needs."""
    described = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
    )
    schemes = described.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes["key"] = {
        "type": "http",
        "scheme": "bearer",
        "description": "A key made with `protorynet keys create`; not needed where the server "
        "has no keys.",
    }
    for (method, path), scope in route_scopes(app).items():
        operation = described["paths"].get(path, {}).get(method.lower())
        if operation is not None and scope is not None:
            operation |= {"security": [{"key": []}, {}], "x-scope": scope}
    return described


def _groups(app: FastAPI) -> dict[str, list[dict[str, Any]]]:
    """Return the operations by their first tag, each with what the page shows of it."""
    described = app.openapi()
    schemas = described["components"].get("schemas", {})
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, operations in described["paths"].items():
        for method in (name for name in _METHODS if name in operations):
            operation = operations[method]
            shown = operation | {
                "method": method.upper(),
                "path": path,
                "sent": _example(operation.get("requestBody", {}), schemas),
                "answers": _answers(operation, schemas),
            }
            groups.setdefault((operation.get("tags") or ["other"])[0], []).append(shown)
    return groups


def _answers(operation: dict[str, Any], schemas: dict[str, Any]) -> list[dict[str, str]]:
    """Return what a route answers, but for the errors that every route may answer with."""
    return [
        {
            "status": status,
            "description": answer["description"].replace("Successful Response", "Done."),
            "example": _example(answer, schemas) if status.startswith("2") else "",
        }
        for status, answer in operation["responses"].items()
        if answer["description"] not in _USUAL
    ]


def _example(described: dict[str, Any], schemas: dict[str, Any]) -> str:
    content = described.get("content", {}).get("application/json", {})
    value = _example_of(content.get("schema", {}), schemas)
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)


def _example_of(schema: dict[str, Any], schemas: dict[str, Any], depth: int = 0) -> Any:
    """Put an example together from those of a schema's fields."""
    if examples := schema.get("examples"):
        return examples[0]
    if depth > 5:
        return None
    if "$ref" in schema:
        return _example_of(schemas[schema["$ref"].rsplit("/", 1)[-1]], schemas, depth + 1)
    if schema.get("type") == "array":
        inner = _example_of(schema.get("items", {}), schemas, depth + 1)
        return [] if inner is None else [inner]
    if fields := schema.get("properties"):
        return {name: _example_of(field, schemas, depth + 1) for name, field in fields.items()}
    return schema.get("default")
