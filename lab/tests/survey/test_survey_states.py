"""A survey in any order of events, and with a fault at every statement and file operation."""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sqlalchemy import event
from survey_scene import small_survey

from fault_injection import OF_SQLITE, Killed, Scenario, strike_everywhere
from protorynet.errors import ProtoryNetError
from protorynet_lab.survey import Storage, new_token
from protorynet_lab.survey.survey_database import open_engine

SURVEY = small_survey("k15", "k100")
STEPS = ["match/1", "match/2", "diagnosis/1"]


class TakenSurvey(RuleBasedStateMachine):
    """People who enter, see and answer, also twice, while the database is opened again."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="protorynet-survey-"))
        self.storage = Storage(self.folder / "survey.sqlite")
        self.storage.keep_survey(SURVEY)
        self.people: dict[str, dict[str, str]] = {}

    def teardown(self) -> None:
        self.storage.close()
        shutil.rmtree(self.folder)

    @rule()
    def enter(self) -> None:
        token = new_token()
        first = self.storage.enter(SURVEY, token, "technical")
        assert self.storage.enter(SURVEY, token, "technical") == first
        assert first.number == len(self.people)
        self.people[token] = {}

    @rule(who=st.integers(0, 9), step=st.sampled_from(STEPS), choice=st.sampled_from("789"))
    def answer(self, who: int, step: str, choice: str) -> None:
        for token in list(self.people)[who : who + 1]:
            someone, given = self.storage.participant(token), self.people[token]
            self.storage.show(someone, f"{someone.model}/{step}")
            is_new = self.storage.answer(someone, f"{someone.model}/{step}", choice, n_steps=3)
            assert is_new is (step not in given)
            given.setdefault(step, choice)

    @rule()
    def open_again(self) -> None:
        self.storage.close()
        self.storage = Storage(self.folder / "survey.sqlite")

    @invariant()
    def nothing_is_lost_or_added(self) -> None:
        kept = sorted((each.participant, each.choice) for each in self.storage.responses(SURVEY.id))
        said = {token: sorted(given.values()) for token, given in self.people.items()}
        found: dict[int, list[str]] = {}
        for number, choice in kept:
            found.setdefault(number, []).append(choice)
        assert sorted(found.values()) == sorted(given for given in said.values() if given)
        finished = sum(len(given) == len(STEPS) for given in said.values())
        counts = self.storage.n_participants(SURVEY.id)
        assert counts == {"begun": len(self.people), "finished": finished}


TakenSurvey.TestCase.settings = settings(max_examples=10, stateful_step_count=10, deadline=None)
TestTakenSurvey = TakenSurvey.TestCase


@pytest.mark.parametrize("fault", [OSError, KeyboardInterrupt, Killed])
def test_a_fault_at_any_statement_leaves_an_answer_whole_or_not_given(fault, tmp_path):
    survived = 0
    for number in range(100):
        path = tmp_path / f"{number}.sqlite"
        with closing(Storage(path)) as storage:
            storage.keep_survey(SURVEY)
            someone = storage.enter(SURVEY, "token", "technical", model="k15")
            seen = _strike(storage, number, fault)
            try:
                storage.answer(someone, "k15/match/1", "7", 4, n_steps=1)
            except (fault, ProtoryNetError):
                survived += 1
        with closing(Storage(path)) as storage:
            finished = storage.n_participants(SURVEY.id)["finished"]
            assert len(storage.responses(SURVEY.id)) == finished
            someone = storage.participant("token")
            assert storage.answer(someone, "k15/match/1", "7", 4, n_steps=1) is not bool(finished)
        if len(seen) <= number:
            break
    assert survived == len(seen) >= 5


def _strike(storage: Storage, at: int, fault: type[BaseException]) -> list[str]:
    seen: list[str] = []

    @event.listens_for(storage.engine, "before_cursor_execute")
    def strike(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)
        if len(seen) - 1 == at:
            raise fault("struck")

    return seen


def answering() -> Scenario:
    def prepare(folder: Path) -> None:
        with closing(Storage(folder / "survey.sqlite")) as storage:
            storage.keep_survey(SURVEY)
            storage.enter(SURVEY, "token", "technical", model="k15")

    def act(folder: Path) -> None:
        with closing(Storage(folder / "survey.sqlite")) as storage:
            storage.answer(storage.participant("token"), "k15/match/1", "7", 4, n_steps=1)

    def state(folder: Path) -> Any:
        with closing(Storage(folder / "survey.sqlite")) as storage:
            given = [each.choice for each in storage.responses(SURVEY.id)]
            return given, storage.n_participants(SURVEY.id)["finished"]

    return Scenario(prepare, act, state)


def upgrading() -> Scenario:
    def state(folder: Path) -> Any:
        with closing(sqlite3.connect(folder / "survey.sqlite")) as connection:
            tables = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
            return sorted(tables), connection.execute("SELECT * FROM alembic_version").fetchall()

    return Scenario(
        lambda folder: open_engine(folder / "survey.sqlite", revision="0001").dispose(),
        lambda folder: Storage(folder / "survey.sqlite").close(),
        state,
    )


@pytest.mark.parametrize("scenario", [answering, upgrading])
def test_a_fault_leaves_a_database_as_it_was_or_as_it_should_be(scenario, tmp_path) -> None:
    assert strike_everywhere(scenario(), tmp_path, kinds=OF_SQLITE, every=5) >= len(OF_SQLITE)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [answering, upgrading])
def test_a_fault_at_every_operation_leaves_the_old_database_or_the_new(scenario, tmp_path) -> None:
    tried = strike_everywhere(scenario(), tmp_path, kinds=OF_SQLITE)
    shutil.rmtree(tmp_path / "template")
    killed = strike_everywhere(scenario(), tmp_path, kinds=("kill",), really=True)
    assert tried > killed > 0
    print(f"\n{scenario.__name__}: {tried} injected faults and {killed} real kills survived")
