"""The ledger's schema, step by step, run by Alembic from code."""
