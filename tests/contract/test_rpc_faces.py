# ruff: noqa: ARG002, ASYNC110 - fakes keep their port's names; what is waited for is on the other side of a wire
"""Recall, retain and administration reached over the wire are the same as in process."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from loopback import open_loopback

from recallmesh.core.admin import Admin
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import Bank, BankConfig, BankRef, BankStats, ExtractionMode, RetainTuning
from recallmesh.core.document import Chunk, Document
from recallmesh.core.entity import Entity, TagCount
from recallmesh.core.entity_ledger import EntitySplit
from recallmesh.core.errors import (
    BankNotFound,
    ConflictingWrite,
    DocumentNotFound,
    Forbidden,
    MemoryNotFound,
    NameTaken,
    RequestIdReused,
)
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.likeness import Rule
from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.core.memory import FactType, Memory, MemoryState
from recallmesh.core.operation import Operation, OperationKind, OperationState
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.recall import (
    ArmReport,
    Outcome,
    PartState,
    Prefilter,
    RecallAnswer,
    RecalledMemory,
    Recaller,
    RecallProgress,
    RecallRequest,
    RecallStage,
    Scores,
    Trace,
    TraceCandidate,
)
from recallmesh.core.resolution import Comparison, EntityExplanation, EntityQuestion, Verdict
from recallmesh.core.retain import (
    Delivery,
    DeliveryState,
    RetainAnswer,
    RetainedItem,
    Retainer,
    RetainItem,
    RetainRequest,
)
from recallmesh.core.tags import EVERYTHING, TagLeaf, TagMode, TagNot
from recallmesh.core.tuning import RecallTuning
from recallmesh.rpc.admin import RemoteAdmin, host_admin
from recallmesh.rpc.recaller import RemoteRecaller, host_recaller
from recallmesh.rpc.retainer import RemoteRetainer, host_retainer
from recallmesh.rpc.text import bank_json, banks_json, recall_answer_json, retain_answer_json, stats_json

DAY = datetime(2026, 8, 19, 10, tzinfo=UTC)
REF = BankRef("b")
MEMORY = Memory("m1", "Ida moved to Oslo.", FactType.WORLD, DAY, tags=("a",), tokens=7, metadata={"k": "v"})
ANSWER = RecallAnswer(
    memories=(RecalledMemory(MEMORY, {ArmName.KEYWORD: 1}, Scores(0.0164, 0.9, 0.95)),),
    arms=(ArmReport(ArmName.GRAPH, PartState.TIMED_OUT, 0, timedelta(seconds=0.5), "slow"),),
    tokens=7,
)

NEW = EntityExplanation(None, Verdict(None))
"""What a name that is nobody's resolves to."""


class Echo:
    """A recaller and retainer that keeps what it was asked."""

    def __init__(self, answer=ANSWER):
        self.answer = answer
        self.asked = []

    async def recall(self, request):
        self.asked.append(request)
        if request.bank.bank_id == "none":
            raise BankNotFound("none")
        return self.answer

    async def stream(self, request):
        yield RecallProgress(RecallStage.FUSED, await self.recall(request))
        yield RecallProgress(RecallStage.FINAL, replace(self.answer, omitted=self.answer.omitted + 1))

    async def retain(self, request):
        self.asked.append(request)
        if request.request_id == "used":
            raise RequestIdReused("the request id came before with other content")
        return RetainAnswer(
            (RetainedItem("d", ("m1",), unchanged=True),),
            (Delivery(ArmName.GRAPH, DeliveryState.PENDING, "down"),),
            replayed=True,
        )


async def test_a_recall_over_the_wire_asks_and_answers_the_same():
    echo = Echo()
    async with open_loopback(host_recaller(echo)) as channel:
        recaller: Recaller = RemoteRecaller(channel)
        request = RecallRequest(
            REF, "when?", max_tokens=0, query_time=DAY.astimezone(timezone(timedelta(hours=10))), chunk_tokens=0
        )
        assert await recaller.recall(request) == ANSWER
        with pytest.raises(BankNotFound, match="'none'") as caught:
            await recaller.recall(RecallRequest(BankRef("none"), "q"))
    assert echo.asked[0] == request
    assert echo.asked[0].query_time.utcoffset() == timedelta(hours=10)
    assert caught.value.metadata["bank"] == "none"
    assert caught.value.metadata["request_id"]


