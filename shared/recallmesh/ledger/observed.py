"""The tables of consolidation: what is new and due, observations, their evidence, and what memories said before."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    false,
    literal_column,
)

from recallmesh.ledger.schema import metadata


def _bank() -> Column[str]:
    """All of this goes with its bank."""
    return Column("bank_uid", String(36), ForeignKey("banks.uid", ondelete="CASCADE"), primary_key=True)


# A mark for each fact that is not consolidated yet, also in banks that do not consolidate: they may begin to.
# ``again``: it was consolidated before, and is again, wherever that is.
new_facts = Table(
    "new_facts",
    metadata,
    _bank(),
    Column("memory_id", String(36), primary_key=True),
    Column("again", Boolean(create_constraint=False), nullable=False, server_default=false()),
    sqlite_with_rowid=False,
)
is_again = new_facts.c.again.is_(True)

# The scopes that came with an item, for each of its facts; facts without a row are in those of their bank.
fact_scopes = Table(
    "fact_scopes",
    metadata,
    _bank(),
    Column("memory_id", String(36), primary_key=True),
    Column("scopes", Text, nullable=False),
)

# When a bank's consolidation is to begin: one row however many facts came, so that one operation does for all of them.
consolidations = Table(
    "consolidations",
    metadata,
    _bank(),
    Column("due", BigInteger, nullable=False),
    Column("origin", Text, nullable=False, server_default=""),
    Index("consolidations_due", "due"),
)

# ``stale``: it lost what its text rested on, says what one of its facts says meanwhile, and is to be written anew.
observations = Table(
    "observations",
    metadata,
    _bank(),
    Column("id", String(36), primary_key=True),
    Column("scope", Text, nullable=False),
    Column("stale", Boolean(create_constraint=False), nullable=False),
)
is_stale = observations.c.stale.is_(True)
Index("observations_stale", observations.c.bank_uid, sqlite_where=is_stale, postgresql_where=is_stale)

# A fact is evidence from one version of an observation up to, not including, another; ``to_version`` is absent as long
# as it is. ``told``: the observation's text rests on it.
evidence = Table(
    "evidence",
    metadata,
    _bank(),
    Column("observation_id", String(36), primary_key=True),
    Column("memory_id", String(36), primary_key=True),
    Column("from_version", Integer, primary_key=True),
    Column("to_version", Integer),
    Column("scope", Text, nullable=False),
    Column("told", Boolean(create_constraint=False), nullable=False),
    Column("quote", Text, nullable=False),
    Index("evidence_memory", "bank_uid", "memory_id"),
)
is_evidence = evidence.c.to_version.is_(None)
# One fact, one observation a scope: what makes consolidation twice the same as once, whoever does it at the same time.
Index(
    "evidence_once",
    evidence.c.bank_uid,
    evidence.c.memory_id,
    evidence.c.scope,
    unique=True,
    sqlite_where=literal_column("to_version IS NULL"),
    postgresql_where=literal_column("to_version IS NULL"),
)

# Every version of a memory that has had more than one, the current one too.
memory_versions = Table(
    "memory_versions",
    metadata,
    _bank(),
    Column("memory_id", String(36), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
)
