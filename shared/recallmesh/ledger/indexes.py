"""What every index should hold, for comparing and mending them."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, select, update

from recallmesh.core.arm import ArmName, Indexed
from recallmesh.core.memory import VISIBLE_STATES
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.write import OutboxAction
from recallmesh.ledger.banks import hold_bank
from recallmesh.ledger.database import Database
from recallmesh.ledger.dialect import among
from recallmesh.ledger.outbox import Due, put_rows, supersede
from recallmesh.ledger.paging import cut
from recallmesh.ledger.schema import memories, outbox

_SHOWN = tuple(state.value for state in VISIBLE_STATES)


class SqlIndexes:
    """``IndexLedger`` on SQL."""

    _database: Database

    async def shown(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List the memories that may be shown, with their versions, by id."""
        query = (
            select(memories.c.id, memories.c.version)
            .where(memories.c.bank_uid == bank_uid, memories.c.id > page.after, memories.c.state.in_(_SHOWN))
            .order_by(memories.c.id)
            .limit(page.size + 1)
        )

        def work(connection: Connection) -> Page[Indexed]:
            found = [Indexed(memory_id, version) for memory_id, version in connection.execute(query)]
            return cut(found, page.size, lambda row: row.memory_id)

        return await self._database.read(work)

    async def waiting(self, bank_uid: str, arm: ArmName, memory_ids: tuple[str, ...]) -> frozenset[str]:
        """Return those of the memories that have rows in the arm's outbox."""
        of_arm = and_(outbox.c.bank_uid == bank_uid, outbox.c.arm == arm.value)
        query = select(outbox.c.memory_id).where(of_arm, among(outbox.c.memory_id, memory_ids)).distinct()
        return await self._database.read(lambda connection: frozenset(connection.execute(query).scalars()))

    async def outrank(self, bank_uid: str, floors: tuple[Indexed, ...], arms: tuple[ArmName, ...], at: datetime) -> int:
        """Count up the memories' versions past these, and tell the arms by the outbox."""
        return await self._database.write(lambda connection: _outrank(connection, bank_uid, floors, arms, Due(at)))


def _outrank(
    connection: Connection, bank_uid: str, floors: Sequence[Indexed], arms: tuple[ArmName, ...], due: Due
) -> int:
    hold_bank(connection, bank_uid)
    above = {floor.memory_id: floor.version for floor in floors}
    of_floors = and_(memories.c.bank_uid == bank_uid, among(memories.c.id, above))
    columns = (memories.c.id, memories.c.version, memories.c.state)
    rows = connection.execute(select(*columns).where(of_floors).with_for_update()).all()
    low = [row for row in rows if row.version <= above[row.id]]
    for row in low:
        same = and_(memories.c.bank_uid == bank_uid, memories.c.id == row.id)
        connection.execute(update(memories).where(same).values(version=above[row.id] + 1))
    supersede(connection, bank_uid, [row.id for row in low])
    for action, shown in ((OutboxAction.INDEX, True), (OutboxAction.REMOVE, False)):
        versions = [(row.id, above[row.id] + 1) for row in low if (row.state in _SHOWN) is shown]
        put_rows(connection, bank_uid, action, versions, arms, due)
    return len(low)
