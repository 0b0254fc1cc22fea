"""The ledger on SQL: the system of record, in an SQLite file of its own or in a PostgreSQL database."""

from recallmesh.ledger.backup import Contents
from recallmesh.ledger.restore import read_contents
from recallmesh.ledger.sql import open_ledger
from recallmesh.ledger.upkeep import back_up_ledger, inspect_ledger, migrate_ledger, restore_ledger

__all__ = [
    "Contents",
    "back_up_ledger",
    "inspect_ledger",
    "migrate_ledger",
    "open_ledger",
    "read_contents",
    "restore_ledger",
]
