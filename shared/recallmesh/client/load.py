"""Loads: batch after batch through one stream, and through another when that one breaks."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from recallmesh.client.batch import Batch, in_its_place
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.deadline import remaining
from recallmesh.core.errors import (
    ArmTimeout,
    ConflictingWrite,
    FieldViolation,
    InvalidArgument,
    MeshError,
    Overloaded,
    RequestIdReused,
    StoreUnavailable,
)
from recallmesh.core.retain import BatchAnswer, RetainAnswer, Retainer, RetainRequest

PASSING = (StoreUnavailable, Overloaded, ArmTimeout, ConflictingWrite)
"""What may be gone in a moment: the batch is sent again, under its id."""
PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""How long to wait before each new attempt; after the last in vain it is given up: a restart takes less than that."""
CHANGED = "came before with other content: what is loaded has changed there; put it back, or load under another name"

Coming = asyncio.Queue[Batch | None]


def worded(error: MeshError, batch: Batch) -> MeshError:
    """Return the error by the places of the batch's items instead of their numbers in the call."""
    if isinstance(error, InvalidArgument):
        return in_its_place(error, batch)
    if isinstance(error, RequestIdReused) and batch.places:
        return InvalidArgument(FieldViolation(f"{batch.places[0]} to {batch.places[-1]}", CHANGED))
    return error


@dataclass(slots=True)
class Load:
    """Has batches kept, in their order, and says of each when it is.

    ``request_id`` names a batch, the same whenever it is sent; ``sending`` is told before one is sent for the first
    time, ``kept`` when it was answered.
    """

    retainer: Retainer
    bank: BankRef
    request_id: Callable[[Batch], str]
    kept: Callable[[Batch, RetainAnswer], None]
    sending: Callable[[Batch], None] = lambda _: None
    refused: Callable[[Batch, MeshError], bool] = lambda _, __: False
    """Told of a batch that is refused; returns whether the load goes on all the same."""
    waiting: Callable[[MeshError, float], None] = lambda _, __: None
    """Told why, and for how many seconds, it waits before it sends again."""
    worded: Callable[[MeshError, Batch], MeshError] = worded
    """Says an error by where the batch's items came from."""
    mode: ExtractionMode | None = None
    tags: tuple[str, ...] = ()
    pauses_s: tuple[float, ...] = PAUSES_S
    _unanswered: deque[Batch] = field(default_factory=deque)

    async def keep(self, batches: AsyncIterator[Batch]) -> None:
        """Have all batches kept.

        Raises:
            InvalidArgument: an item is refused, by the place it came from; or what ``batches`` raises.
            MeshError: what a call of retain raises and does not pass, or would, but the deadline in hand leaves no time
                to try again. All before that batch is kept.

        """
        async with _reading(batches) as (coming, reading):
            vain = 0
            # A stream is opened when there is something to send: one that waits for a person is ended by the server.
            while self._unanswered or await self._first(coming):
                before = self._unanswered[0]
                try:
                    await self._through(coming)
                except PASSING as error:
                    answered = not self._unanswered or self._unanswered[0] is not before
                    if not self._unanswered:
                        continue
                    vain = 0 if answered else vain + 1
                    if vain == len(self.pauses_s) or not await self._pause(error, self.pauses_s[vain]):
                        raise
            await reading

    async def _first(self, coming: Coming) -> bool:
        batch = await coming.get()
        if batch is None:
            return False
        self._send(batch)
        return True

    async def _through(self, coming: Coming) -> None:
        async with aclosing(self.retainer.stream(self._requests(coming))) as answers:
            async for answer in answers:
                self._take(answer)

    async def _requests(self, coming: Coming) -> AsyncGenerator[RetainRequest, None]:
        for again in tuple(self._unanswered):
            yield self._request(again)
        while (batch := await coming.get()) is not None:
            self._send(batch)
            yield self._request(batch)
        coming.put_nowait(None)  # for who asks after this stream

    def _send(self, batch: Batch) -> None:
        self.sending(batch)
        self._unanswered.append(batch)

    def _request(self, batch: Batch) -> RetainRequest:
        return RetainRequest(self.bank, batch.items, request_id=self.request_id(batch), mode=self.mode, tags=self.tags)

    def _take(self, answer: BatchAnswer) -> None:
        batch = self._unanswered[0]
        if isinstance(answer.outcome, MeshError):
            error = self.worded(answer.outcome, batch)
            if isinstance(error, PASSING) or not self.refused(batch, error):
                raise error from answer.outcome
            self._unanswered.popleft()
            return
        self._unanswered.popleft()
        self.kept(batch, answer.outcome)

    async def _pause(self, error: MeshError, pause_s: float) -> bool:
        """Wait before the next attempt; returns whether the deadline in hand leaves time for one."""
        if isinstance(error, Overloaded):
            pause_s = max(pause_s, error.retry_after.total_seconds())
        left = remaining()
        if left is not None and left <= pause_s:
            return False
        self.waiting(error, pause_s)
        await asyncio.sleep(pause_s)
        return True


@asynccontextmanager
async def _reading(batches: AsyncIterator[Batch]) -> AsyncIterator[tuple[Coming, "asyncio.Task[None]"]]:
    """Read one batch ahead in a task of its own, which outlives the streams that take them."""
    coming: Coming = asyncio.Queue(1)

    async def read() -> None:
        try:
            async for batch in batches:
                if batch.items:
                    await coming.put(batch)
        finally:
            own = asyncio.current_task()
            if own is not None and not own.cancelling():  # else nobody takes it any more
                await coming.put(None)

    reading = asyncio.create_task(read())
    try:
        yield coming, reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