async def test_a_recall_stream_tells_what_the_recaller_tells():
    echo = Echo()
    async with open_loopback(host_recaller(echo)) as channel:
        recaller: Recaller = RemoteRecaller(channel)
        request = RecallRequest(REF, "when?", limit=3)
        told = [progress async for progress in recaller.stream(request)]
        with pytest.raises(BankNotFound, match="'none'"):
            await anext(recaller.stream(RecallRequest(BankRef("none"), "q")))
    assert told == [progress async for progress in Echo().stream(request)]
    assert [progress.stage for progress in told] == [RecallStage.FUSED, RecallStage.FINAL]
    assert echo.asked[0] == request


async def test_each_answer_of_a_stream_that_would_not_fit_is_cut():
    echo = Echo(large_answer(12, traced=True))
    async with open_loopback(host_recaller(echo)) as channel:
        told = [progress.answer async for progress in RemoteRecaller(channel).stream(RecallRequest(REF, "q"))]
    kept = [len(answer.memories) for answer in told]
    assert kept[0] == kept[1] < 12
    assert [answer.omitted for answer in told] == [12 - kept[0], 13 - kept[0]]


async def test_another_tenant_than_the_credentials_is_refused_and_never_read_as_ours():
    echo = Echo()
    async with open_loopback(host_recaller(echo)) as channel:
        with pytest.raises(Forbidden):
            await RemoteRecaller(channel).recall(RecallRequest(BankRef("b", "acme"), "q"))
    assert echo.asked == []


def large_answer(texts, *, traced):
    memories = tuple(
        RecalledMemory(replace(MEMORY, id=f"m{n}", text="x" * 500_000), {}, Scores(0, 0, 0)) for n in range(texts)
    )
    candidates = tuple(TraceCandidate(f"m{n}", "y" * 500_000, Outcome.PACKED, n + 1) for n in range(9))
    trace = Trace((), None, Prefilter(9, 0, 300, {}, {}), candidates, RecallTuning(), DAY, 300)
    return replace(ANSWER, memories=memories, tokens=7 * texts, trace=trace if traced else None)


async def test_a_trace_that_would_not_fit_loses_its_texts_and_the_memories_stay():
    echo = Echo(large_answer(3, traced=True))
    async with open_loopback(host_recaller(echo)) as channel:
        got = await RemoteRecaller(channel).recall(RecallRequest(REF, "q", trace=True))
    assert got.memories == echo.answer.memories
    assert len(got.trace.candidates) == 9
    assert 0 < sum(not candidate.text for candidate in got.trace.candidates) < 9


async def test_memories_that_would_not_fit_are_counted_as_omitted():
    echo = Echo(large_answer(12, traced=True))
    async with open_loopback(host_recaller(echo)) as channel:
        got = await RemoteRecaller(channel).recall(RecallRequest(REF, "q", trace=True))
    kept = len(got.memories)
    assert MESSAGE_BYTES - 600_000 < kept * 500_000 < MESSAGE_BYTES
    assert got.memories == echo.answer.memories[:kept]
    assert got.omitted == 12 - kept
    assert got.tokens == 7 * kept


async def test_source_facts_that_would_not_fit_are_counted_with_those_that_did_not_before():
    facts = tuple(replace(MEMORY, id=f"m{number}", text="x" * 500_000) for number in range(12))
    echo = Echo(replace(ANSWER, source_facts=facts, source_facts_omitted=3))
    async with open_loopback(host_recaller(echo)) as channel:
        got = await RemoteRecaller(channel).recall(RecallRequest(REF, "q"))
    assert 0 < len(got.source_facts) < 12
    assert len(got.source_facts) + got.source_facts_omitted == 15
    assert got.memories == ANSWER.memories


