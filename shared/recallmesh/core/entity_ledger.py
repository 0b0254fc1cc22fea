"""The ledger's port for changing who is who: merged, split, named; and whom resolution needs to know."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recallmesh.core.arm import ArmName
from recallmesh.core.entity import Entity


@dataclass(frozen=True, slots=True)
class EntitySplit:
    """What to make of its own: the new entity's name, the memories and the aliases that move to it."""

    name: str
    memory_ids: tuple[str, ...]
    aliases: tuple[str, ...] = ()


class EntityLedger(Protocol):
    """Entities of a bank, by its ``uid``; raises ``EntityNotFound``. An id that was merged means the one that stays.

    Each change is one transaction that excludes the bank's writes. Memories whose mentions are other ones by it, or are
    called otherwise, grow in version and are put into the outbox again. Labels stay as the vocabulary has them:
    changing one raises ``NotReady``.
    """

    async def merge_entities(
        self, bank_uid: str, into_id: str, from_ids: tuple[str, ...], arms: tuple[ArmName, ...], at: datetime
    ) -> Entity:
        """Make entities one; twice is as once. Names become aliases; the kind is the first one known."""
        ...

    async def split_entity(
        self, bank_uid: str, entity_id: str, split: EntitySplit, arms: tuple[ArmName, ...], at: datetime
    ) -> tuple[Entity, Entity]:
        """Make a new entity of some of one's memories and aliases; twice is as once. Returns the one split and the new.

        The names of each are told apart from the other, for as long as that is there.

        Raises:
            NameTaken: the new name, or an alias, is the one that the entity keeps or another entity's.
            NotReady: a memory does not mention the entity, or no memory of it would be left.

        """
        ...

    async def add_alias(
        self, bank_uid: str, entity_id: str, alias: str, arms: tuple[ArmName, ...], at: datetime
    ) -> Entity:
        """Give an entity another name; twice is as once.

        Raises:
            NameTaken: it is another entity's.

        """
        ...

    async def met(self, bank_uid: str, entity_ids: tuple[str, ...]) -> Mapping[str, frozenset[str]]:
        """Return for each of the entities which others its 50 most recently told memories mention."""
        ...
