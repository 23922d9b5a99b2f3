"""Surveys, participants and their answers, kept in a database the moment they are given."""

from __future__ import annotations

import hmac
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Engine, Row, func, insert, select, update

from protorynet.errors import InputError
from protorynet_lab.survey.database import open_engine
from protorynet_lab.survey.orders import Kind, assigned_model
from protorynet_lab.survey.people import Answer, Invitation, Participant, digest, new_token
from protorynet_lab.survey.responses import Response
from protorynet_lab.survey.schema import answers, invitations, participants, surveys, views
from protorynet_lab.survey.survey import Survey
from protorynet_lab.survey.survey_file import parse_survey, survey_json

__all__ = ["Storage"]

_MOST_PARTICIPANTS = 20_000


class Storage:
    """A survey's database; safe to share among threads.

    Parameters
    ----------
    url
        URL of an SQLite file or of a PostgreSQL database, or the name of an SQLite file.
    """

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
        with self._writing() as connection:
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
        with self._reading() as connection:
            found = connection.execute(select(surveys.c.content).where(surveys.c.id == name))
            content = found.scalar()
        return None if content is None else _parsed(content)

    def survey_ids(self) -> list[str]:
        """Return the ids of all surveys, the oldest first."""
        with self._reading() as connection:
            found = connection.execute(select(surveys.c.id).order_by(surveys.c.created_at))
            return [str(name) for name in found.scalars()]

    def invite(self, survey: str) -> Invitation:
        """Make a new invitation to a survey."""
        token = new_token()
        row = {
            "survey_id": survey,
            "token": token,
            "digest": digest(token),
            "created_at": time.time(),
        }
        with self._writing() as connection:
            made = connection.execute(insert(invitations).values(row).returning(invitations.c.id))
            return Invitation(made.scalar_one(), survey, token)

    def first_invitation(self, survey: str) -> Invitation:
        """Return the oldest invitation to a survey; make one where there is none."""
        query = select(invitations).where(invitations.c.survey_id == survey)
        with self._reading() as connection:
            row = connection.execute(query.order_by(invitations.c.id).limit(1)).first()
        return self.invite(survey) if row is None else Invitation(row.id, survey, row.token)

    def invitation(self, token: str) -> Invitation | None:
        """Return the invitation that a token belongs to."""
        with self._reading() as connection:
            query = select(invitations).where(invitations.c.digest == digest(token))
            row = _same(connection.execute(query).first(), token)
        return None if row is None else Invitation(row.id, row.survey_id, row.token)

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

        Parameters
        ----------
        survey
            The survey.
        token
            Their personal token. Who has begun with it already goes on.
        kind
            Their group.
        invitation
            The invitation they came by.
        judge
            What answers in place of a person.
        model
            The model to ask about; drawn by the survey's seed where it is not given.
        """
        with self._writing() as connection:
            # Whoever enters waits for whoever does at the same time, so that numbers are unique.
            lock = select(surveys.c.id).where(surveys.c.id == survey.id).with_for_update()
            connection.execute(lock)
            known = _same(_participant_row(connection, token), token)
            if known is not None:
                return _participant(known)
            mine = (participants.c.survey_id == survey.id) & (participants.c.kind == kind)
            number = connection.execute(select(func.count()).where(mine)).scalar_one()
            if number >= _MOST_PARTICIPANTS:
                raise InputError("this survey has as many participants as it can have.")
            row = {
                "survey_id": survey.id,
                "invitation_id": invitation,
                "digest": digest(token),
                "kind": kind,
                "judge": judge,
                "number": number,
                "model": model or assigned_model(survey, kind, number),
                "started_at": time.time(),
            }
            connection.execute(insert(participants).values(row))
            return _participant(_participant_row(connection, token))

    def participant(self, token: str) -> Participant | None:
        """Return who has a personal token."""
        with self._reading() as connection:
            row = _same(_participant_row(connection, token), token)
        return None if row is None else _participant(row)

    def answers_of(self, participant: Participant) -> dict[str, Answer]:
        """Return what a participant has answered, by step."""
        query = select(answers).where(answers.c.participant_id == participant.id)
        with self._reading() as connection:
            return {row.step: Answer(row.choice, row.ease) for row in connection.execute(query)}

    def show(self, participant: Participant, step: str) -> None:
        """Note that a step is shown; its time runs from the first showing."""
        row = {"participant_id": participant.id, "step": step}
        where = (views.c.participant_id == participant.id) & (views.c.step == step)
        with self._writing() as connection:
            _lock(connection, participant)
            again = update(views).where(where).values(showings=views.c.showings + 1)
            if connection.execute(again).rowcount == 0:
                connection.execute(insert(views).values(shown_at=time.time(), **row))

    def answer(
        self,
        participant: Participant,
        step: str,
        choice: str | None,
        ease: int | None = None,
        *,
        n_steps: int,
    ) -> bool:
        """Store an answer, durably, before this returns; the first one given stands.

        Returns
        -------
        Whether it was stored; not where the step had been answered before.
        """
        now = time.time()
        mine = answers.c.participant_id == participant.id
        with self._writing() as connection:
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
        seen = (views.c.participant_id == answers.c.participant_id) & (
            views.c.step == answers.c.step
        )
        query = (
            select(answers, participants, views.c.showings)
            .join(participants, participants.c.id == answers.c.participant_id)
            .outerjoin(views, seen)
            .where(participants.c.survey_id == name)
            .order_by(answers.c.answered_at, answers.c.participant_id)
        )
        with self._reading() as connection:
            rows = list(connection.execute(query))
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
            for row in rows
            if row.step in questions
        ]

    def n_participants(self, name: str) -> dict[str, int]:
        """Return how many people began a survey, and how many finished it."""
        them = (participants.c.survey_id == name) & (participants.c.kind != "automatic")
        counts = select(func.count(), func.count(participants.c.finished_at)).where(them)
        with self._reading() as connection:
            begun, finished = connection.execute(counts).one()
        return {"begun": int(begun), "finished": int(finished)}

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._writer.begin() as connection:
            yield connection


@lru_cache(maxsize=16)
def _parsed(content: str) -> Survey:
    return parse_survey(content)


def _same(row: Row[Any] | None, token: str) -> Row[Any] | None:
    # The look-up is by digest, which tells nothing of the token; this one takes constant time.
    if row is None or not hmac.compare_digest(row.digest, digest(token)):
        return None
    return row


def _participant_row(connection: Connection, token: str) -> Row[Any] | None:
    query = select(participants).where(participants.c.digest == digest(token))
    return connection.execute(query).first()


def _participant(row: Row[Any] | None) -> Participant:
    assert row is not None
    return Participant(
        row.id,
        row.survey_id,
        cast(Kind, row.kind),
        row.number,
        row.model,
        row.judge,
        row.finished_at is not None,
    )


def _lock(connection: Connection, participant: Participant) -> None:
    """Let what one participant sends twice come one after the other."""
    row = participants.c.id == participant.id
    connection.execute(select(participants.c.id).where(row).with_for_update())
