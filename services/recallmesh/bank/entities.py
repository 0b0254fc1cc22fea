"""Entities over the ledger: read, merged, split, named, and their resolution explained."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence

from recallmesh.core import limits
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.blank import is_blank
from recallmesh.core.entity import LABEL, Entity
from recallmesh.core.entity_ledger import EntitySplit
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.key import fold, key_of
from recallmesh.core.ledger import Ledger
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.resolution import (
    Asked,
    EntityExplanation,
    EntityQuestion,
    Verdict,
    judge,
    known_of,
    worth,
)
from recallmesh.core.text import name_violations
from recallmesh.core.time import Clock


class LedgerEntities:
    """The part of administration that is about entities."""

    _ledger: Ledger
    _arms: tuple[ArmName, ...]
    _now: Clock

    async def get_entity(self, ref: BankRef, entity_id: str) -> Entity:
        """Return an entity."""
        return await self._ledger.get_entity(await self._uid(ref), entity_id)

    async def list_entities(self, ref: BankRef, page: PageRequest) -> Page[Entity]:
        """List entities by id."""
        return await self._ledger.list_entities(await self._uid(ref), page)

    async def merge_entities(self, ref: BankRef, into_id: str, from_ids: tuple[str, ...]) -> Entity:
        """Make several entities one."""
        violations = [*_count("from_ids", from_ids, limits.ENTITIES_PER_MERGE)]
        if into_id in from_ids:
            violations.append(FieldViolation("from_ids", "names the entity that stays"))
        _refuse(violations)
        uid = await self._uid(ref)
        return await self._ledger.merge_entities(uid, into_id, from_ids, self._arms, self._now())

    async def split_entity(self, ref: BankRef, entity_id: str, split: EntitySplit) -> tuple[Entity, Entity]:
        """Make a new entity of some of one's memories and aliases."""
        violations = [*_name("name", split.name), *_count("memory_ids", split.memory_ids, limits.MEMORIES_PER_SPLIT)]
        if len(split.aliases) > limits.MEMORIES_PER_SPLIT:
            violations.append(FieldViolation("aliases", f"names more than {limits.MEMORIES_PER_SPLIT}"))
        for number, alias in enumerate(split.aliases):
            violations += _name(f"aliases[{number}]", alias)
        _refuse(violations)
        uid = await self._uid(ref)
        return await self._ledger.split_entity(uid, entity_id, split, self._arms, self._now())

    async def add_entity_alias(self, ref: BankRef, entity_id: str, alias: str) -> Entity:
        """Give an entity another name."""
        _refuse(_name("alias", alias))
        return await self._ledger.add_alias(await self._uid(ref), entity_id, alias, self._arms, self._now())

    async def explain_entity(self, ref: BankRef, question: EntityQuestion) -> EntityExplanation:
        """Tell what a name would resolve to and why."""
        violations = [*_name("name", question.name), *name_violations("kind", question.kind, limits.TAG_BYTES)]
        if len(question.neighbours) > limits.ENTITIES_PER_ITEM:
            violations.append(FieldViolation("neighbours", f"names more than {limits.ENTITIES_PER_ITEM}"))
        for number, neighbour in enumerate(question.neighbours):
            violations += _name(f"neighbours[{number}]", neighbour)
        _refuse(violations)
        uid = await self._uid(ref)
        candidates = await self._ledger.entities_like(uid, (key_of(question.name, question.kind),))
        keys = tuple(dict.fromkeys(map(fold, question.neighbours)))
        beside = _named(keys, await self._ledger.entities_like(uid, keys) if keys else ())
        asked = Asked(question.name, question.kind, beside, question.time or self._now())
        verdict = await asyncio.to_thread(judge, asked, [known_of(one) for one in candidates])
        if verdict.doubted:
            met = await self._ledger.met(uid, tuple(sorted(verdict.doubted)))
            known = [known_of(one, met.get(one.id, frozenset())) for one in candidates]
            verdict = await asyncio.to_thread(judge, asked, known)
        return EntityExplanation(_of(candidates, verdict), verdict)

    async def _uid(self, ref: BankRef) -> str:
        return (await self._ledger.get_bank(ref)).uid


def _of(candidates: Iterable[Entity], verdict: Verdict) -> Entity | None:
    return next((one for one in candidates if one.id == verdict.entity_id), None)


def _named(keys: Sequence[str], entities: Iterable[Entity]) -> Mapping[str, float]:
    """Return the ids of those that the keys mean exactly, and what each is worth as a neighbour."""
    known = [(one, frozenset(map(fold, (one.name, *one.aliases))) | {one.key}) for one in entities if one.kind != LABEL]
    return {one.id: worth(one.memory_count) for one, names in known if names.intersection(keys)}


def _name(field: str, name: str) -> Iterator[FieldViolation]:
    yield from name_violations(field, name, limits.TAG_BYTES)
    if is_blank(name):
        yield FieldViolation(field, "is blank")


def _count(field: str, ids: Sequence[str], most: int) -> Iterator[FieldViolation]:
    if not ids:
        yield FieldViolation(field, "is required")
    if len(ids) > most:
        yield FieldViolation(field, f"names {len(ids)}; the limit is {most}")


def _refuse(violations: Iterable[FieldViolation]) -> None:
    found = tuple(violations)
    if found:
        raise InvalidArgument(*found)
