"""Where Alembic starts: runs the steps on the connection that ``recallmesh.ledger.migration`` hands it."""

from alembic import context

from recallmesh.ledger.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
