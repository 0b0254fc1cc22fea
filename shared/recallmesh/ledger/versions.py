"""What memories said before: kept at every change, told with the evidence of then, forgotten with what it quotes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, select

from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.errors import MemoryNotFound
from recallmesh.core.memory import FactType, Memory
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import EVERYTHING, TagTest, passes
from recallmesh.ledger.database import Database
from recallmesh.ledger.dialect import among, insert_new
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.observed import evidence, memory_versions
from recallmesh.ledger.paging import cut, number_after
from recallmesh.ledger.reading import read_memories, read_outlines
from recallmesh.ledger.rows import unpack

RETAIN = "retain"
EDIT = "edit"
CONSOLIDATE = "consolidate"
"""What a reason begins with."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A change of a memory: its row before it, what it is now, and why."""

    before: Row[Any]
    version: int
    text: str
    tags: str
    reason: str


class SqlHistory:
    """``HistoryLedger`` on SQL."""

    _database: Database

    async def memory_history(
        self, bank_uid: str, memory_id: str, page: PageRequest, *, tags: TagTest = EVERYTHING
    ) -> Page[MemoryVersion]:
        """List a memory's versions, newest first; raises ``MemoryNotFound``."""
        return await self._database.read(lambda connection: _history(connection, bank_uid, memory_id, page, tags))


def keep_versions(connection: Connection, bank_uid: str, changes: Iterable[Changed], at: datetime) -> None:
    """Keep what memories said until now, if nothing did yet, and what they say from now on."""
    changes = tuple(changes)
    before = [
        {
            "bank_uid": bank_uid,
            "memory_id": one.before.id,
            "version": one.before.version,
            "text": one.before.text,
            "tags": one.before.tags,
            "created": one.before.created,
            "reason": _first_reason(one.before.fact_type),
        }
        for one in changes
    ]
    now = [
        {
            "bank_uid": bank_uid,
            "memory_id": one.before.id,
            "version": one.version,
            "text": one.text,
            "tags": one.tags,
            "created": to_us(at),
            "reason": one.reason,
        }
        for one in changes
    ]
    insert_new(connection, memory_versions, before)
    insert_new(connection, memory_versions, now)


def forget_versions(connection: Connection, bank_uid: str, memory_ids: Sequence[str]) -> None:
    """Forget all that deleted memories said, and every version of an observation that they were evidence for."""
    of_bank = memory_versions.c.bank_uid == bank_uid
    connection.execute(delete(memory_versions).where(of_bank, among(memory_versions.c.memory_id, memory_ids)))
    quoted = connection.execute(
        select(evidence.c.observation_id, evidence.c.from_version, evidence.c.to_version).where(
            evidence.c.bank_uid == bank_uid, among(evidence.c.memory_id, memory_ids)
        )
    ).all()
    for observation_id, first, end in quoted:
        which = (memory_versions.c.memory_id == observation_id) & (memory_versions.c.version >= first)
        if end is not None:
            which &= memory_versions.c.version < end
        connection.execute(delete(memory_versions).where(of_bank, which))
    connection.execute(delete(evidence).where(evidence.c.bank_uid == bank_uid, among(evidence.c.memory_id, memory_ids)))


def _first_reason(fact_type: str) -> str:
    return CONSOLIDATE if fact_type == FactType.OBSERVATION.value else RETAIN


@dataclass(frozen=True, slots=True)
class _Support:
    """A fact that was evidence: from which version of the observation to before which, its words, and who sees it."""

    memory_id: str
    first: int
    end: int | None
    quote: str
    seen: bool

    def holds(self, version: int) -> bool:
        """Tell whether it was evidence for that version."""
        return self.first <= version and (self.end is None or version < self.end)


def _history(
    connection: Connection, bank_uid: str, memory_id: str, page: PageRequest, tags: TagTest
) -> Page[MemoryVersion]:
    found = read_memories(connection, bank_uid, [memory_id], mentions=False)
    if not found or not passes(tags, found[0].tags):
        raise MemoryNotFound(memory_id)
    support = _support(connection, bank_uid, memory_id, tags)
    if any(one.end is None and not one.seen for one in support):
        raise MemoryNotFound(memory_id)
    before = number_after(page.after) if page.after else None
    versions = [
        replace(one, quotes={each.memory_id: each.quote for each in support if each.holds(one.version)})
        for one in _versions(connection, bank_uid, found[0])
        if (before is None or one.version < before)
        and passes(tags, one.tags)
        and all(each.seen for each in support if each.holds(one.version))
    ]
    return cut(versions[: page.size + 1], page.size, lambda version: str(version.version))


def _versions(connection: Connection, bank_uid: str, memory: Memory) -> list[MemoryVersion]:
    """Return all versions, newest first; of one that never changed there is nothing kept but itself."""
    query = (
        select(memory_versions)
        .where(memory_versions.c.bank_uid == bank_uid, memory_versions.c.memory_id == memory.id)
        .order_by(memory_versions.c.version.desc())
    )
    kept = [
        MemoryVersion(row.version, row.text, from_us(row.created), row.reason, unpack(row.tags))
        for row in connection.execute(query)
    ]
    if kept and (kept[0].text, kept[0].tags) == (memory.text, memory.tags):
        # A memory whose entities were merged, split or named anew has grown since and says the same.
        return [replace(kept[0], version=memory.version), *kept[1:]]
    reason = _first_reason(memory.fact_type.value) if memory.version == 1 else EDIT
    return [MemoryVersion(memory.version, memory.text, memory.created, reason, memory.tags), *kept]


def _support(connection: Connection, bank_uid: str, memory_id: str, tags: TagTest) -> list[_Support]:
    query = (
        select(evidence.c.memory_id, evidence.c.from_version, evidence.c.to_version, evidence.c.quote)
        .where(evidence.c.bank_uid == bank_uid, evidence.c.observation_id == memory_id)
        .order_by(evidence.c.memory_id, evidence.c.from_version)
    )
    rows = connection.execute(query).all()
    if not rows:
        return []
    held = {one.id: one.tags for one in read_outlines(connection, bank_uid, {row.memory_id for row in rows})}
    return [_Support(*row, seen=row.memory_id in held and passes(tags, held[row.memory_id])) for row in rows]
