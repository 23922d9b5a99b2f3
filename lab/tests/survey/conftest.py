"""Databases of both kinds, and a survey to keep in them."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from survey_scene import Cluster, require_postgres, small_survey

from protorynet_lab.survey import Storage, Survey


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    require_postgres()
    # Not pytest's own folder, which no other user may enter.
    folder = Path(tempfile.mkdtemp(prefix="protorynet-postgres-"))
    made = Cluster(folder)
    yield made
    made.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> str:
    """URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'survey.sqlite'}"
    made: Cluster = request.getfixturevalue("cluster")
    return made.database()


@pytest.fixture
def survey() -> Survey:
    return small_survey("k15", "k100")


@pytest.fixture
def storage(database, survey) -> Iterator[Storage]:
    opened = Storage(database)
    opened.keep_survey(survey)
    yield opened
    opened.close()


@pytest.fixture
def light_storage(tmp_path, survey) -> Iterator[Storage]:
    """A storage for tests to which its kind makes no difference."""
    opened = Storage(tmp_path / "survey.sqlite")
    opened.keep_survey(survey)
    yield opened
    opened.close()
