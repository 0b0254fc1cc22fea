"""How far a load is."""

from dataclasses import dataclass, replace

from recallmesh.client.batch import Batch
from recallmesh.core.arm import ArmName
from recallmesh.core.retain import DeliveryState, RetainAnswer


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """What came of a load so far.

    ``items`` counts all up to here, those passed over at the beginning among them: a later load goes on with
    ``skip=items``. ``memories`` were made of them, ``batches`` were kept, ``replayed`` of these by an earlier load of
    the same name. ``refused`` batches were not kept. ``pending`` are the arms that have not all of it yet.
    """

    items: int = 0
    memories: int = 0
    batches: int = 0
    replayed: int = 0
    refused: int = 0
    pending: frozenset[ArmName] = frozenset()

    def after(self, batch: Batch, answer: RetainAnswer) -> "LoadProgress":
        """Return the progress when this batch was kept as well."""
        late = {one.arm for one in answer.deliveries if one.state is DeliveryState.PENDING}
        return replace(
            self,
            items=batch.last,
            memories=self.memories + answer.memory_count,
            batches=self.batches + 1,
            replayed=self.replayed + answer.replayed,
            pending=self.pending | late,
        )

    def without(self, batch: Batch) -> "LoadProgress":
        """Return the progress when this batch was refused."""
        return replace(self, items=batch.last, refused=self.refused + 1)
