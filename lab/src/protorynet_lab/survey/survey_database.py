"""The survey's database by URL: SQLite by default, PostgreSQL for many participants.

An SQLite file has an identity, which is also noted in ``<file>.id`` beside it, so that a file that
was removed, emptied or replaced is not taken for a survey that nobody has answered yet. Of a
database elsewhere the survey's own moment is noted: see `open_survey`.
"""

import secrets
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    column,
    create_engine,
    event,
    inspect,
    make_url,
    table,
    text,
)
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from protorynet.errors import InputError, ProtoryNetError
from protorynet.files import read_limited, write_atomically

# The revisions in `migrations` say what is in these tables.
surveys = table("surveys", *map(column, ("id", "title", "content", "created_at")))
invitations = table(
    "invitations", *map(column, ("id", "survey_id", "token", "digest", "created_at"))
)
participants = table(
    "participants",
    *map(column, ("id", "survey_id", "invitation_id", "digest", "kind", "judge")),
    *map(column, ("number", "model", "started_at", "finished_at")),
)
views = table("views", *map(column, ("participant_id", "step", "shown_at", "showings")))
answers = table(
    "answers", *map(column, ("participant_id", "step", "choice", "ease", "seconds", "answered_at"))
)

_FILE_SUFFIXES = (".sqlite", ".sqlite3", ".db")
# Both are permissively licensed and synchronous, as is all of the survey's storage.
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+pg8000", "postgres": "postgresql+pg8000"}
# Any number of our own: two servers that start at once must not both make the tables.
_UPGRADE_LOCK = 0x70726F746F
LOCK_TIMEOUT_MS = 15_000
LOCK_RETRY_SECONDS = 0.02


def database_url(given: str | Path) -> URL:
    """Return the URL of a database, given as one or as the name of an SQLite file."""
    words = str(given)
    if "://" not in words and words.lower().endswith(_FILE_SUFFIXES):
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


def open_engine(given: str | Path, *, revision: str = "head") -> Engine:
    """Connect to a database and bring its tables up to date, or to an older revision."""
    url = database_url(given)
    file = Path(str(url.database)).absolute() if url.get_backend_name() == "sqlite" else None
    noted = "" if file is None else _noted_identity(file)
    engine = create_engine(url, pool_pre_ping=True, hide_parameters=True)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    shown = url.render_as_string(hide_password=True)

    try:
        identity = _upgrade(engine.execution_options(writes=True), revision, file, noted)
        if revision == "head":
            _check_schema(engine, shown)
        if file is not None and not noted:
            write_atomically(_identity_file(file), identity)
    except SQLAlchemyError as error:
        engine.dispose()
        raise InputError(f"the database {shown} cannot be used: {_explain(error)}.") from None
    except BaseException:
        engine.dispose()
        raise

    @event.listens_for(engine, "handle_error")
    def tell(context: Any) -> ProtoryNetError | None:
        error = context.sqlalchemy_exception
        if error is None or context.is_pre_ping:
            return None
        return ProtoryNetError(f"the database {shown} failed: {_explain(error)}.")

    return engine


def _identity_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.id")


def _noted_identity(file: Path) -> str:
    """Return what is noted of a database that was there before; it must be there still."""
    try:
        noted = read_limited(_identity_file(file), 100).decode("ascii", "replace")
    except OSError:
        return ""
    if not file.exists() or not file.stat().st_size:
        raise _lost(file)
    return noted


def check_moment(note: Path, moment: str | None) -> None:
    """Compare when a survey came into its database with what is noted; note it the first time."""
    try:
        noted = read_limited(note, 200).decode("ascii", "replace")
    except OSError:
        noted = ""
    if noted not in ("", moment):
        raise InputError(
            "the database lost the survey that held the answers, or is another one. Restore it "
            f"from a copy; or, to begin without answers, remove {note}."
        )
    if moment is not None and not noted:
        write_atomically(note, moment)


