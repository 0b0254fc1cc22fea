"""An index that cannot be opened costs its arm alone: the rest serves, and the opening is tried again."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Generic, TypeVar

import structlog

from recallmesh.core.arm import Arm, ArmQuery, Hit, Indexed, IndexEntry, Removal
from recallmesh.core.errors import EmbeddingMismatch, StoreUnavailable
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.vectors import VectorHit, VectorIndex, VectorQuery

T = TypeVar("T")
Index = TypeVar("Index", bound=Arm | VectorIndex)
Opening = Callable[[], AbstractAsyncContextManager[T]]
FIRST_PAUSE_S = 1.0
LAST_PAUSE_S = 60.0
"""The pauses between two openings double from the first to this."""
IN_USE = "another process"
"""What a store says that another process has open (SQLite: busy): this process is one too many, the files are good."""
REMEDY = (
    "its arm is out, everything else serves; restore the files from a backup, or move them away, restart, and make the "
    "index anew from the ledger: recallmesh repair"
)

_log = structlog.get_logger("recallmesh.standby")


class Standby(Generic[T]):
    """The place of something that could not be opened yet: says why, until it could."""

    def __init__(self, error: StoreUnavailable) -> None:
        """Begin with what the first opening failed with."""
        self._opened: T | None = None
        self.error: StoreUnavailable | EmbeddingMismatch = error

    def take(self, opened: T) -> None:
        """Give this from now on."""
        self._opened = opened

    def get(self) -> T:
        """Return what was opened.

        Raises:
            StoreUnavailable: nothing was yet.
            EmbeddingMismatch: it could be, but is of another model.

        """
        if self._opened is None:
            # Made anew: one exception raised again and again would gather the traces of all who met it.
            raise type(self.error)(self.error.message)
        return self._opened


@asynccontextmanager
async def open_or_stand_by(
    opening: Opening[T],
    proxy: Callable[[Standby[T]], T],
    path: Path,
    *,
    first_pause_s: float = FIRST_PAUSE_S,
    last_pause_s: float = LAST_PAUSE_S,
) -> AsyncIterator[T]:
    """Open an index on these files; if it cannot be, give its place, and go on trying for as long as that is open.

    Raises:
        StoreUnavailable: another process has it open.
        EmbeddingMismatch: it is there, and of another model.

    """
    async with AsyncExitStack() as stack:
        try:
            opened = await stack.enter_async_context(opening())
        except StoreUnavailable as error:
            if _in_use(error):
                raise
            standby: Standby[T] = Standby(error)
            _complain(path, error)
        else:
            yield opened
            return
        trying = asyncio.create_task(_keep_trying(opening, standby, stack, path, first_pause_s, last_pause_s))
        try:
            yield proxy(standby)
        finally:
            trying.cancel()
            await asyncio.gather(trying, return_exceptions=True)


async def _keep_trying(
    opening: Opening[T], standby: Standby[T], stack: AsyncExitStack, path: Path, pause_s: float, last_pause_s: float
) -> None:
    while True:
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, last_pause_s)
        try:
            standby.take(await stack.enter_async_context(opening()))
        except (StoreUnavailable, EmbeddingMismatch) as error:
            if error.message != standby.error.message:
                _complain(path, error)
            standby.error = error
        else:
            _log.warning("an index is open at last", path=str(path))
            return


def _in_use(error: StoreUnavailable) -> bool:
    cause = error.__cause__
    return IN_USE in error.message or (
        isinstance(cause, sqlite3.Error) and getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    )


def _complain(path: Path, error: StoreUnavailable | EmbeddingMismatch) -> None:
    cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
    _log.error("an index cannot be opened", path=str(path), detail=f"{error.message}{cause}", remedy=REMEDY)


class _StandbyIndex(Generic[Index]):
    """What an arm and a vector index have alike, in the place of one that is not open yet."""

    def __init__(self, standby: Standby[Index]) -> None:
        """Work with what the standby gives."""
        self._standby = standby

    async def drop(self, bank_uid: str) -> None:
        """As the index does, once it is there."""
        await self._standby.get().drop(bank_uid)

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """As the index does, once it is there."""
        return await self._standby.get().scan(bank_uid, page)

    async def check(self) -> None:
        """As the index does, once it is there."""
        await self._standby.get().check()


class StandbyArm(_StandbyIndex[Arm]):
    """Fulfils ``Arm`` in the place of one whose store is not open yet."""

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:
        """As the arm does, once it is there."""
        return await self._standby.get().search(query)

    async def index(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """As the arm does, once it is there."""
        await self._standby.get().index(bank_uid, entries)

    async def remove(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """As the arm does, once it is there."""
        await self._standby.get().remove(bank_uid, removals)


class StandbyVectors(_StandbyIndex[VectorIndex]):
    """Fulfils ``VectorIndex`` in the place of one that is not open yet."""

    async def search(self, queries: tuple[VectorQuery, ...]) -> tuple[tuple[VectorHit, ...], ...]:
        """As the index does, once it is there."""
        return await self._standby.get().search(queries)

    async def upsert(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """As the index does, once it is there."""
        await self._standby.get().upsert(bank_uid, entries)

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """As the index does, once it is there."""
        await self._standby.get().delete(bank_uid, removals)
