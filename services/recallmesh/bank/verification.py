"""Verification: a bank's indexes held against the ledger, and their repair begun."""

from collections.abc import Mapping
from dataclasses import dataclass

from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.comparison import IndexComparison, compare
from recallmesh.core.ledger import Ledger
from recallmesh.core.operation import Operation, OperationKind, OperationState
from recallmesh.core.page import PAGE_SIZE_MAX, PageRequest
from recallmesh.core.time import Clock

UNREACHED = "this process does not reach its index: tell it the arm's address, or ask a process that does"
_UNDER_WAY = (OperationState.PENDING, OperationState.RUNNING)


@dataclass(frozen=True, slots=True)
class Verifier:
    """Compares the indexes of ``arms``, as far as ``indexes`` has them."""

    ledger: Ledger
    arms: tuple[ArmName, ...]
    indexes: Mapping[ArmName, Arm]
    now: Clock

    async def verify(self, bank_uid: str, *, glance: bool) -> tuple[IndexComparison, ...]:
        """Return how each index compares, in the order of ``arms``."""
        reached = {name: self.indexes[name] for name in self.arms if name in self.indexes}
        found = {one.arm: one for one in await compare(self.ledger, reached, bank_uid, glance=glance)}
        return tuple(found.get(name) or IndexComparison(name, error=UNREACHED) for name in self.arms)

    async def repair(self, bank_uid: str) -> Operation:
        """Put a repair into the queue, or return the one that waits or runs."""
        page = await self.ledger.list_operations(bank_uid, PageRequest(PAGE_SIZE_MAX), _UNDER_WAY)
        for operation in page.rows:
            if operation.kind is OperationKind.REPAIR:
                return operation
        total = (await self.ledger.bank_stats(bank_uid)).memories
        return (await self.ledger.submit(bank_uid, OperationKind.REPAIR, b"", total, self.now())).operation
