"""The ledger on SQL: the system of record, in an SQLite file of its own."""

from recallmesh.ledger.sql import migrate, open_ledger

__all__ = ["migrate", "open_ledger"]
