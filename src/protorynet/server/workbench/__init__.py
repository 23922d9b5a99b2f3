"""The workbench's REST API: reading, editing and publishing models, mistakes, batches and trust."""

import logging

from fastapi import APIRouter, FastAPI

from protorynet.errors import ProtoryNetError
from protorynet.server.workbench import batch_routes, draft_routes, mistakes, reading_routes
from protorynet.server.workbench.desk import Workbench

_LOG = logging.getLogger("protorynet.server")

router = APIRouter()
for _part in (reading_routes, mistakes, draft_routes, batch_routes):
    router.include_router(_part.router)


def start(app: FastAPI) -> None:
    """Serve the versions that were last published in place of the directories as given."""
    workbench = app.state.workbench = Workbench(app)
    app.state.store.find_folder = workbench.find_folder
    for name in app.state.store.names():
        desk = workbench.desk(name)
        desk.versions.sweep()
        desk.batches.sweep()
        ledger = desk.versions.read()
        if ledger.current == 1:
            continue
        try:
            app.state.store.replace(name, desk.versions.path(ledger.current))
        except ProtoryNetError as error:
            _LOG.error(
                "published version not served",
                extra={"model": name, "number": ledger.current, "error": type(error).__name__},
            )
