"""The survey's database by URL: SQLite by default, PostgreSQL for many participants."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from protorynet.errors import InputError, MissingExtraError
from protorynet_lab.survey.migrating import upgrade

__all__ = ["database_url", "open_engine", "reason"]

_FILES = (".sqlite", ".sqlite3", ".db")
# Both are permissively licensed and synchronous, as is all of the survey's storage.
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+pg8000", "postgres": "postgresql+pg8000"}
_WAIT_MS = 15_000
_RETRY_S = 0.02


def database_url(given: str | Path) -> URL:
    """Return the URL of a database, given as one or as the name of an SQLite file.

    Examples
    --------
    >>> str(database_url("answers.sqlite"))
    'sqlite:///answers.sqlite'
    >>> database_url("postgresql://me:secret@host/survey").drivername
    'postgresql+pg8000'
    """
    words = str(given)
    if "://" not in words and words.lower().endswith(_FILES):
        return URL.create("sqlite", database=words)
    try:
        url = make_url(words)
        kind = url.get_backend_name()
    except (ArgumentError, ValueError):
        kind = None
    if kind not in _DRIVERS:
        raise InputError(
            # Not the words themselves: they may hold a password.
            "the database should be an SQLite file (.sqlite, .db) or a URL that begins with "
            "sqlite:/// or postgresql://."
        )
    if kind == "sqlite" and url.database in (None, "", ":memory:"):
        raise InputError("the survey's database must be a file, because answers are to be kept.")
    return url.set(drivername=_DRIVERS[kind])


def open_engine(given: str | Path) -> Engine:
    """Connect to a database and bring its tables up to date."""
    url = database_url(given)
    if url.get_backend_name() == "sqlite":
        Path(str(url.database)).absolute().parent.mkdir(parents=True, exist_ok=True)
    try:
        engine = create_engine(url, pool_pre_ping=True, hide_parameters=True)
    except ModuleNotFoundError as error:
        raise MissingExtraError("PostgreSQL", str(error.name), extra="server") from None
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    try:
        upgrade(engine.execution_options(writes=True))
    except SQLAlchemyError as error:
        engine.dispose()
        shown = url.render_as_string(hide_password=True)
        raise InputError(f"the database {shown} cannot be used: {reason(error)}.") from None
    except BaseException:
        engine.dispose()
        raise
    return engine


def reason(error: SQLAlchemyError) -> str:
    """Return why a database failed, in one line and without what was to be stored."""
    cause = getattr(error, "orig", None) or error
    details = cause.args[0] if cause.args else cause
    if isinstance(details, dict):  # as the server of PostgreSQL tells it
        details = details.get("M", "it refused")
    lines = str(details).strip().splitlines()
    return (lines[0] if lines else type(cause).__name__).rstrip(".")


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # We begin transactions ourselves: the driver would begin them too late to lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_WAIT_MS}")
    _write_ahead(cursor)
    cursor.execute("PRAGMA synchronous = FULL")  # a confirmed answer outlives a power cut
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    # SQLite does not wait, whatever the busy timeout, when two connections change a new file's
    # journal at once; the mode is the file's own, so whoever was second finds it set.
    deadline = time.monotonic() + _WAIT_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
