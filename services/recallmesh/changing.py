"""What stands in the place of one part while embedding models are changed: it asks that of the model in use."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from recallmesh.core.arm import Arm, ArmQuery, Hit, Indexed, IndexEntry, Removal
from recallmesh.core.bank import BankRef
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.recall import RecallAnswer, Recaller, RecallProgress, RecallRequest
from recallmesh.core.tuning import EffectiveTuning, RecallTuning
from recallmesh.models import ModelsInUse, Role
from recallmesh.retain.encoding import Encoding, Written


class RecallerInUse:
    """A ``Recaller`` that has one for each model, and asks one of them for a whole call."""

    def __init__(self, recallers: Mapping[Role, Recaller], models: ModelsInUse) -> None:
        """Choose among these."""
        self._recallers = recallers
        self._models = models

    async def recall(self, request: RecallRequest) -> RecallAnswer:
        """Answer by the model in use."""
        return await self._recallers[await self._models.in_use()].recall(request)

    async def stream(self, request: RecallRequest) -> AsyncGenerator[RecallProgress, None]:
        """Answer by the model in use."""
        async with aclosing(self._recallers[await self._models.in_use()].stream(request)) as stages:
            async for stage in stages:
                yield stage

    async def resolve_tuning(self, bank: BankRef, tuning: RecallTuning) -> EffectiveTuning:
        """Return what a recall would work with: the same by every model."""
        return await self._recallers[Role.MAIN].resolve_tuning(bank, tuning)


class ArmInUse:
    """An ``Arm`` that has one for each model: for who lists and takes out, and brings no vectors."""

    def __init__(self, arms: Mapping[Role, Arm], models: ModelsInUse) -> None:
        """Choose among these."""
        self._arms = arms
        self._models = models

    async def _arm(self) -> Arm:
        return self._arms[(await self._models.written())[0]]

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:
        """As the arm of the model in use does."""
        return await (await self._arm()).search(query)

    async def index(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """As the arm of the model in use does."""
        await (await self._arm()).index(bank_uid, entries)

    async def remove(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """As the arm of the model in use does."""
        await (await self._arm()).remove(bank_uid, removals)

    async def drop(self, bank_uid: str) -> None:
        """As the arm of the model in use does."""
        await (await self._arm()).drop(bank_uid)

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """As the arm of the model in use does."""
        return await (await self._arm()).scan(bank_uid, page)

    async def check(self) -> None:
        """As the arm of the model in use does."""
        await (await self._arm()).check()


class EncodingsInUse:
    """``Encodings`` as the ledger has them."""

    def __init__(self, encodings: Mapping[Role, Encoding], models: ModelsInUse) -> None:
        """Choose among these."""
        self._encodings = encodings
        self._models = models

    @property
    def all(self) -> tuple[Encoding, ...]:
        """Return those of this process, whether they are written or not."""
        return tuple(self._encodings.values())

    async def written(self) -> Written:
        """Return those that are in use and beside."""
        in_use, beside = await self._models.written()
        return Written(self._encodings[in_use], self._encodings[beside] if beside else None)