async def test_a_retain_over_the_wire_keeps_and_answers_the_same():
    echo = Echo()
    async with open_loopback(host_retainer(echo)) as channel:
        retainer: Retainer = RemoteRetainer(channel)
        item = RetainItem(("text",), DAY, document_id="d", tags=("a",), observation_scopes=(("a",), ()))
        request = RetainRequest(REF, (item,), "r-1", wait=False, mode=ExtractionMode.CHUNKS, tags=("t",))
        assert await retainer.retain(request) == await Echo().retain(request)
        assert echo.asked == [request]
        with pytest.raises(RequestIdReused):
            await retainer.retain(replace(request, request_id="used"))


async def test_a_retain_without_a_request_id_gets_one_of_its_own():
    echo = Echo()
    async with open_loopback(host_retainer(echo)) as channel:
        for _ in range(2):
            await RemoteRetainer(channel).retain(RetainRequest(REF, (RetainItem(("text",)),)))
    first, second = (request.request_id for request in echo.asked)
    assert first
    assert second
    assert first != second


class Registry:
    """Administration of one bank with one of everything."""

    bank = Bank(REF, "u1", DAY, "Bank", BankConfig(retain=RetainTuning(language="de")), 3)
    memory = MEMORY
    document = Document("d", DAY, DAY, 2, ("a",), {"k": "v"}, 1, 2, 3)
    chunk = Chunk("c", "d", 0, "text", 1, "x", "ctx", DAY)
    entity = Entity("e", "Ida", "ida", "person", DAY, ("I.",), 2, DAY)
    operation = Operation("o", OperationKind.RETAIN, OperationState.RUNNING, DAY, DAY, 1, 2)

    def __init__(self):
        self.done = []
        self.tests = []

    def _note(self, *what):
        self.done.append(what)

    async def create_bank(self, ref, *, name="", config=None):
        self._note("create", ref, name, config)
        return self.bank

    async def get_bank(self, ref):
        if ref != REF:
            raise BankNotFound(ref.bank_id)
        return self.bank

    async def list_banks(self, tenant, page):
        return Page((self.bank,) * page.size, "b")

    async def update_bank(self, ref, *, name=None, config=None, version=0):
        if version == 9:
            raise ConflictingWrite("the bank has version 3")
        self._note("update", name, config, version)
        return self.bank

    async def delete_bank(self, ref):
        self._note("delete", ref)

    async def bank_stats(self, ref):
        return BankStats(3, (("observation", 1), ("world", 2)), 1, 2, 3, 4, 5)

    async def get_document(self, ref, document_id, *, visible):
        self.tests.append(visible)
        if document_id != "d":
            raise DocumentNotFound(document_id)
        return self.document

    async def list_documents(self, ref, page, *, visible):
        self.tests.append(visible)
        return Page((self.document,), "d")

    async def delete_document(self, ref, document_id):
        return 4

    async def get_chunk(self, ref, chunk_id, *, visible):
        self.tests.append(visible)
        return self.chunk

    async def list_chunks(self, ref, document_id, page, *, visible):
        self.tests.append(visible)
        return Page((replace(self.chunk, text="x" * 900_000),) * page.size, "1" if page.size > 1 else "")

    async def get_memory(self, ref, memory_id, *, visible):
        self.tests.append(visible)
        return self.memory

    async def list_memories(self, ref, wanted, page):
        self._note("list", wanted, page)
        return Page((self.memory,))

    async def edit_memory(self, ref, memory_id, edit):
        self._note("edit", memory_id, edit)
        return self.memory

    async def invalidate_memory(self, ref, memory_id):
        return replace(self.memory, state=MemoryState.INVALIDATED)

    async def restore_memory(self, ref, memory_id):
        return self.memory

    async def delete_memory(self, ref, memory_id):
        raise MemoryNotFound(memory_id)

    async def list_tags(self, ref, page):
        return Page((TagCount("a", 2),))

    async def get_entity(self, ref, entity_id):
        return self.entity

    async def list_entities(self, ref, page):
        return Page((self.entity,))

    async def merge_entities(self, ref, into_id, from_ids):
        self._note("merge", into_id, from_ids)
        return self.entity

    async def split_entity(self, ref, entity_id, split):
        self._note("split", entity_id, split)
        return self.entity, replace(self.entity, id="f", apart=("ida",))

    async def add_entity_alias(self, ref, entity_id, alias):
        if alias == "Bo":
            raise NameTaken("it is that of entity b", metadata={"entity": "b"})
        self._note("alias", entity_id, alias)
        return self.entity

    async def explain_entity(self, ref, question):
        self._note("explain", question)
        comparisons = (Comparison("e", "Ida", 0.85, 0.1155, 0.05, matched=True, rule=Rule.INITIAL),)
        return EntityExplanation(self.entity, Verdict("e", comparisons)) if question.time else NEW

    async def get_operation(self, ref, operation_id):
        return self.operation

    async def list_operations(self, ref, page, states):
        return Page((self.operation,) if not states or self.operation.state in states else ())

    async def watch_operation(self, ref, operation_id):
        try:
            yield self.operation
            yield replace(self.operation, state=OperationState.SUCCEEDED)
            await asyncio.sleep(60)
        finally:
            self._note("watch ended")

    async def cancel_operation(self, ref, operation_id):
        return replace(self.operation, state=OperationState.CANCELLED)

    async def retry_operation(self, ref, operation_id):
        return replace(self.operation, state=OperationState.PENDING)


