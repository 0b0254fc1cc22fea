"""The ledger on SQL: the system of record, in an SQLite file of its own or in a PostgreSQL database."""

from recallmesh.ledger.sql import open_ledger
from recallmesh.ledger.upkeep import inspect_ledger, migrate_ledger

__all__ = ["inspect_ledger", "migrate_ledger", "open_ledger"]
