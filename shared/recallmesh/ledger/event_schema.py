"""The tables of events, of memory defense's decisions and of webhooks."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from recallmesh.ledger.schema import metadata


def _bank() -> Column[str]:
    return Column("bank_uid", String(36), ForeignKey("banks.uid", ondelete="CASCADE"), primary_key=True)


# Numbers are a bank's own, without gaps, and given in the order of commits: the row is locked from the number to the
# end of the transaction, so that no event appears behind one that a watcher has seen. A sequence would not promise it.
event_heads = Table("event_heads", metadata, _bank(), Column("last", BigInteger, nullable=False))

events = Table(
    "events",
    metadata,
    _bank(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("document_ids", Text, nullable=False),
    Column("operation_id", Text, nullable=False),
    Column("memory_count", Integer, nullable=False),
    Column("origin", Text, nullable=False, server_default=""),
    Index("events_time", "time"),
    sqlite_with_rowid=False,
)

# Beside the events, under the number of the event that told of it: events are forgotten after a while, decisions not.
security_events = Table(
    "security_events",
    metadata,
    _bank(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("id", String(36), nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("detector", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("document_id", Text, nullable=False),
    Column("item_index", Integer, nullable=False),
    Column("receipt_uri", Text, nullable=False),
    UniqueConstraint("bank_uid", "id", name="security_events_id"),
    sqlite_with_rowid=False,
)

# ``delivered`` is the number of the last event that the address has: all that is to be known of what it still gets.
# ``due`` is when its turn is: a lease and a back-off both move it on. ``timeout`` is in microseconds.
webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("bank_uid", String(36), ForeignKey("banks.uid", ondelete="CASCADE"), nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("timeout", BigInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("delivered", BigInteger, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("worker", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("gave_up", BigInteger),
    Index("webhooks_bank", "bank_uid", "id"),
)
