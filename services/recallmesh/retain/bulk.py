"""Bulk: batch after batch, a few in hand at once, answered in their order."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from recallmesh.core.deadline import within
from recallmesh.core.errors import (
    ArmTimeout,
    DefenseBlocked,
    FieldViolation,
    InvalidArgument,
    MeshError,
    NotReady,
    Overloaded,
)
from recallmesh.core.retain import BatchAnswer, RetainAnswer, RetainRequest, UpdateMode

Retain = Callable[[RetainRequest], Awaitable[RetainAnswer]]
Batch = asyncio.Task[BatchAnswer]
Key = tuple[str, ...]
LOST = 10_000
"""Documents of failed batches that a stream remembers; one that loses more is ended, so that its memory is bounded."""


@dataclass(frozen=True, slots=True)
class BulkLine:
    """Where the batches of all streams of a process are worked on: so many at once, and as many in hand a stream.

    More than the embedder has cores gain little; with fewer than two it idles while a write goes to disk.
    """

    retain: Retain
    batches: int
    timeout_s: float | None
    _work: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """Make the places to work at."""
        object.__setattr__(self, "_work", asyncio.Semaphore(self.batches))

    async def run(self, requests: AsyncIterator[RetainRequest]) -> AsyncGenerator[BatchAnswer, None]:
        """Answer each batch in its order; what ``requests`` raises comes after the answers to what it gave."""
        stream = _Stream(self)
        taking = asyncio.create_task(stream.take(requests))
        try:
            while (batch := await stream.begun.get()) is not None:
                answer = await batch
                stream.in_hand.discard(batch)
                stream.room.release()
                yield answer
            await taking
        finally:
            left = (taking, *stream.in_hand)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def work(self, request: RetainRequest) -> BatchAnswer:
        """Carry out one batch in its turn."""
        async with self._work:
            with within(self.timeout_s) as limit:
                try:
                    async with asyncio.timeout_at(limit):
                        return BatchAnswer(request.request_id, await self.retain(request))
                except MeshError as error:
                    return BatchAnswer(request.request_id, error)
                except TimeoutError:
                    return BatchAnswer(request.request_id, ArmTimeout("the batch was not kept within its deadline"))


class _Stream:
    """One stream: what it has in hand, and which documents lack a batch."""

    def __init__(self, line: BulkLine) -> None:
        self.begun: asyncio.Queue[Batch | None] = asyncio.Queue()
        self.room = asyncio.Semaphore(line.batches)
        self.in_hand: set[Batch] = set()
        self._line = line
        self._last: dict[Key, Batch] = {}
        self._lost: set[Key] = set()

    async def take(self, requests: AsyncIterator[RetainRequest]) -> None:
        """Begin each batch as it comes and there is room; then the end, however it comes."""
        try:
            await self.room.acquire()
            async for request in requests:
                self._begin(request)
                await self.room.acquire()
        finally:
            self.begun.put_nowait(None)

    def _begin(self, request: RetainRequest) -> None:
        if len(self._lost) > LOST:
            raise Overloaded(f"more than {LOST} documents of the stream were not kept: begin it again from the first")
        keys = tuple(_keys(request))
        before = {self._last[key] for key in keys if key in self._last}
        batch = asyncio.create_task(self._in_turn(request, keys, before))
        self._last.update(dict.fromkeys(keys, batch))
        self.in_hand.add(batch)
        self.begun.put_nowait(batch)

    async def _in_turn(self, request: RetainRequest, keys: tuple[Key, ...], before: set[Batch]) -> BatchAnswer:
        if before:
            await asyncio.wait(before)
        refused = _refused(request) or self._lacking(request)
        answer = BatchAnswer(request.request_id, refused) if refused else await self._line.work(request)
        # From here on nothing waits for it that does not know what became of it.
        own = asyncio.current_task()
        for key in keys:
            if self._last.get(key) is own:
                del self._last[key]
        documents = {key for key in keys if key[0] == "document"}
        if not isinstance(answer.outcome, MeshError):
            self._lost -= documents
        elif not isinstance(answer.outcome, DefenseBlocked):  # which is meant: what follows is not to wait for it
            self._lost |= documents
        return answer

    def _lacking(self, request: RetainRequest) -> NotReady | None:
        for item in request.items:
            lost = _document(request, item.document_id) in self._lost
            if item.document_id and lost and item.update_mode is UpdateMode.APPEND:
                said = f"document {item.document_id!r} lacks the batch before this one, which was not kept"
                return NotReady(said, metadata={"document": item.document_id})
        return None


def _refused(request: RetainRequest) -> InvalidArgument | None:
    violations = []
    if not request.request_id:
        violations.append(FieldViolation("request_id", "is required in a stream"))
    if not request.wait:
        violations.append(FieldViolation("no_wait", "is not offered in a stream, which waits for each batch"))
    return InvalidArgument(*violations) if violations else None


def _keys(request: RetainRequest) -> Iterator[Key]:
    """Yield what batches are told apart by: those that share one of these go one after the other."""
    yield ("request", request.bank.tenant, request.bank.bank_id, request.request_id)
    for name in {item.document_id for item in request.items if item.document_id}:
        yield _document(request, name)


def _document(request: RetainRequest, name: str) -> Key:
    return ("document", request.bank.tenant, request.bank.bank_id, name)
