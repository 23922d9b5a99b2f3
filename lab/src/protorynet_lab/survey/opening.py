"""Finding a survey by its file, or by its name in a database."""

from __future__ import annotations

from pathlib import Path

from protorynet.errors import InputError
from protorynet_lab.survey.storage import Storage
from protorynet_lab.survey.survey import Survey
from protorynet_lab.survey.survey_file import read_survey

__all__ = ["open_survey"]


def open_survey(name: str | None, database: str | None) -> tuple[Storage, Survey]:
    """Open a survey's database, and return it with the survey that is meant.

    Parameters
    ----------
    name
        The survey's file (.json), or its id in the database; None where that holds only one.
    database
        URL or SQLite file; by default a file beside the survey's.
    """
    file = Path(name) if name is not None and name.lower().endswith(".json") else None
    given = None if file is None else read_survey(file)
    if database is None:
        if file is None:
            raise InputError(
                "give the survey's file, as made by `protorynet survey create`, or --database URL."
            )
        database = str(file.with_suffix(".sqlite"))
    storage = Storage(database)
    try:
        if given is not None:
            storage.keep_survey(given)
        return storage, given or _in_database(storage, name)
    except BaseException:
        storage.close()
        raise


def _in_database(storage: Storage, name: str | None) -> Survey:
    names = storage.survey_ids()
    if name is None and len(names) != 1:
        listed = f"holds {len(names)}: {', '.join(names)}" if names else "holds none"
        raise InputError(f"say which survey: the database {listed}.")
    found = storage.survey(name or names[0])
    if found is None:
        listed = ", ".join(names) or "none"
        raise InputError(f"there is no survey {name!r} in the database; it holds {listed}.")
    return found
