"""What a database of either kind keeps: everything that was confirmed, once."""

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text
from survey_scene import small_survey

from protorynet.errors import InputError
from protorynet_lab.survey import Storage, new_token, survey_json
from protorynet_lab.survey.survey_database import open_engine


def do_at_once(act: Callable[[int], Any], times: int) -> list[Any]:
    together = threading.Barrier(times)

    def wait_and_act(number: int) -> Any:
        together.wait()
        return act(number)

    with ThreadPoolExecutor(times) as threads:
        return list(threads.map(wait_and_act, range(times)))


def test_an_answer_sent_many_times_is_stored_once(storage, survey):
    someone = storage.enter(survey, new_token(), "technical")

    def send(number: int) -> bool:
        return storage.answer(someone, "k15/match/1", str(number), 4, n_steps=5)

    stored = do_at_once(send, 6)
    assert sum(stored) == 1
    assert not storage.answer(someone, "k15/match/1", "8", 1, n_steps=5)
    assert storage.answers_of(someone)["k15/match/1"].choice == str(stored.index(True))


def test_people_who_begin_at_once_are_spread_evenly_over_the_models(storage, survey):
    entered = do_at_once(lambda _: storage.enter(survey, new_token(), "technical"), 8)
    assert sorted(someone.number for someone in entered) == list(range(8))
    assert Counter(someone.model for someone in entered) == {"k15": 4, "k100": 4}


def test_time_runs_from_the_first_showing_to_the_answer(storage, survey, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("protorynet_lab.survey.survey_storage.time.time", lambda: now[0])
    someone = storage.enter(survey, new_token(), "technical", model="k15")
    for now[0] in (1010.0, 1015.0):
        storage.show(someone, "k15/match/1")
    now[0] = 1022.5
    storage.answer(someone, "k15/match/1", "7", 4, n_steps=5)
    given = storage.responses(survey.id)[0]
    assert (given.seconds, given.showings, given.is_finished) == (12.5, 2, False)
    storage.answer(someone, "k15/match/2", "7", n_steps=2)
    assert storage.n_participants(survey.id) == {"begun": 1, "finished": 1}


def test_a_survey_that_someone_has_begun_cannot_be_changed(storage, survey):
    storage.keep_survey(replace(survey, title="Changed before anyone came"))
    storage.enter(survey, new_token(), "technical")
    with pytest.raises(InputError, match="after people began"):
        storage.keep_survey(survey)


def test_an_invitation_is_found_by_its_token_only_and_the_first_stays(storage, survey):
    made = storage.first_invitation(survey.id)
    assert storage.invite(survey.id) != made
    assert storage.invitation(made.token) == storage.first_invitation(survey.id) == made
    assert storage.invitation(new_token()) is None


def test_personal_tokens_are_not_stored(light_storage, survey, tmp_path):
    token = new_token()
    light_storage.enter(survey, token, "technical")
    light_storage.close()
    with closing(sqlite3.connect(tmp_path / "survey.sqlite")) as connection:
        assert token not in "\n".join(connection.iterdump())


def test_surveys_of_one_database_do_not_mix(storage, survey):
    other = small_survey("k15", seed=5)
    storage.keep_survey(other)
    for each in (survey, other):
        someone = storage.enter(each, new_token(), "technical", model="k15")
        storage.answer(someone, "k15/match/1", "7", n_steps=5)
    assert storage.survey_ids() == [survey.id, other.id]
    assert len(storage.responses(other.id)) == 1


def test_a_database_of_revision_1_keeps_its_answers(database, survey):
    engine = open_engine(database, revision="0001")
    columns = {column["name"] for column in inspect(engine).get_columns("views")}
    assert columns == {"participant_id", "step", "shown_at"}
    given = {"id": survey.id, "content": survey_json(survey)}
    statements = {
        "INSERT INTO surveys VALUES (:id, 'Old', :content, 1.0)": given,
        "INSERT INTO participants (id, survey_id, digest, kind, number, model, started_at) "
        "VALUES (1, :id, 'x', 'technical', 0, 'k15', 2.0)": {"id": survey.id},
        "INSERT INTO views (participant_id, step, shown_at) VALUES (1, 'k15/match/1', 3.0)": {},
        "INSERT INTO answers VALUES (1, 'k15/match/1', '7', 5, 4.5, 7.5)": {},
    }
    with engine.execution_options(writes=True).begin() as connection:
        for statement, values in statements.items():
            connection.execute(text(statement), values)
    engine.dispose()
    with closing(Storage(database)) as storage:
        kept = storage.responses(survey.id)
    assert [(each.choice, each.ease, each.seconds, each.showings) for each in kept] == [
        ("7", 5, 4.5, 1)
    ]


def test_two_servers_may_start_at_once(database):
    for opened in do_at_once(lambda _: Storage(database), 6):
        with closing(opened):
            assert opened.survey_ids() == []


def test_a_database_of_a_newer_version_is_left_alone(database):
    engine = open_engine(database)
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(InputError, match="newer version"):
        Storage(database)


def run_sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda path: run_sql(path, "DROP TABLE answers"),
            "lost a table or a column .no such table: answers",
        ),
        (
            lambda path: run_sql(path, "ALTER TABLE answers DROP COLUMN ease"),
            "lost a table or a column .no such column: answers.ease",
        ),
        (Path.unlink, "missing, empty or another database"),
        (lambda path: path.write_bytes(b""), "missing, empty or another database"),
        (lambda path: [path.unlink(), run_sql(path, "VACUUM")], "missing, empty or another"),
    ],
)
def test_a_database_that_lost_something_is_refused(spoil, message, light_storage, tmp_path):
    path = tmp_path / "survey.sqlite"
    light_storage.close()
    kept = path.read_bytes()
    spoil(path)
    with pytest.raises(InputError, match=message) as refused:
        Storage(path)
    assert "\n" not in str(refused.value)
    path.write_bytes(kept)
    Storage(path).close()


def test_a_copy_of_the_old_database_is_kept_when_its_tables_change(tmp_path):
    path = tmp_path / "survey.sqlite"
    open_engine(path, revision="0001").dispose()
    for _ in range(2):
        Storage(path).close()
    with closing(sqlite3.connect(tmp_path / "survey.sqlite.0001.bak")) as old:
        assert old.execute("SELECT version_num FROM alembic_version").fetchall() == [("0001",)]
    assert {each.name for each in tmp_path.glob("*.bak")} == {"survey.sqlite.0001.bak"}


def test_a_copy_of_the_old_tables_is_kept_on_a_server(cluster) -> None:
    url = cluster.database()
    open_engine(url, revision="0001").dispose()
    for _ in range(2):
        Storage(url).close()
    with closing(Storage(url)) as storage, storage.engine.connect() as connection:
        names = inspect(connection).get_table_names()
        assert "backup_0001_answers" in names
        old = connection.execute(text("SELECT version_num FROM backup_0001_alembic_version"))
        assert old.scalars().all() == ["0001"]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://me:secret@host/x", "should be an SQLite file"),
        ("answers.csv", "should be an SQLite file"),
        ("", "should be an SQLite file"),
        ("http://secret@host", "should be an SQLite file"),
        ("sqlite://", "must be a file"),
        ("sqlite:///:memory:", "must be a file"),
        ("x.sqlite", "not a database"),
        ("postgresql://me:secret@127.0.0.1:1/x", "cannot be used"),
    ],
)
def test_a_database_that_cannot_be_used_hides_the_password(url, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.sqlite").write_text("no database, but long enough to be read as one " * 100)
    with pytest.raises(InputError, match=message) as refused:
        Storage(url)
    assert "secret" not in str(refused.value)
