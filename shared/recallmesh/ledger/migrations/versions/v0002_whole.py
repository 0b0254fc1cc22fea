"""What retain needs beyond the first schema: one function for each of its parts."""

import sqlalchemy as sa
from alembic import op

from recallmesh.ledger.migrations.keys import add_keys

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what each part keeps."""
    _chunks()
    _mentions()
    _operations()
    _answers()
    _events()
    _webhooks()
    add_keys()
    _attachments()
    _consolidation()
    _banks()


def _banks() -> None:
    """Let PostgreSQL think of banks as few and large, so that no plan reads one whole to find a few of its rows."""
    bind = op.get_bind()
    if bind.dialect.name != "postgresql":
        return
    inspector = sa.inspect(bind)
    for table in inspector.get_table_names():
        if any(column["name"] == "bank_uid" for column in inspector.get_columns(table)):
            op.execute(f"ALTER TABLE {table} ALTER COLUMN bank_uid SET (n_distinct = 10)")


def _mentions() -> None:
    """Let it be read when an entity was last mentioned, without reading all that mentions it."""
    mentioned = sa.text("mentioned DESC")
    op.create_index("memory_entities_recent", "memory_entities", ["bank_uid", "entity_id", mentioned, "memory_id"])


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


def _bank() -> sa.Column[str]:
    return sa.Column("bank_uid", sa.String(36), sa.ForeignKey("banks.uid", ondelete="CASCADE"), primary_key=True)


def _events() -> None:
    """Keep what happened in a bank, numbered without gaps, and what memory defense decided."""
    op.create_table("event_heads", _bank(), sa.Column("last", sa.BigInteger(), nullable=False))
    op.create_table(
        "events",
        _bank(),
        sa.Column("number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("document_ids", sa.Text(), nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("memory_count", sa.Integer(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("events_time", "events", ["time"])
    op.create_table(
        "security_events",
        _bank(),
        sa.Column("number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("detector", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("item_index", sa.Integer(), nullable=False),
        sa.Column("receipt_uri", sa.Text(), nullable=False),
        sa.UniqueConstraint("bank_uid", "id", name="security_events_id"),
        sqlite_with_rowid=False,
    )


def _webhooks() -> None:
    """Keep the addresses that events are posted to, and how far each is."""
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("bank_uid", sa.String(36), sa.ForeignKey("banks.uid", ondelete="CASCADE"), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("timeout", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("delivered", sa.BigInteger(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("gave_up", sa.BigInteger()),
    )
    op.create_index("webhooks_bank", "webhooks", ["bank_uid", "id"])


def _attachments() -> None:
    """Keep the images that came within content, and which chunks have them."""
    op.create_table(
        "attachments",
        sa.Column("bank_uid", sa.String(36), sa.ForeignKey("banks.uid", ondelete="CASCADE"), nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("bank_uid", "id"),
    )
    op.create_table(
        "chunk_attachments",
        sa.Column("bank_uid", sa.String(36), nullable=False),
        sa.Column("chunk_id", sa.Text(), nullable=False),
        sa.Column("attachment_id", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("bank_uid", "chunk_id", "attachment_id"),
        sa.ForeignKeyConstraint(["bank_uid", "chunk_id"], ["chunks.bank_uid", "chunks.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["bank_uid", "attachment_id"], ["attachments.bank_uid", "attachments.id"], ondelete="CASCADE"
        ),
    )
    op.create_index("chunk_attachments_attachment", "chunk_attachments", ["bank_uid", "attachment_id"])


def _consolidation() -> None:
    """Keep what is new, what is due, observations and their evidence, and what memories said before."""

    def bank() -> sa.Column[str]:
        return sa.Column("bank_uid", sa.String(36), sa.ForeignKey("banks.uid", ondelete="CASCADE"), primary_key=True)

    op.create_table(
        "new_facts",
        bank(),
        sa.Column("memory_id", sa.String(36), primary_key=True),
        sa.Column("again", sa.Boolean(), server_default=sa.false(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.execute("INSERT INTO new_facts (bank_uid, memory_id) SELECT bank_uid, id FROM memories")
    op.create_table(
        "fact_scopes",
        bank(),
        sa.Column("memory_id", sa.String(36), primary_key=True),
        sa.Column("scopes", sa.Text(), nullable=False),
    )
    op.create_table("consolidations", bank(), sa.Column("due", sa.BigInteger(), nullable=False))
    op.create_index("consolidations_due", "consolidations", ["due"])
    op.create_table(
        "observations",
        bank(),
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("stale", sa.Boolean(), nullable=False),
    )
    stale = sa.column("stale", sa.Boolean()).is_(True)
    op.create_index("observations_stale", "observations", ["bank_uid"], sqlite_where=stale, postgresql_where=stale)
    op.create_table(
        "evidence",
        bank(),
        sa.Column("observation_id", sa.String(36), primary_key=True),
        sa.Column("memory_id", sa.String(36), primary_key=True),
        sa.Column("from_version", sa.Integer(), primary_key=True),
        sa.Column("to_version", sa.Integer()),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("told", sa.Boolean(), nullable=False),
        sa.Column("quote", sa.Text(), nullable=False),
    )
    op.create_index("evidence_memory", "evidence", ["bank_uid", "memory_id"])
    current = sa.text("to_version IS NULL")
    op.create_index(
        "evidence_once",
        "evidence",
        ["bank_uid", "memory_id", "scope"],
        unique=True,
        sqlite_where=current,
        postgresql_where=current,
    )
    op.create_table(
        "memory_versions",
        bank(),
        sa.Column("memory_id", sa.String(36), primary_key=True),
        sa.Column("version", sa.Integer(), primary_key=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
    )
