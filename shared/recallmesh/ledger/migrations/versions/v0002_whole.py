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


def _chunks() -> None:
    """Mark chunks that say what one of their memories no longer says."""
    op.add_column("chunks", sa.Column("outdated", sa.Boolean(), server_default=sa.false(), nullable=False))


def _operations() -> None:
    """Mark running operations that are to be cancelled."""
    op.add_column("operations", sa.Column("cancelling", sa.Boolean(), server_default=sa.false(), nullable=False))
