"""The workbench's pages, built beforehand and kept in the package."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Depends
from fastapi.responses import FileResponse, RedirectResponse, Response

from protorynet.server.failures import ApiError
from protorynet.server.keys import public

__all__ = ["STATIC", "pages_router"]

STATIC = Path(__file__).parent / "static"
_YEAR = "public, max-age=31536000, immutable"


def pages_router(folder: Path = STATIC) -> APIRouter:
    """Return routes for the files that a folder holds now, and for no others."""
    router = APIRouter(include_in_schema=False, dependencies=[Depends(public)])
    files = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }

    @router.get("/", dependencies=[Depends(public)])
    def index() -> Response:
        """Show the workbench; where it was not built, the description of the routes."""
        if "index.html" not in files:
            return RedirectResponse("/docs")
        return FileResponse(files["index.html"], headers={"Cache-Control": "no-cache"})

    @router.get("/assets/{name:path}", dependencies=[Depends(public)])
    def asset(name: str) -> Response:
        """Give a script, style or font; its name changes with its content."""
        return _file(files.get(f"assets/{name}"), cache=_YEAR)

    @router.get("/{name}", dependencies=[Depends(public)])
    def file(name: str) -> Response:
        """Give a file that has a fixed name, such as an icon."""
        return _file(files.get(name), cache="no-cache")

    return router


def _file(path: Path | None, *, cache: str) -> Response:
    if path is None:
        raise ApiError(404, "not_found", "there is nothing here; see / and /docs.")
    return FileResponse(path, headers={"Cache-Control": cache})
