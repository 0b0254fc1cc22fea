"""Changing who is who, and whom entities are met with: ``EntityLedger`` on SQL."""

from collections.abc import Callable, Mapping
from datetime import datetime

from sqlalchemy import Connection

from recallmesh.core.arm import ArmName
from recallmesh.core.entity import Entity
from recallmesh.core.entity_ledger import EntitySplit
from recallmesh.ledger import identity
from recallmesh.ledger.acquaintance import met
from recallmesh.ledger.database import Database
from recallmesh.ledger.entities import get_entity
from recallmesh.ledger.outbox import Due, Removing


class SqlEntities:
    """``EntityLedger`` on SQL."""

    _database: Database
    _new_id: Callable[[], str]

    async def merge_entities(
        self, bank_uid: str, into_id: str, from_ids: tuple[str, ...], arms: tuple[ArmName, ...], at: datetime
    ) -> Entity:
        """Make entities one; twice is as once."""
        telling = Removing(arms, Due(at))

        def work(connection: Connection) -> Entity:
            stays = identity.merge(connection, bank_uid, into_id, from_ids, telling)
            return get_entity(connection, bank_uid, stays)

        return await self._database.write(work)

    async def split_entity(
        self, bank_uid: str, entity_id: str, split: EntitySplit, arms: tuple[ArmName, ...], at: datetime
    ) -> tuple[Entity, Entity]:
        """Make a new entity of some of one's memories and aliases; twice is as once."""
        telling, new_id = Removing(arms, Due(at)), self._new_id()

        def work(connection: Connection) -> tuple[Entity, Entity]:
            one, new = identity.split(connection, bank_uid, entity_id, split, new_id, telling)
            return get_entity(connection, bank_uid, one), get_entity(connection, bank_uid, new)

        return await self._database.write(work)

    async def add_alias(
        self, bank_uid: str, entity_id: str, alias: str, arms: tuple[ArmName, ...], at: datetime
    ) -> Entity:
        """Give an entity another name; twice is as once."""
        telling = Removing(arms, Due(at))

        def work(connection: Connection) -> Entity:
            return get_entity(connection, bank_uid, identity.add_alias(connection, bank_uid, entity_id, alias, telling))

        return await self._database.write(work)

    async def met(self, bank_uid: str, entity_ids: tuple[str, ...]) -> Mapping[str, frozenset[str]]:
        """Return for each of the entities which others its 50 most recently told memories mention."""
        if not entity_ids:
            return {}
        return await self._database.read(lambda connection: met(connection, bank_uid, entity_ids))
