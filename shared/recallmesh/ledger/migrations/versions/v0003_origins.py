"""What is finished later keeps which call caused it, so that traces can link the two."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

LATER = ("outbox", "operations", "consolidations", "events")
"""What is left for later by whoever writes it."""


def upgrade() -> None:
    """Add the trace context (a W3C ``traceparent``) of the write; empty: it was not traced."""
    for table in LATER:
        op.add_column(table, sa.Column("origin", sa.Text(), server_default="", nullable=False))
