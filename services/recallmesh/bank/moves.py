"""Banks moved: written to and read from a file of JSON lines beside the ledger's transaction."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from recallmesh.bank.export import PIECE_BYTES, Reading, Writing, spool
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.export import Imported
from recallmesh.core.ledger import Ledger
from recallmesh.core.time import Clock


class BankMoves:
    """``Moves`` over the ledger."""

    _ledger: Ledger
    _arms: tuple[ArmName, ...]
    _now: Clock

    async def export_bank(self, ref: BankRef) -> AsyncGenerator[bytes, None]:
        """Yield all a bank holds but vectors; it is on the disk before the first piece, so that it is of one moment."""
        bank = await self._ledger.get_bank(ref)
        with spool() as file:
            writing = Writing(file, bank, self._now())
            await self._ledger.export_bank(bank.uid, writing.take)
            await asyncio.to_thread(writing.end)
            while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
                yield piece

    async def import_bank(self, ref: BankRef, pieces: AsyncIterator[bytes]) -> Imported:
        """Fill an empty bank with an export; nothing is written before all of it has come."""
        bank = await self._ledger.get_bank(ref)
        with spool() as file:
            async for piece in pieces:
                await asyncio.to_thread(file.write, piece)
            await asyncio.to_thread(file.seek, 0)
            reading = Reading(file)
            header = await asyncio.to_thread(reading.header)
            return await self._ledger.import_bank(bank.uid, header.config, reading.things(), self._arms, self._now())