def _lost(file: Path) -> InputError:
    return InputError(
        f"{file} is missing, empty or another database than the one that held the answers. Restore "
        f"it from a copy; or, to begin without answers, remove {file.name} and {file.name}.id."
    )


def _check_schema(engine: Engine, shown: str) -> None:
    """Refuse a database that lost a table or a column."""
    try:
        with engine.connect() as connection:
            for each in (surveys, invitations, participants, views, answers):
                connection.execute(each.select().limit(0))
    except SQLAlchemyError as error:
        raise InputError(
            f"the database {shown} lost a table or a column ({_explain(error)}). Restore it from a "
            "copy."
        ) from None


def _upgrade(engine: Engine, revision: str, file: Path | None, noted: str) -> str:
    """Run the revisions that the database lacks, all of them or none; return its identity.

    What is there is copied before: an SQLite file as ``<file>.<revision>.bak``, the tables of
    PostgreSQL as ``backup_<revision>_<table>``. A file of another identity than the noted one is
    left as it is.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", "protorynet_lab.survey:migrations")
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            lock = text("SELECT pg_advisory_xact_lock(:lock)")
            connection.execute(lock, {"lock": _UPGRADE_LOCK})
        config.attributes["connection"] = connection
        now = MigrationContext.configure(connection).get_current_revision()
        script = ScriptDirectory.from_config(config)
        try:
            if now is not None and now != script.get_current_head():
                script.get_revision(now)  # which must be a known one
                if file is None:
                    _copy_tables(connection, f"backup_{now}_")
                else:
                    _back_up(file, file.with_name(f"{file.name}.{now}.bak"))
            command.upgrade(config, revision)
        except CommandError as error:
            raise InputError(
                f"the survey's database is of a newer version of protorynet ({error}). "
                "Install that version: pip install --upgrade 'protorynet[lab]'"
            ) from None
        if file is None:
            return ""
        # A number in the file's header that SQLite leaves to the application.
        identity = connection.exec_driver_sql("PRAGMA user_version").scalar()
        if not identity:
            identity = secrets.randbelow(2**31 - 1) + 1
            connection.exec_driver_sql(f"PRAGMA user_version = {identity}")
        if noted not in ("", str(identity)):
            raise _lost(file)
        return str(identity)


def _back_up(file: Path, copy: Path) -> None:
    """Copy a database as others see it, whole or not at all."""
    with closing(sqlite3.connect(file)) as source:
        write_atomically(copy, source.serialize(), is_private=True)


def _copy_tables(connection: Connection, prefix: str) -> None:
    """Copy every table beside itself, in the transaction that changes them."""
    for name in inspect(connection).get_table_names():
        if not name.startswith("backup_"):
            connection.exec_driver_sql(f"CREATE TABLE {prefix}{name} AS TABLE {name}")


def _explain(error: SQLAlchemyError) -> str:
    """Return why a database failed, in one line and without what was to be stored."""
    cause = getattr(error, "orig", None) or error
    details = cause.args[0] if cause.args else cause
    if isinstance(details, dict):  # as the server of PostgreSQL sends it
        details = details.get("M", "it refused")
    lines = str(details).strip().splitlines()
    return (lines[0] if lines else type(cause).__name__).rstrip(".")


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # We begin transactions ourselves: the driver would begin them too late to lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {LOCK_TIMEOUT_MS}")
    _write_ahead(cursor)
    cursor.execute("PRAGMA synchronous = FULL")  # a confirmed answer outlives a power cut
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    # SQLite does not wait, whatever the busy timeout, when two connections change a new file's
    # journal at once; the mode is the file's own, so whoever was second finds it set.
    deadline = time.monotonic() + LOCK_TIMEOUT_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            is_locked = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_locked or time.monotonic() > deadline:
                raise
            time.sleep(LOCK_RETRY_SECONDS)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
