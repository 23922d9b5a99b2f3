"""The tables of a survey's database. Times are seconds since 1970, UTC."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Double,
    ForeignKey,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = ["answers", "invitations", "metadata", "participants", "surveys", "views"]

metadata = MetaData()

surveys = Table(
    "surveys",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("title", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("created_at", Double, nullable=False),
)

invitations = Table(
    "invitations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("survey_id", ForeignKey("surveys.id"), nullable=False),
    Column("token", String(64), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
)

participants = Table(
    "participants",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("survey_id", ForeignKey("surveys.id"), nullable=False),
    Column("invitation_id", ForeignKey("invitations.id")),
    # Personal tokens are kept as digests only: who reads the database cannot answer for others.
    Column("digest", String(64), nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("judge", Text),
    Column("number", Integer, nullable=False),
    Column("model", Text, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("finished_at", Double),
    UniqueConstraint("survey_id", "kind", "number", name="uq_participants_number"),
)

views = Table(
    "views",
    metadata,
    Column("participant_id", ForeignKey("participants.id"), primary_key=True),
    Column("step", String(300), primary_key=True),
    Column("shown_at", Double, nullable=False),
    Column("showings", Integer, nullable=False, server_default="1"),
)

answers = Table(
    "answers",
    metadata,
    Column("participant_id", ForeignKey("participants.id"), primary_key=True),
    Column("step", String(300), primary_key=True),
    Column("choice", String(64)),
    Column("ease", SmallInteger),
    Column("seconds", Double),
    Column("answered_at", Double, nullable=False),
)
