"""Bringing a survey's database to the tables that this version of the package uses."""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Engine, text

from protorynet.errors import InputError

__all__ = ["upgrade"]

# Any number of our own: two servers that start at once must not both make the tables.
_LOCK = 0x70726F746F


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Run the revisions that the database lacks, all of them or none.

    Parameters
    ----------
    engine
        The database; its transactions must lock at their beginning.
    revision
        The last one to run.
    """
    config = Config()
    config.set_main_option("script_location", "protorynet_lab.survey:migrations")
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, revision)
        except CommandError as error:
            raise InputError(
                f"the survey's database is of a newer version of protorynet ({error}). "
                "Install that version: pip install --upgrade 'protorynet[server]'"
            ) from None
