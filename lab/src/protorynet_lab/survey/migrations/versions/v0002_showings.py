"""How often a question was shown, so that a time that holds a pause can be recognised."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the count; what was shown before was shown at least once."""
    op.add_column("views", sa.Column("showings", sa.Integer, nullable=False, server_default="1"))
