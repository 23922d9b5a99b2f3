"""What a database of either kind keeps: everything that was confirmed, once."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import create_engine, event, inspect, text
from survey_scene import small_survey

from protorynet.errors import InputError
from protorynet_lab.survey import Storage
from protorynet_lab.survey.database import (
    _begin_sqlite,
    _prepare_sqlite,
    database_url,
    open_engine,
)
from protorynet_lab.survey.migrating import upgrade
from protorynet_lab.survey.people import is_token, new_token
from protorynet_lab.survey.schema import metadata


def test_an_answer_is_there_after_the_database_is_opened_again(database, survey) -> None:
    first = Storage(database)
    first.keep_survey(survey)
    token = new_token()
    someone = first.enter(survey, token, "technical")
    first.answer(someone, f"{someone.model}/match/1", "7", 4, n_steps=5)
    first.close()
    second = Storage(database)
    found = second.participant(token)
    assert found == someone
    assert second.answers_of(found)[f"{someone.model}/match/1"].choice == "7"
    second.close()


def test_the_first_answer_stands(storage, survey) -> None:
    storage.keep_survey(survey)
    someone = storage.enter(survey, new_token(), "technical")
    assert storage.answer(someone, "k15/match/1", "7", 4, n_steps=5)
    assert not storage.answer(someone, "k15/match/1", "8", 1, n_steps=5)
    assert storage.answers_of(someone)["k15/match/1"].choice == "7"


def test_an_answer_sent_many_times_at_once_is_stored_once(storage, survey) -> None:
    storage.keep_survey(survey)
    someone = storage.enter(survey, new_token(), "technical")
    together = threading.Barrier(6)

    def send(place: int) -> bool:
        together.wait()
        return storage.answer(someone, "k15/match/1", str(place), 4, n_steps=5)

    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(send, range(6))) == 1
    assert len(storage.answers_of(someone)) == 1


def test_people_who_begin_at_once_have_numbers_of_their_own(storage, survey) -> None:
    storage.keep_survey(survey)
    together = threading.Barrier(8)

    def enter(_: int) -> tuple[int, str]:
        together.wait()
        entered = storage.enter(survey, new_token(), "technical")
        return entered.number, entered.model

    with ThreadPoolExecutor(8) as threads:
        entered = list(threads.map(enter, range(8)))
    assert sorted(number for number, _ in entered) == list(range(8))
    assert Counter(model for _, model in entered) == {"k15": 4, "k100": 4}


def test_who_begins_twice_with_one_token_begins_once(storage, survey) -> None:
    storage.keep_survey(survey)
    token = new_token()
    assert storage.enter(survey, token, "technical") == storage.enter(
        survey, token, "non-technical"
    )


def test_time_runs_from_the_first_showing(storage, survey, monkeypatch) -> None:
    storage.keep_survey(survey)
    now = [1000.0]
    monkeypatch.setattr("protorynet_lab.survey.storage.time.time", lambda: now[0])
    someone = storage.enter(survey, new_token(), "technical", model="k15")
    for now[0] in (1010.0, 1015.0):
        storage.show(someone, "k15/match/1")
    now[0] = 1022.5
    storage.answer(someone, "k15/match/1", "7", 4, n_steps=5)
    told = storage.responses(survey.id)[0]
    assert (told.seconds, told.showings) == (12.5, 2)


def test_the_last_answer_finishes(storage, survey) -> None:
    storage.keep_survey(survey)
    token = new_token()
    someone = storage.enter(survey, token, "technical")
    storage.answer(someone, "k15/match/1", "7", n_steps=2)
    assert storage.n_participants(survey.id) == {"begun": 1, "finished": 0}
    storage.answer(someone, "k15/match/2", "7", n_steps=2)
    assert storage.n_participants(survey.id) == {"begun": 1, "finished": 1}


def test_a_survey_that_someone_has_begun_cannot_be_changed(storage, survey) -> None:
    storage.keep_survey(survey)
    storage.keep_survey(replace(survey, title="Changed before anyone came"))
    storage.enter(survey, new_token(), "technical")
    with pytest.raises(InputError, match="after people began"):
        storage.keep_survey(survey)


def test_an_invitation_is_found_by_its_token_only(storage, survey) -> None:
    storage.keep_survey(survey)
    made = storage.invite(survey.id)
    assert storage.invitation(made.token) == made
    assert storage.invitation(new_token()) is None


def test_the_first_invitation_stays_the_same(storage, survey) -> None:
    storage.keep_survey(survey)
    assert storage.first_invitation(survey.id) == storage.first_invitation(survey.id)


def test_personal_tokens_are_not_stored(light_storage, survey, tmp_path) -> None:
    light_storage.keep_survey(survey)
    token = new_token()
    light_storage.enter(survey, token, "technical")
    light_storage.close()
    with sqlite3.connect(tmp_path / "survey.sqlite") as connection:
        assert token not in "\n".join(connection.iterdump())
    connection.close()


@pytest.mark.parametrize("word", ["", "short", "a" * 65, "../" * 10, "ä" * 22, "a" * 22 + "\n"])
def test_what_is_no_token_is_not_looked_up(word) -> None:
    assert not is_token(word)


def test_a_new_token_is_one() -> None:
    assert is_token(new_token())


def _raw_engine(database):
    """Return an engine whose tables nobody has made."""
    engine = create_engine(database_url(database))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine.execution_options(writes=True)


def _columns(engine) -> dict[str, set[str]]:
    found = inspect(engine)
    return {
        table: {column["name"] for column in found.get_columns(table)}
        for table in found.get_table_names()
        if table != "alembic_version"
    }


def test_revisions_from_nothing_make_the_tables_of_the_schema(database) -> None:
    engine = _raw_engine(database)
    upgrade(engine)
    expected = {name: set(table.columns.keys()) for name, table in metadata.tables.items()}
    assert _columns(engine) == expected
    engine.dispose()


def test_a_database_of_revision_1_keeps_its_answers(database, survey) -> None:
    engine = _raw_engine(database)
    upgrade(engine, "0001")
    assert "showings" not in _columns(engine)["views"]
    with engine.begin() as connection:
        for statement in (
            "INSERT INTO surveys VALUES (:id, 'Old', :content, 1.0)",
            "INSERT INTO participants (id, survey_id, digest, kind, number, model, started_at) "
            "VALUES (1, :id, 'x', 'technical', 0, 'k15', 2.0)",
            "INSERT INTO views (participant_id, step, shown_at) VALUES (1, 'k15/match/1', 3.0)",
            "INSERT INTO answers VALUES (1, 'k15/match/1', '7', 5, 4.5, 7.5)",
        ):
            from protorynet_lab.survey.survey_file import survey_json

            given = {"id": survey.id, "content": survey_json(survey)}
            used = {key: value for key, value in given.items() if f":{key}" in statement}
            connection.execute(text(statement), used)
    engine.dispose()
    storage = Storage(database)
    told = storage.responses(survey.id)
    assert [(each.choice, each.ease, each.seconds, each.showings) for each in told] == [
        ("7", 5, 4.5, 1)
    ]
    storage.close()


def test_two_servers_may_start_at_once(database) -> None:
    with ThreadPoolExecutor(6) as threads:
        for opened in list(threads.map(lambda _: Storage(database), range(6))):
            opened.close()


def test_a_database_of_a_newer_version_is_left_alone(database) -> None:
    engine = open_engine(database)
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(InputError, match="newer version"):
        Storage(database)


@pytest.mark.parametrize(
    "url", ["mysql://me:secret@host/x", "answers.csv", "", "postgresql", "http://secret@host"]
)
def test_other_databases_are_refused_without_telling_a_password(url) -> None:
    with pytest.raises(InputError, match="should be an SQLite file") as refused:
        Storage(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_that_would_forget_is_refused(url) -> None:
    with pytest.raises(InputError, match="must be a file"):
        Storage(url)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite+aiosqlite:///x.db",
        "sqlite:///x.db",
        "x.db",
    ],
)
def test_the_driver_is_ours_whatever_the_url_says(url) -> None:
    assert str(database_url(url)) == "sqlite:///x.db"


def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    with pytest.raises(InputError, match="cannot be used") as refused:
        Storage("postgresql://me:secret@127.0.0.1:1/x")
    assert "secret" not in str(refused.value)


def test_a_file_that_is_no_database_is_told(tmp_path) -> None:
    (tmp_path / "x.sqlite").write_text("no database, but long enough to be read as one " * 100)
    with pytest.raises(InputError, match="not a database"):
        Storage(tmp_path / "x.sqlite")


def test_surveys_of_one_database_do_not_mix(storage, survey) -> None:
    other = small_survey("k15", seed=5)
    for each in (survey, other):
        storage.keep_survey(each)
        someone = storage.enter(each, new_token(), "technical", model="k15")
        storage.answer(someone, "k15/match/1", "7", n_steps=5)
    assert storage.survey_ids() == [survey.id, other.id]
    assert len(storage.responses(other.id)) == 1
