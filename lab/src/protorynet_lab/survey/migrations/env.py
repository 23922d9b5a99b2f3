"""What Alembic runs: the revisions, on the connection that `migrating.upgrade` holds."""

from __future__ import annotations

from alembic import context

from protorynet_lab.survey.schema import metadata


def _run() -> None:
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()


# Alembic loads this file under that name; whoever else imports it has no connection to offer.
if __name__ == "env_py":
    _run()