@pytest.fixture
def registry():
    return Registry()


@pytest.fixture
async def channel(registry):
    async with open_loopback(host_admin(registry)) as channel:
        yield channel


@pytest.fixture
def admin(channel):
    remote: Admin = RemoteAdmin(channel)
    return remote


async def test_banks_over_the_wire_are_the_same(admin, registry):
    config = BankConfig(RecallTuning(arms=frozenset(), reranking=False), RetainTuning(mode=ExtractionMode.VERBOSE))
    assert await admin.create_bank(REF, name="Bank", config=config) == registry.bank
    assert await admin.get_bank(REF) == registry.bank
    assert await admin.update_bank(REF, name="", version=2) == registry.bank
    await admin.delete_bank(REF)
    assert registry.done == [("create", REF, "Bank", config), ("update", "", None, 2), ("delete", REF)]
    assert await admin.bank_stats(REF) == await registry.bank_stats(REF)
    with pytest.raises(ConflictingWrite, match="version 3"):
        await admin.update_bank(REF, version=9)
    with pytest.raises(BankNotFound):
        await admin.get_bank(BankRef("other"))
    assert len((await admin.list_banks("default", PageRequest(7))).rows) == 7


async def test_what_a_bank_holds_is_the_same_over_the_wire(admin, registry):
    assert await admin.get_document(REF, "d") == registry.document
    assert (await admin.list_documents(REF, PageRequest())).rows == (registry.document,)
    assert await admin.delete_document(REF, "d") == 4
    assert await admin.get_chunk(REF, "c") == registry.chunk
    assert await admin.get_memory(REF, "m1") == registry.memory
    assert (await admin.invalidate_memory(REF, "m1")).state is MemoryState.INVALIDATED
    assert await admin.restore_memory(REF, "m1") == registry.memory
    assert (await admin.list_tags(REF, PageRequest())).rows == (TagCount("a", 2),)
    assert await admin.get_entity(REF, "e") == registry.entity
    assert (await admin.list_entities(REF, PageRequest())).rows == (registry.entity,)
    with pytest.raises(MemoryNotFound, match="m9"):
        await admin.delete_memory(REF, "m9")


