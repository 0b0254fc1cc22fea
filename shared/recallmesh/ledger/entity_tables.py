"""The tables that say which name means whom: beside the entities themselves, on the schema's ``metadata``."""

from sqlalchemy import Boolean, Column, ForeignKeyConstraint, Index, PrimaryKeyConstraint, String, Table, Text

from recallmesh.ledger.schema import metadata

# Every key that means an entity, its own and its aliases', whose it is: two entities cannot have one, and what was
# merged into another still leads to it. The primary key settles who is first when two make the same entity at once.
entity_keys = Table(
    "entity_keys",
    metadata,
    Column("bank_uid", String(36), nullable=False),
    Column("key", Text, nullable=False),
    Column("is_label", Boolean(create_constraint=False), nullable=False),
    Column("entity_id", String(36), nullable=False),
    PrimaryKeyConstraint("bank_uid", "key", "is_label"),
    ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
    Index("entity_keys_entity", "bank_uid", "entity_id"),
)

# What an entity's id became that was merged into another; always the one that stays, however often that was merged on.
merged_entities = Table(
    "merged_entities",
    metadata,
    Column("bank_uid", String(36), nullable=False),
    Column("id", String(36), nullable=False),
    Column("into_id", String(36), nullable=False),
    PrimaryKeyConstraint("bank_uid", "id"),
    ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
    Index("merged_entities_into", "bank_uid", "into_id"),
)
