"""The second migration's part for entities: whose each name is, filled in for the entities that are there."""

import json

import sqlalchemy as sa
from alembic import op

from recallmesh.core.key import fold
from recallmesh.ledger.entities import learn_words


def add_keys() -> None:
    """Say whose each name is, what merged entities became, and what a split told apart."""
    op.add_column("entities", sa.Column("apart", sa.Text(), server_default="", nullable=False))
    op.add_column("entities", sa.Column("version", sa.Integer(), server_default="1", nullable=False))
    keys = op.create_table(
        "entity_keys",
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("is_label", sa.Boolean(), nullable=False),
        sa.Column("entity_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("bank_uid", "key", "is_label"),
    )
    op.create_index("entity_keys_entity", "entity_keys", ["bank_uid", "entity_id"], unique=False)
    op.create_table(
        "merged_entities",
        sa.Column("bank_uid", sa.String(length=36), nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("into_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(["bank_uid"], ["banks.uid"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("bank_uid", "id"),
    )
    op.create_index("merged_entities_into", "merged_entities", ["bank_uid", "into_id"], unique=False)
    _fill_keys(keys)


def _fill_keys(keys: sa.Table) -> None:
    """Write down the keys of the entities that are there, their own before their aliases', and the words of all."""
    held = sa.table("entities", *map(sa.column, ("bank_uid", "id", "name", "key", "is_label", "aliases")))
    bind = op.get_bind()
    rows = bind.execute(sa.select(held).order_by(held.c.bank_uid, held.c.id)).all()
    owners = {(row.bank_uid, row.key, bool(row.is_label)): row.id for row in rows}
    for row in rows:
        for alias in json.loads(row.aliases or "[]"):
            # The code's own folding: keys have to equal those that it asks for.
            owners.setdefault((row.bank_uid, alias if row.is_label else fold(alias), bool(row.is_label)), row.id)
    op.bulk_insert(
        keys,
        [
            {"bank_uid": bank_uid, "key": key, "is_label": is_label, "entity_id": entity_id}
            for (bank_uid, key, is_label), entity_id in owners.items()
        ],
    )
    for row in rows:
        if not row.is_label:
            learn_words(bind, row.bank_uid, row.id, (row.name, row.key, *json.loads(row.aliases or "[]")))