async def test_who_is_who_is_changed_and_explained_the_same_over_the_wire(admin, registry):
    split = EntitySplit("Ida B.", ("m1", "m2"), ("I.",))
    asked = EntityQuestion("Ida B.", "person", ("Bo", "Leo"), DAY)
    assert await admin.merge_entities(REF, "e", ("f", "g")) == registry.entity
    assert await admin.split_entity(REF, "e", split) == await registry.split_entity(REF, "e", split)
    assert await admin.add_entity_alias(REF, "e", "Idi") == registry.entity
    assert await admin.explain_entity(REF, asked) == await registry.explain_entity(REF, asked)
    assert await admin.explain_entity(REF, EntityQuestion("Ida")) == NEW
    told = [("merge", "e", ("f", "g")), ("split", "e", split), ("split", "e", split), ("alias", "e", "Idi")]
    assert registry.done == [*told, ("explain", asked), ("explain", asked), ("explain", EntityQuestion("Ida"))]
    with pytest.raises(NameTaken, match="that of entity b") as caught:
        await admin.add_entity_alias(REF, "e", "Bo")
    assert caught.value.metadata["entity"] == "b"


async def test_filters_and_edits_travel_whole(admin, registry):
    wanted = MemoryFilter((FactType.WORLD,), (MemoryState.RETIRING,), TagLeaf(mode=TagMode.EXACT), "d", "e")
    await admin.list_memories(REF, wanted, PageRequest(5))
    await admin.edit_memory(REF, "m1", MemoryEdit(text="", tags=()))
    await admin.edit_memory(REF, "m1", MemoryEdit(context="c"))
    assert registry.done == [
        ("list", wanted, PageRequest(5)),
        ("edit", "m1", MemoryEdit(text="", tags=())),
        ("edit", "m1", MemoryEdit(context="c")),
    ]


async def test_operations_are_the_same_and_a_watch_that_is_left_ends(admin, registry):
    assert await admin.get_operation(REF, "o") == registry.operation
    assert (await admin.list_operations(REF, PageRequest())).rows == (registry.operation,)
    assert (await admin.list_operations(REF, PageRequest(), (OperationState.FAILED,))).rows == ()
    running = (OperationState.FAILED, OperationState.RUNNING)
    assert (await admin.list_operations(REF, PageRequest(), running)).rows == (registry.operation,)
    assert (await admin.cancel_operation(REF, "o")).state is OperationState.CANCELLED
    assert (await admin.retry_operation(REF, "o")).state is OperationState.PENDING
    watch = admin.watch_operation(REF, "o")
    states = [(await anext(watch)).state, (await anext(watch)).state]
    assert states == [OperationState.RUNNING, OperationState.SUCCEEDED]
    await watch.aclose()
    async with asyncio.timeout(30):
        while not registry.done:
            await asyncio.sleep(0.01)
    assert registry.done == [("watch ended",)]


async def test_a_page_that_would_not_fit_a_message_holds_fewer_rows(admin):
    page = await admin.list_chunks(REF, "d", PageRequest(50))
    assert 1 <= len(page.rows) <= 4
    assert page.next_after


@pytest.mark.parametrize("visible", [EVERYTHING, TagNot(TagLeaf(frozenset({"b"}), TagMode.ANY_STRICT))])
async def test_a_tag_test_travels_whole_to_where_things_are_read(admin, registry, visible):
    await admin.get_document(REF, "d", visible=visible)
    await admin.get_chunk(REF, "c", visible=visible)
    await admin.get_memory(REF, "m1", visible=visible)
    await admin.list_documents(REF, PageRequest(), visible=visible)
    await admin.list_chunks(REF, "d", PageRequest(1), visible=visible)
    assert registry.tests == [visible] * 5


async def test_answers_as_text_are_the_protos_json(registry):
    answer = json.loads(recall_answer_json(ANSWER))
    assert answer["memories"][0]["memory"]["text"] == MEMORY.text
    assert answer["omitted_count"] == 0
    assert json.loads(retain_answer_json(await Echo().retain(RetainRequest(REF, ()))))["replayed"] is True
    assert json.loads(bank_json(registry.bank))["id"] == "b"
    assert len(json.loads(banks_json([registry.bank] * 2))["banks"]) == 2
    assert json.loads(stats_json(registry.bank, BankStats(memories=3)))["stats"]["memory_count"] == "3"
    assert "\n" not in recall_answer_json(ANSWER)
