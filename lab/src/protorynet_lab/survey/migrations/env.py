"""What Alembic runs: the revisions, on the connection that `open_engine` holds."""

from alembic import context

# Alembic loads this file under that name; whoever else imports it has no connection to offer.
if __name__ == "env_py":
    context.configure(connection=context.config.attributes["connection"])
    with context.begin_transaction():
        context.run_migrations()
