"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "banks",
        sa.Column("uid", sa.String(length=36), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("bank_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("uid"),
        sa.UniqueConstraint("tenant", "bank_id", name="banks_ref"),
    )
    op.create_table(
        "outbox",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("write_id", sa.Text(), nullable=False),
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sqlite_autoincrement=True,
    )
    op.create_index("outbox_due", "outbox", ["arm", "due"], unique=False)
    op.create_index("outbox_arm", "outbox", ["arm", "seq", "due"], unique=False)
    op.create_index("outbox_memory", "outbox", ["bank_uid", "memory_id", "arm", "seq"], unique=False)
    op.create_index("outbox_write", "outbox", ["write_id"], unique=False)
    op.create_table(
        "chunks",
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=True),
        sa.Column("time_offset", sa.Integer(), nullable=True),
        sa.Column("retiring_write", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("bank_uid", "id"),
    )
    op.create_index("chunks_document", "chunks", ["bank_uid", "document_id", "number"], unique=False)
    op.create_table(
        "documents",
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("updated", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("chunk_count", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("bank_uid", "id"),
    )
    op.create_table(
        "entities",
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("is_label", sa.Boolean(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("aliases", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("bank_uid", "id"),
        sa.UniqueConstraint("bank_uid", "key", "is_label", name="entities_key"),
    )
    op.create_table(
        "entity_words",
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("word", sa.Text(), nullable=False),
        sa.Column("entity_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("bank_uid", "word", "entity_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "memories",
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("fact_type", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("occurred_start", sa.BigInteger(), nullable=True),
        sa.Column("occurred_end", sa.BigInteger(), nullable=True),
        sa.Column("occurred_start_offset", sa.Integer(), nullable=True),
        sa.Column("occurred_end_offset", sa.Integer(), nullable=True),
        sa.Column("occurred_precision", sa.Text(), nullable=True),
        sa.Column("mentioned", sa.BigInteger(), nullable=True),
        sa.Column("mentioned_offset", sa.Integer(), nullable=True),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("chunk_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("previous_id", sa.Text(), nullable=False),
        sa.Column("entities", sa.Text(), nullable=False),
        sa.Column("causes", sa.Text(), nullable=False),
        sa.Column("sources", sa.Text(), nullable=False),
        sa.Column("attachments", sa.Text(), nullable=False),
        sa.Column("proof_count", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("retiring_write", sa.Text(), server_default="", nullable=False),
        sa.Column("retiring_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("bank_uid", "id"),
    )
    op.create_index("memories_document", "memories", ["bank_uid", "document_id", "position"], unique=False)
    op.create_index(
        "memories_retiring",
        "memories",
        ["retiring_write", "bank_uid"],
        unique=False,
        sqlite_where=sa.text("retiring_write != ''"),
        postgresql_where=sa.text("retiring_write != ''"),
    )
    op.create_table(
        "memory_entities",
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("entity_id", sa.String(length=36), nullable=False),
        sa.Column("memory_id", sa.String(length=36), nullable=False),
        sa.Column("mentioned", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("bank_uid", "entity_id", "memory_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "memory_tags",
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("bank_uid", "tag", "memory_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "operations",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("updated", sa.BigInteger(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("memory_ids", sa.Text(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("content_hash", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("bank_uid", "request_id", name="operations_request"),
        sa.UniqueConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("operations_bank", "operations", ["bank_uid", "seq"], unique=False)
    op.create_index("operations_state", "operations", ["state", "seq"], unique=False)
    op.create_table(
        "requests",
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("write_id", sa.String(length=36), nullable=False),
        sa.Column("documents", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("bank_uid", "request_id"),
    )


def downgrade() -> None:
    """Drop every table."""
    op.drop_table("requests")
    op.drop_index("operations_state", table_name="operations")
    op.drop_index("operations_bank", table_name="operations")
    op.drop_table("operations")
    op.drop_table("memory_tags")
    op.drop_table("memory_entities")
    op.drop_index(
        "memories_retiring",
        table_name="memories",
        sqlite_where=sa.text("retiring_write != ''"),
        postgresql_where=sa.text("retiring_write != ''"),
    )
    op.drop_index("memories_document", table_name="memories")
    op.drop_table("memories")
    op.drop_table("entity_words")
    op.drop_table("entities")
    op.drop_table("documents")
    op.drop_index("chunks_document", table_name="chunks")
    op.drop_table("chunks")
    op.drop_index("outbox_write", table_name="outbox")
    op.drop_index("outbox_memory", table_name="outbox")
    op.drop_index("outbox_due", table_name="outbox")
    op.drop_index("outbox_arm", table_name="outbox")
    op.drop_table("outbox")
    op.drop_table("banks")
