"""What retain needs beyond the first schema: one function for each of its parts."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what each part keeps."""
    _chunks()
    _operations()
    _answers()


def _chunks() -> None:
    """Mark chunks that say what one of their memories no longer says; keep what came with the text of a chunk."""
    op.add_column("chunks", sa.Column("outdated", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("chunks", sa.Column("said", sa.Text(), server_default="", nullable=False))


def _operations() -> None:
    """Mark running operations that are to be cancelled."""
    op.add_column("operations", sa.Column("cancelling", sa.Boolean(), server_default=sa.false(), nullable=False))


def _answers() -> None:
    """Keep what calls with a request id were answered."""
    op.create_table(
        "answers",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "request_id"),
    )
    op.create_index("answers_created", "answers", ["created"])
