"""Surveys, participants and their answers, kept in a database the moment they are given."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Engine, Executable, func, insert, select, update

from protorynet.errors import InputError
from protorynet_lab.survey.participants import (
    Answer,
    Invitation,
    Kind,
    Participant,
    Response,
    assign_model,
    hash_token,
    new_token,
)
from protorynet_lab.survey.questionnaire import Survey, parse_survey, read_survey, survey_json
from protorynet_lab.survey.survey_database import (
    answers,
    check_moment,
    invitations,
    open_engine,
    participants,
    surveys,
    views,
)

MAX_PARTICIPANTS = 20_000


class Storage:
    """A survey's database, an SQLite file or a PostgreSQL URL; safe to share among threads."""

    def __init__(self, url: str | Path) -> None:
        self.engine: Engine = open_engine(url)
        self._writer = self.engine.execution_options(writes=True)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def keep_survey(self, survey: Survey) -> None:
        """Store a survey; one that nobody has begun may be stored again with changes."""
        content = survey_json(survey)
        values = {"title": survey.title, "content": content}
        with self._writer.begin() as connection:
            where = surveys.c.id == survey.id
            known = connection.execute(select(surveys.c.content).where(where)).scalar()
            if known is None:
                row = {"id": survey.id, "created_at": time.time(), **values}
                connection.execute(insert(surveys).values(row))
            elif known != content:
                begun = participants.c.survey_id == survey.id
                if connection.execute(select(func.count()).where(begun)).scalar():
                    raise InputError(
                        f"the survey {survey.id} was changed after people began to take it. Give "
                        'the changed one another "id", or another --database.'
                    )
                connection.execute(update(surveys).where(where).values(values))

    def survey(self, name: str) -> Survey | None:
        """Return a survey by its id."""
        found = self._fetch(select(surveys.c.content).where(surveys.c.id == name))
        return _parse_cached(found[0].content) if found else None

    def moment(self, name: str) -> str | None:
        """Return when a survey was stored first; None where it was not."""
        found = self._fetch(select(surveys.c.created_at).where(surveys.c.id == name))
        return repr(found[0].created_at) if found else None

    def survey_ids(self) -> list[str]:
        """Return the ids of all surveys, the oldest first."""
        query = select(surveys.c.id).order_by(surveys.c.created_at)
        return [row.id for row in self._fetch(query)]

    def invite(self, survey: str) -> Invitation:
        """Make a new invitation to a survey."""
        token = new_token()
        row = {
            "survey_id": survey,
            "token": token,
            "digest": hash_token(token),
            "created_at": time.time(),
        }
        with self._writer.begin() as connection:
            made = connection.execute(insert(invitations).values(row).returning(invitations.c.id))
            return Invitation(made.scalar_one(), survey, token)

    def first_invitation(self, survey: str) -> Invitation:
        """Return the oldest invitation to a survey; make one where there is none."""
        query = select(invitations).where(invitations.c.survey_id == survey)
        found = self._fetch(query.order_by(invitations.c.id).limit(1))
        return Invitation(found[0].id, survey, found[0].token) if found else self.invite(survey)

    def invitation(self, token: str) -> Invitation | None:
        """Return the invitation that a token belongs to."""
        found = self._fetch(select(invitations).where(invitations.c.digest == hash_token(token)))
        return Invitation(found[0].id, found[0].survey_id, token) if found else None

    def enter(
        self,
        survey: Survey,
        token: str,
        kind: Kind,
        *,
        invitation: int | None = None,
        judge: str | None = None,
        model: str | None = None,
    ) -> Participant:
        """Let someone begin, and assign them to a model; once for each personal token.

        A judge answers in place of a person. The model is drawn by the survey's seed where it is
        not given.
        """
        with self._writer.begin() as connection:
            # Whoever enters waits for whoever does at the same time, so that numbers are unique.
            lock = select(surveys.c.id).where(surveys.c.id == survey.id).with_for_update()
            connection.execute(lock)
            known = _find_participant(connection, token)
            if known is not None:
                return known
            group = (participants.c.survey_id == survey.id) & (participants.c.kind == kind)
            number = connection.execute(select(func.count()).where(group)).scalar_one()
            if number >= MAX_PARTICIPANTS:
                raise InputError("this survey has as many participants as it can have.")
            chosen = model or assign_model(survey, kind, number)
            row = {
                "survey_id": survey.id,
                "invitation_id": invitation,
                "digest": hash_token(token),
                "kind": kind,
                "judge": judge,
                "number": number,
                "model": chosen,
                "started_at": time.time(),
            }
            made = connection.execute(insert(participants).values(row).returning(participants.c.id))
            return Participant(made.scalar_one(), survey.id, kind, number, chosen, judge, False)

    def participant(self, token: str) -> Participant | None:
        """Return who has a personal token."""
        with self.engine.connect() as connection:
            return _find_participant(connection, token)

    def answers_of(self, participant: Participant) -> dict[str, Answer]:
        """Return what a participant has answered, by step."""
        query = select(answers).where(answers.c.participant_id == participant.id)
        return {row.step: Answer(row.choice, row.ease) for row in self._fetch(query)}

    def show(self, participant: Participant, step: str) -> None:
        """Note that a step is shown; its time runs from the first showing."""
        row = {"participant_id": participant.id, "step": step, "shown_at": time.time()}
        where = (views.c.participant_id == participant.id) & (views.c.step == step)
        with self._writer.begin() as connection:
            _lock(connection, participant)
            again = update(views).where(where).values(showings=views.c.showings + 1)
            if connection.execute(again).rowcount == 0:
                connection.execute(insert(views).values(row))

    def answer(
        self,
        participant: Participant,
        step: str,
        choice: str | None,
        ease: int | None = None,
        *,
        n_steps: int,
    ) -> bool:
        """Store an answer, durably; say whether the step had not been answered before."""
        now = time.time()
        mine = answers.c.participant_id == participant.id
        with self._writer.begin() as connection:
            _lock(connection, participant)
            steps = list(connection.execute(select(answers.c.step).where(mine)).scalars())
            if step in steps:
                return False
            where = (views.c.participant_id == participant.id) & (views.c.step == step)
            shown_at = connection.execute(select(views.c.shown_at).where(where)).scalar()
            row = {
                "participant_id": participant.id,
                "step": step,
                "choice": choice,
                "ease": ease,
                "seconds": None if shown_at is None else max(0.0, now - shown_at),
                "answered_at": now,
            }
            connection.execute(insert(answers).values(row))
            if len(steps) + 1 >= n_steps:
                them = participants.c.id == participant.id
                connection.execute(update(participants).where(them).values(finished_at=now))
        return True

    def responses(self, name: str) -> list[Response]:
        """Return all answers to the questions of a survey, in the order in which they came."""
        survey = self.survey(name)
        if survey is None:
            return []
        questions = {question.id: question for question in survey}
        is_viewed = (views.c.participant_id == answers.c.participant_id) & (
            views.c.step == answers.c.step
        )
        query = (
            select(answers, participants, views.c.showings)
            .join(participants, participants.c.id == answers.c.participant_id)
            .outerjoin(views, is_viewed)
            .where(participants.c.survey_id == name)
            .order_by(answers.c.answered_at, answers.c.participant_id)
        )
        return [
            Response(
                participant=row.participant_id,
                kind=row.kind,
                judge=row.judge,
                model=row.model,
                task=questions[row.step].task,
                question=row.step,
                choice=str(row.choice),
                expected=questions[row.step].expected,
                n_options=len(questions[row.step].options),
                ease=row.ease,
                seconds=row.seconds,
                showings=row.showings,
                answered_at=row.answered_at,
                is_finished=row.finished_at is not None,
            )
            for row in self._fetch(query)
            if row.step in questions  # lessons are no questions
        ]

    def n_participants(self, name: str) -> dict[str, int]:
        """Return how many people began a survey, and how many finished it."""
        people = (participants.c.survey_id == name) & (participants.c.kind != "automatic")
        counts = select(func.count(), func.count(participants.c.finished_at)).where(people)
        begun, finished = self._fetch(counts)[0]
        return {"begun": int(begun), "finished": int(finished)}

    def _fetch(self, query: Executable) -> Sequence[Any]:
        with self.engine.connect() as connection:
            return connection.execute(query).all()


