"""Surveys, invitations, participants, when they saw a question, and what they answered.

Times are seconds since 1970, UTC.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision: str | None = None


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "surveys",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "invitations",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("survey_id", sa.String(64), sa.ForeignKey("surveys.id"), nullable=False),
        sa.Column("token", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "participants",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("survey_id", sa.String(64), sa.ForeignKey("surveys.id"), nullable=False),
        sa.Column("invitation_id", sa.Integer, sa.ForeignKey("invitations.id")),
        # Personal tokens are kept as digests only: who reads the database cannot answer for others.
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("judge", sa.Text),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("finished_at", sa.Double),
        sa.UniqueConstraint("survey_id", "kind", "number", name="uq_participants_number"),
    )
    op.create_table(
        "views",
        _participant(),
        sa.Column("step", sa.String(300), primary_key=True),
        sa.Column("shown_at", sa.Double, nullable=False),
    )
    op.create_table(
        "answers",
        _participant(),
        sa.Column("step", sa.String(300), primary_key=True),
        sa.Column("choice", sa.String(64)),
        sa.Column("ease", sa.SmallInteger),
        sa.Column("seconds", sa.Double),
        sa.Column("answered_at", sa.Double, nullable=False),
    )


def _participant() -> sa.Column[int]:
    return sa.Column(
        "participant_id", sa.Integer, sa.ForeignKey("participants.id"), primary_key=True
    )
