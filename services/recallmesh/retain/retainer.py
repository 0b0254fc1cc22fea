"""The retainer: takes items in, makes memories of them, commits, and fans out to the arms."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import NoReturn, Protocol

import structlog

from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.attachment import AttachmentLedger
from recallmesh.core.bank import Bank, ExtractionMode
from recallmesh.core.defense import SecurityEvent
from recallmesh.core.encoder import Embedder
from recallmesh.core.entity_ledger import EntityLedger
from recallmesh.core.errors import BankNotFound, ConflictingWrite, MeshError, NoVisionModel
from recallmesh.core.event import EventLedger, decided
from recallmesh.core.job import Job, Progress
from recallmesh.core.ledger import BankLedger, MemoryLedger, WriteLedger
from recallmesh.core.memory import Memory
from recallmesh.core.operation import OperationKind
from recallmesh.core.retain import BatchAnswer, Delivery, DeliveryState, RetainAnswer, RetainRequest, UpdateMode
from recallmesh.core.source import SourceLedger
from recallmesh.core.time import Clock
from recallmesh.core.tokens import TokenCounter
from recallmesh.core.write import Commit, DocumentWrite, RequestRecord, Write
from recallmesh.retain.answer import answer_of
from recallmesh.retain.bulk import BulkLine
from recallmesh.retain.cast import Cast
from recallmesh.retain.consolidating import NEVER, Consolidating
from recallmesh.retain.defense.screening import RuleScreening, Screened, Screening
from recallmesh.retain.defense.source import resaid, said_of
from recallmesh.retain.delivery import Carrier, Vectors, context_text, said_before
from recallmesh.retain.draft import DocumentDraft, Drafter
from recallmesh.retain.encoding import Encoding, Encodings, OneEncoding
from recallmesh.retain.extraction import Extractor, Fact
from recallmesh.retain.fan_out import FanOut, is_stored_somewhere, with_temporal
from recallmesh.retain.intake import take_in
from recallmesh.retain.payload import content_hash, images_said, request_from_bytes, request_to_bytes
from recallmesh.retain.reading import check_labels, check_mode, keys_to_know, known_names, read_facts
from recallmesh.retain.writer import Read, Writer, in_doubt, names_in

_log = structlog.get_logger()
_COMMIT_TRIES = 6
_RETRY_DELAY_S = 0.02


async def _nobody_asks(_done: int, _total: int) -> None:
    """Fulfil ``Progress`` for a call whose caller waits."""


class RetainLedger(
    BankLedger, MemoryLedger, EntityLedger, WriteLedger, SourceLedger, AttachmentLedger, EventLedger, Protocol
):
    """What of the ledger retain uses."""


class MeshRetainer:
    """Keeps what it is told once for each request id, all or nothing, and tells which arms have it."""

    def __init__(
        self,
        ledger: RetainLedger,
        arms: Mapping[ArmName, Arm],
        embedder: Embedder,
        extractor: Extractor,
        tokens: TokenCounter,
        *,
        now: Clock,
        new_id: Callable[[], str],
        arm_timeout_s: float = 10.0,
        batches: int = 4,
        batch_timeout_s: float | None = None,
        consolidation: Consolidating = NEVER,
        on_pending: Callable[[], None] = lambda: None,
        on_retained: Callable[[RetainAnswer], None] = lambda _: None,
        screening: Screening | None = None,
        encodings: Encodings | None = None,
    ) -> None:
        """Write to the ledger and to ``arms``, which are those with an index of their own.

        ``batches`` of streams are worked on at once, each for at most ``batch_timeout_s``. ``consolidation`` says when
        what is new is due. ``on_pending`` is called when something was left for the outbox or the queue; ``screening``
        takes out what banks keep out, by default by the rules of ``defense``. ``encodings`` say which models' vectors
        are written, where there may be another than the embedder's.
        """
        self._ledger = ledger
        self._encodings = encodings or OneEncoding(Encoding(embedder))
        self._extractor = extractor
        self._now = now
        self._new_id = new_id
        self._on_pending = on_pending
        self._on_retained = on_retained
        self._consolidation = consolidation
        self._arms = tuple(arms)
        self._screening = screening or RuleScreening(new_id)
        self._drafter = Drafter(tokens, new_id, extractor.fingerprint)
        self._writer = Writer(tokens, new_id, self._arms)
        self._bulk = BulkLine(self.retain, batches, batch_timeout_s)
        self._fan_out = FanOut(ledger, arms, Carrier(ledger, embedder, encodings), now, arm_timeout_s)

    async def retain(self, request: RetainRequest) -> RetainAnswer:
        """Write to the ledger, then to all arms at once; what an arm missed is delivered later."""
        received = self._now()
        taken = await asyncio.to_thread(take_in, request, vision=self._extractor.vision)
        bank = await self._ledger.get_bank(request.bank)
        check_mode(self._extractor, taken.mode or bank.config.retain.mode, bank.config.retain)
        check_labels(taken, bank.config.labels)
        with _known_by_its_id(bank):
            # Before anything is kept, queued, hashed, logged, or shown to a model.
            screened = await self._screening.screen(bank, taken, received)
            if screened.is_blocked:
                await self._refuse(bank, screened, received)
            keep = self._carry_out if request.wait else self._submit
            return screened.answer(await keep(bank, screened.request, received, decisions=screened.decisions))

    def stream(self, requests: AsyncIterator[RetainRequest]) -> AsyncGenerator[BatchAnswer, None]:
        """Keep batch after batch, a few at once, and answer each in its order."""
        return self._bulk.run(requests)

    async def work(self, job: Job, progress: Progress) -> tuple[str, ...]:
        """Carry out a request that did not wait; returns the memory ids. It can be cancelled until it is committed."""
        request, received = await asyncio.to_thread(request_from_bytes, job.payload)
        with _known_by_its_id(job.bank):
            answer = await self._carry_out(job.bank, request, received, progress, job.operation.id)
        return tuple(one for item in answer.items for one in item.memory_ids)

    async def reprocess(self, job: Job, progress: Progress) -> tuple[str, ...]:
        """Make a stored document's memories once more; returns the ids of the new ones.

        It can be cancelled until it is committed. What changed the document meanwhile makes it begin again.
        """
        bank = job.bank
        check_mode(self._extractor, bank.config.retain.mode, bank.config.retain)
        stored = await self._ledger.read_sources(bank.uid, job.payload.decode())
        said = await asyncio.to_thread(said_of, bank, stored, job.operation.id)
        screened = await self._screening.screen(bank, said, self._now())
        if len(screened.places) < len(said.items):
            await self._refuse(bank, screened, self._now())
        document, sources = await asyncio.to_thread(resaid, stored, screened.request.items, self._drafter.counter)
        ids = {image for source in sources if source.said for _, image in images_said(source.said)}
        if ids and not self._extractor.vision:
            raise NoVisionModel("the document has attachments, and no extractor here can read images")
        held = await self._ledger.read_attachments(bank.uid, tuple(ids)) if ids else ()
        attachments = {one.id: one for one in held}
        draft = await asyncio.to_thread(self._drafter.redraft, bank, document, sources, attachments)
        request = RetainRequest(bank.ref, tuple(chunk.item for chunk in draft.chunks))
        vectors = Vectors((await self._encodings.written()).in_use.embedder)
        commit = await self._commit(
            bank,
            request,
            (draft,),
            None,
            vectors,
            progress,
            operation_id=job.operation.id,
            decisions=screened.decisions,
        )
        await self._deliver(bank, commit, vectors)
        _log.info("retain.reprocessed", bank_uid=bank.uid, memory_count=len(commit.added))
        return tuple(memory.id for memory in commit.added)

    async def _refuse(self, bank: Bank, screened: Screened, at: datetime) -> NoReturn:
        """Keep what was decided, and tell it; of what was told nothing is kept."""
        await self._ledger.record_events(bank.uid, decided(screened.decisions), at)
        raise screened.refusal()

    async def _submit(
        self, bank: Bank, request: RetainRequest, received: datetime, *, decisions: tuple[SecurityEvent, ...]
    ) -> RetainAnswer:
        record = await asyncio.to_thread(_record, request)
        if record is not None:
            if await self._ledger.find_request(bank.uid, record) is not None:
                return await self._carry_out(bank, request, received, decisions=decisions)
        else:
            # A worker that takes over from a dead one must not keep things twice.
            request = replace(request, request_id=self._new_id())
        payload = await asyncio.to_thread(request_to_bytes, request, received)
        submitted = await self._ledger.submit(
            bank.uid, OperationKind.RETAIN, payload, len(request.items), received, record, decisions=decisions
        )
        self._on_pending()
        return RetainAnswer(operation_id=submitted.operation.id, replayed=submitted.replayed)

    async def _carry_out(
        self,
        bank: Bank,
        request: RetainRequest,
        received: datetime,
        progress: Progress = _nobody_asks,
        operation_id: str = "",
        *,
        decisions: tuple[SecurityEvent, ...] = (),
    ) -> RetainAnswer:
        record = await asyncio.to_thread(_record, request)
        drafts = await asyncio.to_thread(self._drafter.draft, bank, request, received)
        vectors = Vectors((await self._encodings.written()).in_use.embedder)
        commit = None if record is None else await self._ledger.find_request(bank.uid, record)
        if commit is None:
            commit = await self._commit(
                bank, request, drafts, record, vectors, progress, operation_id=operation_id, decisions=decisions
            )
        deliveries = await self._deliver(bank, commit, vectors)
        answer = answer_of(drafts, commit, deliveries, len(request.items))
        if not answer.replayed:
            self._on_retained(answer)
        _log.info("retain.completed", bank_uid=bank.uid, memory_count=answer.memory_count, replayed=answer.replayed)
        return answer

    async def _commit(
        self,
        bank: Bank,
        request: RetainRequest,
        drafts: Sequence[DocumentDraft],
        record: RequestRecord | None,
        vectors: Vectors,
        progress: Progress,
        *,
        operation_id: str,
        decisions: tuple[SecurityEvent, ...],
    ) -> Commit:
        told: dict[str, tuple[Fact, ...]] = {}
        tries = 1
        while True:
            write = await self._write(bank, request, drafts, record, told)
            # Before the commit: what cannot be embedded is not kept, rather than kept and not found.
            done = 0
            for draft, document in zip(drafts, write.documents, strict=True):
                await vectors.make(_texts(document))
                done += len(draft.item_indexes)
                await progress(done, len(request.items))
            try:
                # Stamped now: embedding a thousand texts takes longer than the outbox leaves a write to its own call.
                at = self._now()
                due = self._consolidation.due(bank, at)
                stamped = replace(write, at=at, operation_id=operation_id, consolidate=due, decisions=decisions)
                return await self._ledger.commit(stamped)
            except ConflictingWrite:
                if tries == _COMMIT_TRIES:
                    raise
            await asyncio.sleep(_RETRY_DELAY_S * 2**tries)
            tries += 1

    async def _write(
        self,
        bank: Bank,
        request: RetainRequest,
        drafts: Sequence[DocumentDraft],
        record: RequestRecord | None,
        told: dict[str, tuple[Fact, ...]],
    ) -> Write:
        documents = [await self._read(bank, request, draft, told) for draft in drafts]
        keys = await asyncio.to_thread(names_in, documents)
        entities = await self._ledger.entities_like(bank.uid, keys) if keys else ()
        cast = await asyncio.to_thread(Cast, self._new_id, entities)
        if entities and (doubted := await asyncio.to_thread(in_doubt, documents, cast)):
            cast.meet(await self._ledger.met(bank.uid, doubted))
        return await asyncio.to_thread(self._writer.write, bank, documents, cast, at=self._now(), request=record)

    async def _read(
        self, bank: Bank, request: RetainRequest, draft: DocumentDraft, told: dict[str, tuple[Fact, ...]]
    ) -> Read:
        """Read what the ledger does not know; ``told`` keeps it by digest, for another try of the same call."""
        known: frozenset[str] = frozenset()
        if draft.mode is UpdateMode.REPLACE:
            known = await self._ledger.known_digests(bank.uid, draft.id)
        new = [chunk for chunk in draft.chunks if chunk.digest not in known]
        if unread := [chunk for chunk in new if chunk.digest not in told]:
            mode = request.mode or bank.config.retain.mode
            # Nothing is read out of chunks that are kept as they are, so no names are looked for.
            keys = () if mode is ExtractionMode.CHUNKS else await asyncio.to_thread(keys_to_know, unread)
            names = known_names(keys, await self._ledger.entities_like(bank.uid, keys)) if keys else ()
            facts = await read_facts(self._extractor, unread, mode, bank.config, names)
            told.update(zip((chunk.digest for chunk in unread), facts, strict=True))
        return draft, tuple(None if chunk.digest in known else told[chunk.digest] for chunk in draft.chunks)

    async def _deliver(self, bank: Bank, commit: Commit, vectors: Vectors) -> tuple[Delivery, ...]:
        added = {memory.id: memory for memory in commit.added}
        deliveries = await self._fan_out.deliver(commit.write_id, vectors=vectors, memories=added)
        if commit.retiring and is_stored_somewhere(deliveries):
            try:
                await self._ledger.retire(bank.uid, commit.write_id, self._arms, self._now())
                deliveries = await self._fan_out.deliver(commit.write_id, vectors=vectors)
            except MeshError as error:
                # The new version is kept and found; the outbox worker retires the old one.
                _log.warning("retain.not_retired", write_id=commit.write_id, error=error.message)
        if any(one.state is DeliveryState.PENDING for one in deliveries):
            self._on_pending()
        return with_temporal(deliveries)


@contextmanager
def _known_by_its_id(bank: Bank) -> Iterator[None]:
    """Say of a bank that was deleted meanwhile that the caller's is gone: the ledger's word for it is its uid."""
    try:
        yield
    except BankNotFound as error:
        raise BankNotFound(bank.ref.bank_id) from error


def _record(request: RetainRequest) -> RequestRecord | None:
    return RequestRecord(request.request_id, content_hash(request)) if request.request_id else None


def _texts(document: DocumentWrite) -> list[str]:
    """Return all that the vectors of a document will be made of, as far as it is known before the commit."""
    texts: list[str] = []
    chunks = {each.chunk.id: each.chunk for each in document.chunks}
    previous: Memory | None = None
    for chunk in document.chunks:
        for memory in chunk.memories:
            texts += (memory.text, context_text(said_before(memory, previous, chunks), memory.text))
            previous = memory
        if chunk.known:
            # Its memories, if it has any, are in the ledger: what follows them is embedded after the commit.
            previous = None
    return texts
