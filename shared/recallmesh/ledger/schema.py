"""The ledger's tables, as they are at the newest migration."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    literal_column,
)

HEAD = "0004"
"""The migration this version of the code needs; a test holds it to the newest step."""

metadata = MetaData()

# Times are microseconds since 1970 in UTC; those that people name have their UTC offset in seconds beside them, since a
# day is a day of somewhere: nothing is ordered or compared by it. Lists and maps that SQL never looks into (tags,
# metadata, entity ids …) are JSON text beside the memory, empty text when there is nothing, so that recall reads one
# row a memory; what SQL has to filter or count is in tables of its own (memory_tags, memory_entities, entity_words).


def _bank() -> Column[str]:
    """Everything but the outbox goes with its bank."""
    return Column("bank_uid", String(36), ForeignKey("banks.uid", ondelete="CASCADE"), primary_key=True)


banks = Table(
    "banks",
    metadata,
    Column("uid", String(36), primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("bank_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("config", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    UniqueConstraint("tenant", "bank_id", name="banks_ref"),
)

documents = Table(
    "documents",
    metadata,
    _bank(),
    Column("id", Text, primary_key=True),
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),
    Column("tags", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
)

chunks = Table(
    "chunks",
    metadata,
    _bank(),
    Column("id", Text, primary_key=True),
    Column("document_id", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("context", Text, nullable=False),
    Column("time", BigInteger),
    Column("time_offset", Integer),
    Column("retiring_write", Text, nullable=False, server_default=""),
    Column("outdated", Boolean(create_constraint=False), nullable=False, server_default=false()),
    Column("said", Text, nullable=False, server_default=""),
    Index("chunks_document", "bank_uid", "document_id", "number"),
)

memories = Table(
    "memories",
    metadata,
    _bank(),
    Column("id", String(36), primary_key=True),
    Column("text", Text, nullable=False),
    Column("fact_type", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("occurred_start", BigInteger),
    Column("occurred_end", BigInteger),
    Column("occurred_start_offset", Integer),
    Column("occurred_end_offset", Integer),
    Column("occurred_precision", Text),
    Column("mentioned", BigInteger),
    Column("mentioned_offset", Integer),
    Column("context", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("document_id", Text, nullable=False),
    Column("chunk_id", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("previous_id", Text, nullable=False),
    Column("entities", Text, nullable=False),
    Column("causes", Text, nullable=False),
    Column("sources", Text, nullable=False),
    Column("attachments", Text, nullable=False),
    Column("proof_count", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("retiring_write", Text, nullable=False, server_default=""),
    Column("retiring_at", BigInteger),
    Index("memories_document", "bank_uid", "document_id", "position"),
)
is_retiring = memories.c.retiring_write != literal_column("''")
"""What the partial index below holds; a query must say it in these words for SQLite to use the index."""
is_live = memories.c.retiring_write == literal_column("''")
Index(
    "memories_retiring",
    memories.c.retiring_write,
    memories.c.bank_uid,
    sqlite_where=is_retiring,
    postgresql_where=is_retiring,
)

memory_tags = Table(
    "memory_tags",
    metadata,
    _bank(),
    Column("tag", Text, primary_key=True),
    Column("memory_id", String(36), primary_key=True),
    sqlite_with_rowid=False,
)

memory_entities = Table(
    "memory_entities",
    metadata,
    _bank(),
    Column("entity_id", String(36), primary_key=True),
    Column("memory_id", String(36), primary_key=True),
    Column("mentioned", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
# Of somebody on a hundred thousand memories, who is met when and how often is read from its end.
Index(
    "memory_entities_recent",
    memory_entities.c.bank_uid,
    memory_entities.c.entity_id,
    memory_entities.c.mentioned.desc(),
    memory_entities.c.memory_id,
)

entities = Table(
    "entities",
    metadata,
    _bank(),
    Column("id", String(36), primary_key=True),
    Column("name", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("is_label", Boolean(create_constraint=False), nullable=False),
    Column("kind", Text, nullable=False),
    Column("aliases", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("apart", Text, nullable=False, server_default=""),
    Column("version", Integer, nullable=False, server_default="1"),
    UniqueConstraint("bank_uid", "key", "is_label", name="entities_key"),
)

entity_words = Table(
    "entity_words",
    metadata,
    _bank(),
    Column("word", Text, primary_key=True),
    Column("entity_id", String(36), primary_key=True),
    sqlite_with_rowid=False,
)

requests = Table(
    "requests",
    metadata,
    _bank(),
    Column("request_id", Text, primary_key=True),
    Column("content_hash", Text, nullable=False),
    Column("write_id", String(36), nullable=False),
    Column("documents", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
)

# ``origin``, here and wherever work is left for later, is the trace context of the write; empty: it was not traced.
# No foreign key: a bank's removal from the arms outlives the bank. ``due`` is when the row may be taken: a lease and a
# back-off both move it on.
outbox = Table(
    "outbox",
    metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("write_id", Text, nullable=False),
    Column("bank_uid", String(36), nullable=False),
    Column("arm", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("memory_id", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("worker", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("origin", Text, nullable=False, server_default=""),
    Index("outbox_arm", "arm", "seq", "due"),
    Index("outbox_due", "arm", "due"),
    Index("outbox_memory", "bank_uid", "memory_id", "arm", "seq"),
    Index("outbox_write", "write_id"),
    sqlite_autoincrement=True,
)

# ``lease_until`` of a running one is when its worker's time ends, of a pending one when it may be begun again.
operations = Table(
    "operations",
    metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("bank_uid", String(36), ForeignKey("banks.uid", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("memory_ids", Text, nullable=False),
    Column("worker", Text, nullable=False),
    Column("cancelling", Boolean(create_constraint=False), nullable=False, server_default=false()),
    Column("lease_until", BigInteger),
    Column("request_id", Text),
    Column("content_hash", Text),
    Column("origin", Text, nullable=False, server_default=""),
    UniqueConstraint("bank_uid", "request_id", name="operations_request"),
    Index("operations_bank", "bank_uid", "seq"),
    Index("operations_state", "state", "seq"),
    sqlite_autoincrement=True,
)

# Of the whole mesh, not of a bank: two rows at most, by what each is (in_use, beside).
embedding_models = Table(
    "embedding_models",
    metadata,
    Column("role", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("dimensions", Integer, nullable=False),
    Column("since", BigInteger, nullable=False),
)
