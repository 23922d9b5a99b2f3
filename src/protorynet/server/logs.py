"""Logs as lines of JSON: what happened and how long it took, never a text nor a key."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

__all__ = ["JsonLines", "log_to", "origin"]

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonLines(logging.Formatter):
    """Writes each record as one JSON object; what was given as `extra` becomes its fields.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "request", "levelname": "INFO", "status": 200})
    >>> JsonLines().format(record)
    '{"time": "...", "level": "info", "event": "request", "status": 200}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; of an exception only its kind and where it happened."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info and record.exc_info[1]:
            line |= origin(record.exc_info[1])
        return json.dumps(line, default=str)


def origin(error: BaseException) -> dict[str, str]:
    """Say what kind an error is and where it happened; its message may hold a client's text.

    Examples
    --------
    >>> try:
    ...     int("a client's text")
    ... except ValueError as error:
    ...     origin(error)["error"]
    'ValueError'
    """
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = (f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
    return {"error": type(error).__name__, "where": " > ".join(places)}


def log_to(stream: TextIO | None = None) -> None:
    """Write the server's and uvicorn's records as JSON lines, to standard error by default."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("protorynet.server", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