@contextmanager
def open_survey(name: str | None, database: str | None) -> Iterator[tuple[Storage, Survey]]:
    """Open a survey's database, by default beside its file; give it with the survey meant.

    The name is the survey's file (.json), or its id in a database that holds several. Beside the
    file it is noted when the survey came into a database elsewhere, so that one that was emptied
    is not taken for a survey that nobody has answered yet.
    """
    file = Path(name) if name is not None and name.lower().endswith(".json") else None
    given = None if file is None else read_survey(file)
    if database is None:
        if file is None:
            raise InputError(
                "give the survey's file, as made by `protorynet survey create`, or --database URL."
            )
        database = str(file.with_suffix(".sqlite"))
    with closing(Storage(database)) as storage:
        if file is None or given is None:
            given = _find_survey(storage, name)
        elif storage.engine.dialect.name == "sqlite":  # a file, which has an identity
            storage.keep_survey(given)
        else:
            note = _name_note(file, given, storage.engine)
            check_moment(note, storage.moment(given.id))
            storage.keep_survey(given)
            check_moment(note, storage.moment(given.id))
        yield storage, given


def _name_note(file: Path, survey: Survey, engine: Engine) -> Path:
    where = f"{engine.url.render_as_string(hide_password=True)} {survey.id}"
    return file.with_name(f"{file.name}.{hashlib.sha256(where.encode()).hexdigest()[:12]}.id")


def _find_survey(storage: Storage, name: str | None) -> Survey:
    names = storage.survey_ids()
    if name is None and len(names) != 1:
        listed = f"holds {len(names)}: {', '.join(names)}" if names else "holds none"
        raise InputError(f"say which survey: the database {listed}.")
    found = storage.survey(name or names[0])
    if found is None:
        listed = ", ".join(names) or "none"
        raise InputError(f"there is no survey {name!r} in the database; it holds {listed}.")
    return found


@lru_cache(maxsize=16)
def _parse_cached(content: str) -> Survey:
    return parse_survey(content)


def _find_participant(connection: Connection, token: str) -> Participant | None:
    query = select(participants).where(participants.c.digest == hash_token(token))
    row = connection.execute(query).first()
    if row is None:
        return None
    kind, is_finished = cast(Kind, row.kind), row.finished_at is not None
    return Participant(row.id, row.survey_id, kind, row.number, row.model, row.judge, is_finished)


def _lock(connection: Connection, participant: Participant) -> None:
    """Let what one participant sends twice come one after the other."""
    them = participants.c.id == participant.id
    connection.execute(select(participants.c.id).where(them).with_for_update())
