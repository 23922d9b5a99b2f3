"""Pages and routes about the server itself: description, health, metrics, the workbench's files."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from fastapi.routing import iter_route_contexts
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field

from protorynet.server.api_keys import SCOPES, public, require
from protorynet.server.api_shapes import ERROR_ANSWERS, refusal

_TEMPLATES = resources.files("protorynet.server") / "templates"
_STATIC = Path(__file__).parent / "static"
_USUAL_ANSWERS = frozenset(answer["description"] for answer in ERROR_ANSWERS.values())
_FOR_A_YEAR = "public, max-age=31536000, immutable"
_DEEPEST_EXAMPLE = 5

router = APIRouter()
_public = [Depends(public)]


class HealthView(BaseModel):
    """Whether the server lives, or is ready."""

    status: str = Field(examples=["ok"])


@router.get("/healthz", dependencies=_public, tags=["health"])
async def healthz() -> HealthView:
    """Say that the server lives."""
    return HealthView(status="ok")


@router.get("/readyz", dependencies=_public, tags=["health"])
async def readyz(request: Request) -> HealthView:
    """Say whether the server answers requests: 503 while it starts or stops, or cannot."""
    state = request.app.state
    if not state.ready or not all(batcher.works for batcher in state.batchers.values()):
        raise refusal("not_ready")
    return HealthView(status="ready")


@router.get(
    "/metrics",
    dependencies=[Depends(require("predict"))],
    tags=["health"],
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "Prometheus' text format."}},
)
async def metrics(request: Request) -> Response:
    """Give counts and times to Prometheus."""
    counted = generate_latest(request.app.state.metrics.registry)
    return Response(counted, media_type=CONTENT_TYPE_LATEST)


@router.get("/docs", dependencies=_public, include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """Show the description of all routes, on a page that loads nothing from elsewhere."""
    from jinja2 import Environment

    template = (_TEMPLATES / "docs.html").read_text(encoding="utf-8")
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(template)
    api = request.app.openapi()
    return HTMLResponse(page.render(api=api, groups=_group_operations(api), errors=ERROR_ANSWERS))


@router.get("/docs/style.css", dependencies=_public, include_in_schema=False)
def style() -> Response:
    """Give the style of the page."""
    return Response((_TEMPLATES / "docs.css").read_bytes(), media_type="text/css")


@router.get("/openapi.json", dependencies=_public, include_in_schema=False)
async def openapi(request: Request) -> dict[str, Any]:
    """Give the description to programs."""
    described: dict[str, Any] = request.app.openapi()
    return described


def page_routes() -> APIRouter:
    """Return routes for the workbench's files that the package holds now, and for no others."""
    pages = APIRouter(include_in_schema=False)
    files = {
        path.relative_to(_STATIC).as_posix(): path for path in _STATIC.rglob("*") if path.is_file()
    }

    def give(name: str, cache: str) -> Response:
        if name not in files:
            raise refusal("not_found")
        return FileResponse(files[name], headers={"Cache-Control": cache})

    @pages.get("/", dependencies=_public)
    def index() -> Response:
        """Show the workbench; where it was not built, the description of the routes."""
        return (
            give("index.html", "no-cache") if "index.html" in files else RedirectResponse("/docs")
        )

    @pages.get("/assets/{name:path}", dependencies=_public)
    def asset(name: str) -> Response:
        """Give a script, style or font; its name changes with its content."""
        return give(f"assets/{name}", _FOR_A_YEAR)

    @pages.get("/{name}", dependencies=_public)
    def file(name: str) -> Response:
        """Give a file that has a fixed name, such as an icon."""
        return give(name, "no-cache")

    return pages


def route_scopes(app: FastAPI) -> dict[tuple[str, str], str | None]:
    """Return the scope that each route declares, by method and path; None for public ones.

    A route that declares nothing is a `LookupError`: it would be open by accident.
    """
    scopes: dict[tuple[str, str], str | None] = {}
    for route in iter_route_contexts(app.routes):
        called = [entry.dependency for entry in getattr(route, "dependencies", ())]
        asked = [scope for scope in SCOPES if require(scope) in called]
        if not asked and public not in called:
            raise LookupError(
                f"{route.path} declares no scope; add Depends(require(…)) or Depends(public)"
            )
        highest = asked[-1] if asked else None
        scopes |= {(method, str(route.path)): highest for method in route.methods or ()}
    return scopes


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description, with the scope that each route needs."""
    if app.openapi_schema is not None:
        return app.openapi_schema
    described = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
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
    app.openapi_schema = described
    return described


def _group_operations(described: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the operations by their first tag, each with what the page shows of it."""
    schemas = described["components"].get("schemas", {})
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            shown = operation | {
                "method": method.upper(),
                "path": path,
                "sent": _write_example(operation.get("requestBody", {}), schemas),
                "answers": [
                    {
                        "status": status,
                        "description": answer["description"].replace(
                            "Successful Response", "Done."
                        ),
                        "example": _write_example(answer, schemas) if status[0] == "2" else "",
                    }
                    for status, answer in operation["responses"].items()
                    if answer["description"] not in _USUAL_ANSWERS
                ],
            }
            groups.setdefault((operation.get("tags") or ["other"])[0], []).append(shown)
    return groups


def _write_example(described: dict[str, Any], schemas: dict[str, Any]) -> str:
    content = described.get("content", {}).get("application/json", {})
    value = _build_example(content.get("schema", {}), schemas)
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)


def _build_example(schema: dict[str, Any], schemas: dict[str, Any], depth: int = 0) -> Any:
    """Put an example together from those of a schema's fields."""
    if examples := schema.get("examples"):
        return examples[0]
    if depth > _DEEPEST_EXAMPLE:
        return None
    if "$ref" in schema:
        return _build_example(schemas[schema["$ref"].rsplit("/", 1)[-1]], schemas, depth + 1)
    if schema.get("type") == "array":
        inner = _build_example(schema.get("items", {}), schemas, depth + 1)
        return [] if inner is None else [inner]
    if fields := schema.get("properties"):
        return {name: _build_example(field, schemas, depth + 1) for name, field in fields.items()}
    return schema.get("default")
