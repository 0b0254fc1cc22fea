"""What is kept of facts besides themselves, moved with their bank: scopes that came with them, earlier versions."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import Connection, insert, select

from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.export import Past
from recallmesh.ledger.dialect import among
from recallmesh.ledger.evidence import keep_scopes
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.observed import fact_scopes, memory_versions
from recallmesh.ledger.rows import pack, unpack


def pasts(connection: Connection, bank_uid: str, memory_ids: Sequence[str]) -> Iterator[Past]:
    """Yield what is kept of those of the memories of which something is, by id."""
    scopes = select(fact_scopes.c.memory_id, fact_scopes.c.scopes).where(
        fact_scopes.c.bank_uid == bank_uid, among(fact_scopes.c.memory_id, memory_ids)
    )
    named = {
        memory_id: tuple(tuple(tags) for tags in json.loads(packed or "[]"))
        for memory_id, packed in connection.execute(scopes)
    }
    told: dict[str, list[MemoryVersion]] = defaultdict(list)
    versions = select(memory_versions).where(
        memory_versions.c.bank_uid == bank_uid, among(memory_versions.c.memory_id, memory_ids)
    )
    for row in connection.execute(versions.order_by(memory_versions.c.version)):
        version = MemoryVersion(row.version, row.text, from_us(row.created), row.reason, unpack(row.tags))
        told[row.memory_id].append(version)
    for memory_id in sorted(named.keys() | told.keys()):
        yield Past(memory_id, named.get(memory_id, ()), tuple(told[memory_id]))


def put_pasts(connection: Connection, bank_uid: str, told: Iterable[Past]) -> None:
    """Keep of facts what was kept of them."""
    told = tuple(told)
    keep_scopes(connection, bank_uid, {one.memory_id: one.scopes for one in told if one.scopes})
    rows = [
        {
            "bank_uid": bank_uid,
            "memory_id": one.memory_id,
            "version": version.version,
            "text": version.text,
            "tags": pack(version.tags),
            "created": to_us(version.created),
            "reason": version.reason,
        }
        for one in told
        for version in one.versions
    ]
    if rows:
        connection.execute(insert(memory_versions), rows)
