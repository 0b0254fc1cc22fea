"""Fan-out: what a write put into the outbox, brought to all arms at once."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.errors import MeshError
from recallmesh.core.ledger import WriteLedger
from recallmesh.core.memory import Memory
from recallmesh.core.retain import Delivery, DeliveryState
from recallmesh.core.time import Clock
from recallmesh.core.write import OutboxAction, OutboxRow
from recallmesh.retain.delivery import Carrier, Vectors

_log = structlog.get_logger()
# An arm that just failed is left alone for a moment before the outbox tries again.
_FIRST_DELAY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class FanOut:
    """Delivers a write to the arms at once; one that fails or is slow costs its own share alone."""

    ledger: WriteLedger
    arms: Mapping[ArmName, Arm]
    carrier: Carrier
    now: Clock
    arm_timeout_s: float

    async def deliver(
        self, write_id: str, *, vectors: Vectors, memories: Mapping[str, Memory] | None = None
    ) -> tuple[Delivery, ...]:
        """Carry out the write's rows that are still there; returns every arm's state, in the order of arm names."""
        rows = await self.ledger.own_outbox(write_id)
        share = {name: [row for row in rows if row.arm is name] for name in ArmName if name in self.arms}
        deliveries = await asyncio.gather(*(self._arm(name, share[name], vectors, memories or {}) for name in share))
        stored = {one.arm for one in deliveries if one.state is DeliveryState.STORED}
        # One transaction for all of them; cut short before it, the outbox delivers once more, which changes nothing.
        await self._settle(tuple(row.seq for row in rows if row.arm in stored))
        return tuple(deliveries)

    async def _arm(
        self, name: ArmName, rows: Sequence[OutboxRow], vectors: Vectors, memories: Mapping[str, Memory]
    ) -> Delivery:
        if not rows:
            return Delivery(name, DeliveryState.STORED)
        seqs = tuple(row.seq for row in rows)
        try:
            async with asyncio.timeout(self.arm_timeout_s):
                arm = self.arms[name]
                carried = await self.carrier.carry(name, arm, rows, vectors=vectors, memories=memories)
            await self.carrier.carry_beside(
                name, rows, carried, timeout_s=self.arm_timeout_s, vectors=vectors, memories=memories
            )
        except MeshError as error:
            return await self._defer(name, seqs, error.message)
        except TimeoutError:
            return await self._defer(name, seqs, f"did not answer within {self.arm_timeout_s:g} s")
        return Delivery(name, DeliveryState.STORED)

    async def _settle(self, seqs: tuple[int, ...]) -> None:
        if not seqs:
            return
        try:
            await self.ledger.settle_outbox(seqs)
        except MeshError as error:
            _log.warning("retain.unsettled", rows=len(seqs), error=error.message)

    async def _defer(self, name: ArmName, seqs: tuple[int, ...], why: str) -> Delivery:
        _log.warning("retain.arm_pending", arm=name, rows=len(seqs), error=why)
        try:
            await self.ledger.defer_outbox(seqs, until=self.now() + _FIRST_DELAY, error=why)
        except MeshError as error:
            # The rows are in the outbox all the same, due at once.
            _log.warning("retain.not_deferred", arm=name, error=error.message)
        return Delivery(name, DeliveryState.PENDING, why)


def with_temporal(deliveries: tuple[Delivery, ...]) -> tuple[Delivery, ...]:
    """Add the temporal arm's share: it reads the index that the semantic arm writes, so it has what that one has."""
    if any(one.arm is ArmName.TEMPORAL for one in deliveries):
        return deliveries
    shared = [Delivery(ArmName.TEMPORAL, one.state, one.detail) for one in deliveries if one.arm is ArmName.SEMANTIC]
    return (*deliveries, *shared)


def is_stored_somewhere(deliveries: Sequence[Delivery]) -> bool:
    """Tell whether some arm can find the write; without arms there is nothing to wait for."""
    return not deliveries or any(one.state is DeliveryState.STORED for one in deliveries)


def still_to_index(rows: Sequence[OutboxRow]) -> frozenset[ArmName]:
    """Return the arms that have yet to index something of the rows."""
    return frozenset(row.arm for row in rows if row.action is OutboxAction.INDEX)
