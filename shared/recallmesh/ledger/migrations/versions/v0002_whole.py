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


def _chunks() -> None:
    """Mark chunks that say what one of their memories no longer says."""
    op.add_column("chunks", sa.Column("outdated", sa.Boolean(), server_default=sa.false(), nullable=False))
