"""Rows of keys for tests."""

from datetime import UTC, datetime

from recallmesh.core.principal import Right
from recallmesh.identity.api_key import KeyRow

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def row_of(key_id: str, kept: str, *, name="agent", tenant="acme", rights=("recall", "retain"), **more) -> KeyRow:
    return KeyRow(key_id, name, tenant, frozenset(map(Right, rights)), kept, NOW, **more)
