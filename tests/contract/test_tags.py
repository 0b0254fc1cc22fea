"""No RPC that returns text shows it past a tag test: every mode and group, arm and face (SPEC R20, case 29)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import grpc.aio
import pytest
import pytest_asyncio
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from hypothesis import HealthCheck, example, given, settings
from loopback import open_loopback
from qdrant_server import open_local_server
from tagged import EVERY_MODE, INDEXED, MARK, NOW, SUBSETS, TAGS, Marked, marks, shown, tag_tests, texts, write_marked

from bench.hashed import HashedEmbedder
from recallmesh import parts
from recallmesh.client import Client
from recallmesh.core.arm import Arm, ArmName, ArmQuery, Hit
from recallmesh.core.bank import BankRef
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.errors import MeshError
from recallmesh.core.memory import FactType
from recallmesh.core.recall import Recaller, RecallRequest
from recallmesh.core.tags import EVERYTHING, TagLeaf, TagMode, TagNot, TagTest, passes
from recallmesh.core.time import Window
from recallmesh.core.tuning import RecallTuning
from recallmesh.core.vectors import VectorQuery
from recallmesh.mesh import Assembly, open_assembly
from recallmesh.rpc.admin import host_admin
from recallmesh.rpc.arm import RemoteArm, host_arms
from recallmesh.rpc.channel import Channel
from recallmesh.rpc.codec.recall import recall_to_pb
from recallmesh.rpc.codec.tag import tag_test_to_pb
from recallmesh.rpc.recaller import RemoteRecaller, host_recaller
from recallmesh.rpc.vectors import RemoteVectors, host_vectors
from recallmesh.settings import Settings, load_settings
from recallmesh.tokens.bpe import BpeTokenCounter
from recallmesh.v1 import (
    arm_service_pb2,
    bank_service_pb2,
    document_service_pb2,
    document_service_pb2_grpc,
    embedder_service_pb2,
    entity_service_pb2,
    entity_service_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
    operation_service_pb2,
    recall_service_pb2,
    recall_service_pb2_grpc,
    reranker_service_pb2,
    retain_service_pb2,
    vector_service_pb2,
)
from recallmesh.vectors.qdrant import migrate_qdrant

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

REF = BankRef("lanterns")
QUERY = "Where does the lantern hang?"
MINE = TagLeaf(frozenset({"ash"}), TagMode.ANY_STRICT)

given_tests = given(tag_tests())
some = settings(max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
"""The same tests in every run: what is searched for is a leak that anyone can see again."""


class Heedless:
    """An arm that lags so far behind that it knows no tags: the ledger alone stands between a reader and a text."""

    def __init__(self, arm: Arm) -> None:
        self._arm = arm

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:
        return await self._arm.search(replace(query, tags=EVERYTHING))


@dataclass(frozen=True, repr=False)
class Bank:
    """A bank of marked texts, the mesh it is in, over the wire, and a recaller whose arms know no tags."""

    uid: str
    faces: Client
    marked: Marked
    assembly: Assembly
    channel: Channel
    heedless: Recaller

    def _repr_pretty_(self, printer, _cycle) -> None:
        """Show hypothesis the name alone: a failing example is about its test."""
        printer.text(REF.bank_id)


EMBEDDED, QDRANT = "embedded", "qdrant"
on_both = pytest.mark.parametrize("bank", [EMBEDDED, QDRANT], indirect=True)
"""For what reads vectors: with the embedded index, and with a Qdrant server's filters (local mode, real gRPC)."""


@asynccontextmanager
async def open_settings(folder: Path, vectors: str) -> AsyncIterator[Settings]:
    given = {"data": folder, "reranker": {"backend": "none"}}
    if vectors == EMBEDDED:
        yield load_settings(**given)
        return
    info = await HashedEmbedder().info()
    async with open_local_server() as server:
        await migrate_qdrant(server.url, fingerprint=info.fingerprint, dimensions=info.dimensions)
        yield load_settings(**given, semantic={"qdrant_url": server.url})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bank(request, tmp_path_factory) -> AsyncIterator[Bank]:
    folder = tmp_path_factory.mktemp("lanterns")
    async with (
        open_settings(folder, getattr(request, "param", EMBEDDED)) as mesh_settings,
        open_assembly(mesh_settings, frozenset(), embedder=HashedEmbedder()) as assembly,
    ):
        faces = Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
        uid = (await faces.admin.create_bank(REF)).uid
        marked = await write_marked(faces, f"sqlite:///{folder / 'ledger.db'}", REF)
        arms = await assembly.arms()
        opening = parts.open_recaller(
            mesh_settings,
            ledger=await assembly.ledger(),
            arms={name: Heedless(arm) for name, arm in arms.items()},
            embedder=await assembly.embedder(),
            reranker=None,
            tokens=BpeTokenCounter(),
            metrics=assembly.metrics,
            serves=True,
        )
        heedless = await assembly.stack.enter_async_context(opening)
        hosted = (host_recaller(faces.recaller), host_admin(faces.admin), host_arms(arms))
        async with open_loopback(*hosted, host_vectors(await assembly.vectors())) as channel:
            yield Bank(uid, faces, marked, assembly, channel, heedless)


async def test_the_bank_has_texts_of_every_kind_to_hide(bank: Bank) -> None:
    assert {frozenset(memory.tags) for memory in bank.marked.memories.values()} == set(SUBSETS)
    assert {memory.fact_type for memory in bank.marked.memories.values()} == set(FactType)
    mixed = [own for own, held in bank.marked.chunks.items() if len(held) > 1]
    assert any(0 < len(bank.marked.chunks[own] & bank.marked.shown(MINE)) < 2 for own in mixed)


# The arms, as indexes of their own


@on_both
@given_tests
@some
async def test_every_arm_and_the_vectors_find_what_passes_and_nothing_else(bank: Bank, test: TagTest) -> None:
    wanted = sorted(bank.marked.memories[mark].id for mark in bank.marked.passing(test))
    (vector,) = await (await bank.assembly.embedder()).embed((QUERY,), EmbedKind.QUERY)
    query = ArmQuery(bank.uid, QUERY, vector, Window(NOW - (NOW - NOW.replace(hour=0)), NOW), tags=test)
    for name in ArmName:
        hits = await RemoteArm(name, bank.channel).search(query)
        assert sorted(hit.memory_id for hit in hits) == wanted, name
    near = VectorQuery(bank.uid, vector, tags=test, limit=1000)
    (found,) = await RemoteVectors(bank.channel).search((near,))
    assert sorted(hit.memory_id for hit in found) == wanted


# Recall, with all that it can bring


def asking(test: TagTest, **more) -> RecallRequest:
    asked = {
        "query_time": NOW,
        "window": Window(NOW.replace(hour=0), NOW),
        "max_tokens": 1_000_000,
        "chunk_tokens": 1_000_000,
        "source_tokens": 1_000_000,
        "include_entities": True,
        "trace": True,
        "tuning": RecallTuning(reranking=False),
    }
    return RecallRequest(REF, QUERY, tags=test, **(asked | more))


@on_both
@given_tests
@some
@example(EVERYTHING)
async def test_a_recall_shows_all_that_passes_and_nothing_else(bank: Bank, test: TagTest) -> None:
    wire = recall_service_pb2_grpc.RecallServiceStub(bank.channel)
    answer = await wire.Recall(recall_to_pb(asking(test)))
    may = bank.marked.shown(test)
    assert shown(answer) == may
    assert marks(answer.chunks) == bank.marked.shown_chunks(test, may)
    seen = bank.marked.shown(test, FactType.OBSERVATION)
    assert texts(answer.source_facts) == bank.marked.sources(seen) & may
    assert marks(answer.trace) == may
    assert marks(answer) == bank.marked.allowed(test)


@given_tests
@some
@example(EVERYTHING)
async def test_arms_that_know_no_tags_show_nothing_more(bank: Bank, test: TagTest) -> None:
    told = await bank.heedless.recall(asking(test))
    assert marks(told) == bank.marked.allowed(test)
    # All were proposed, so it was the ledger's word that kept the others back; and places were left to none of them.
    assert len(told.trace.candidates) == len(bank.marked.memories)
    brief = await bank.heedless.recall(asking(test, trace=False, chunk_tokens=None))
    assert shown(brief) == bank.marked.shown(test)
    seen = bank.marked.shown(test, FactType.OBSERVATION)
    may = bank.marked.shown(test)
    assert marks(brief) == bank.marked.told(may | (bank.marked.sources(seen) & may), test)


@given_tests
@some
async def test_a_stream_shows_nothing_more_in_any_answer(bank: Bank, test: TagTest) -> None:
    told = [one async for one in RemoteRecaller(bank.channel).stream(asking(test, fact_types=(FactType.OBSERVATION,)))]
    assert told
    for progress in told:
        assert marks(progress) <= bank.marked.allowed(test, FactType.OBSERVATION)
    assert shown(told[-1].answer) == bank.marked.shown(test, FactType.OBSERVATION)


async def test_a_preferred_observation_brings_none_of_the_facts_that_are_hidden(bank: Bank) -> None:
    tuning = RecallTuning(reranking=False, prefer_observations=True)
    for test in EVERY_MODE:
        answer = await bank.faces.recaller.recall(asking(test, tuning=tuning))
        seen = bank.marked.shown(test, FactType.OBSERVATION)
        assert shown(answer) == bank.marked.shown(test) - bank.marked.sources(seen), test
        assert marks(answer) <= bank.marked.allowed(test)


# Reading what is there


@given_tests
@some
async def test_lists_and_single_readings_show_nothing_more(bank: Bank, test: TagTest) -> None:
    memories = memory_service_pb2_grpc.MemoryServiceStub(bank.channel)
    documents = document_service_pb2_grpc.DocumentServiceStub(bank.channel)
    tags = tag_test_to_pb(test)
    listed = memory_service_pb2.ListMemoriesRequest(bank_id=REF.bank_id, page_size=1000, tags=tags)
    assert marks(await memories.ListMemories(listed)) == bank.marked.told(bank.marked.shown(test), test)
    for mark in list(bank.marked.memories)[::5]:
        memory = bank.marked.memories[mark]
        one = memory_service_pb2.GetMemoryRequest(bank_id=REF.bank_id, memory_id=memory.id, tags=tags)
        may = mark in bank.marked.shown(test)
        assert await said(memories.GetMemory, one) == (bank.marked.told({mark}, test) if may else {"NOT_FOUND"})
        past = memory_service_pb2.GetMemoryHistoryRequest(bank_id=REF.bank_id, memory_id=memory.id, tags=tags)
        told = {mark} | bank.marked.sources([mark]) if may else {"NOT_FOUND"}
        assert await said(memories.GetMemoryHistory, past) == told
    titles = {title for title, document in bank.marked.documents.items() if passes(test, document.tags)}
    listed = document_service_pb2.ListDocumentsRequest(bank_id=REF.bank_id, page_size=1000, tags=tags)
    assert marks(await documents.ListDocuments(listed)) == titles
    for title in list(bank.marked.documents)[::5]:
        document_id = bank.marked.documents[title].id
        one = document_service_pb2.GetDocumentRequest(bank_id=REF.bank_id, document_id=document_id, tags=tags)
        assert await said(documents.GetDocument, one) == ({title} if title in titles else {"NOT_FOUND"})
    for own, held in bank.marked.chunks.items():
        one = document_service_pb2.GetChunkRequest(bank_id=REF.bank_id, chunk_id=bank.marked.chunk_ids[own], tags=tags)
        may = own in bank.marked.shown_chunks(test) or tags is None
        assert await said(documents.GetChunk, one) == ({own, *held} if may else {"NOT_FOUND"})
    listed = set()
    for document in bank.marked.documents.values():
        all_of = document_service_pb2.ListChunksRequest(bank_id=REF.bank_id, document_id=document.id, tags=tags)
        listed |= await said(documents.ListChunks, all_of)
    assert listed == bank.marked.shown_chunks(test)
    for mark, (attachment_id, holder) in list(bank.marked.attachments.items())[::5]:
        one = document_service_pb2.GetAttachmentRequest(bank_id=REF.bank_id, attachment_id=attachment_id, tags=tags)
        may = holder in bank.marked.passing(test) or tags is None
        assert await said(documents.GetAttachment, one) == ({mark} if may else {"NOT_FOUND"})


async def said(call, request) -> set[str]:
    """Return the marks of the answer, or the code of the error, which has none."""
    try:
        done = call(request)
        answer = [piece async for piece in done] if hasattr(done, "__aiter__") else await done
    except (grpc.aio.AioRpcError, MeshError) as error:
        told = error
    else:
        return marks(answer)
    assert marks(str(told)) == set()
    return {told.code().name}


async def test_a_mention_comes_under_a_name_of_its_own_memory_alone(bank: Bank) -> None:
    ref = memory_service_pb2.GetMemoryRequest(bank_id=REF.bank_id)
    memories = memory_service_pb2_grpc.MemoryServiceStub(bank.channel)
    for mark, memory in list(bank.marked.memories.items())[1:9]:
        ref.memory_id = memory.id
        ref.ClearField("tags")
        whole = (await memories.GetMemory(ref)).memory.mentions
        assert len(whole) == len(memory.mentions) == 3
        assert len(marks(whole)) > 1
        ref.tags.CopyFrom(tag_test_to_pb(TagLeaf(frozenset(memory.tags), TagMode.EXACT)))
        told = (await memories.GetMemory(ref)).memory.mentions
        assert sorted((one.name, *one.aliases) for one in told) == [(f"Keeper {mark}",), ("Lantern",)]


async def test_no_phrase_of_an_arm_calls_anybody_what_only_the_hidden_say(bank: Bank) -> None:
    calls = [mark for mark, memory in bank.marked.memories.items() if memory.tags == ("ash",)]
    seen = set()
    for mark in calls:
        mentions = bank.marked.memories[mark].mentions
        for name in (name for mention in mentions for name in (mention.name, *mention.aliases)):
            asked = f"Where does {name} hang the lantern?"
            for test in (EVERYTHING, TagLeaf(frozenset({"ash"}), TagMode.EXACT)):
                answer = await bank.heedless.recall(replace(asking(test), query=asked))
                phrases = {phrase for one in answer.trace.candidates for phrase in one.because.values()}
                assert phrases
                if test is EVERYTHING:
                    seen |= marks(phrases) - marks(asked)
                else:
                    assert marks(answer) - marks(asked) <= bank.marked.allowed(test)
    assert not seen <= bank.marked.allowed(TagLeaf(frozenset({"ash"}), TagMode.EXACT))


async def test_no_error_tells_what_is_hidden(bank: Bank) -> None:
    hidden = replace(asking(TagNot(EVERYTHING)), query="x " * 501)
    with pytest.raises(MeshError) as caught:
        await bank.faces.recaller.recall(hidden)
    assert not MARK.search(str(caught.value))


# That no call is forgotten

TESTED = {
    "ArmService/Search",
    "VectorService/SearchVectors",
    "RecallService/Recall",
    "RecallService/RecallStream",
    "MemoryService/GetMemory",
    "MemoryService/GetMemoryHistory",
    "MemoryService/ListMemories",
    "DocumentService/GetDocument",
    "DocumentService/ListDocuments",
    "DocumentService/GetChunk",
    "DocumentService/ListChunks",
    "DocumentService/GetAttachment",
}
"""Calls with a tag test that a test above holds to it."""
OWNERS = {
    "MemoryService/UpdateMemory",
    "MemoryService/InvalidateMemory",
    "MemoryService/RestoreMemory",
}
"""Calls that return texts and take no test: they change or carry off what they name, and are the owner's alone."""
SERVICES = [
    service
    for file in (
        arm_service_pb2,
        bank_service_pb2,
        document_service_pb2,
        embedder_service_pb2,
        entity_service_pb2,
        memory_service_pb2,
        operation_service_pb2,
        recall_service_pb2,
        reranker_service_pb2,
        retain_service_pb2,
        vector_service_pb2,
    )
    for service in file.DESCRIPTOR.services_by_name.values()
]
TEXTS = {"Memory", "Chunk", "Document", "MemoryVersion", "TraceCandidate", "GetAttachmentResponse"}
"""The messages that hold what was retained."""


def within(message: Descriptor, seen: set[str]) -> set[str]:
    """Return the names of all messages that a message can hold."""
    if message.name not in seen:
        seen.add(message.name)
        for field in message.fields:
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                within(field.message_type, seen)
    return seen


def calls(has) -> set[str]:
    return {f"{service.name}/{method.name}" for service in SERVICES for method in service.methods if has(method)}


def takes_a_test(method: MethodDescriptor) -> bool:
    return "TagTest" in within(method.input_type, set()) and not method.output_type.name.startswith("Retain")


def returns_texts(method: MethodDescriptor) -> bool:
    return bool(TEXTS & within(method.output_type, set()))


async def test_every_call_that_returns_text_is_known_here() -> None:
    assert calls(takes_a_test) == TESTED
    assert calls(returns_texts) - calls(takes_a_test) == OWNERS
    assert {
        name for service in SERVICES for method in service.methods for name in within(method.output_type, set())
    } >= TEXTS


async def test_what_names_entities_and_tags_alone_shows_no_text(bank: Bank) -> None:
    entities = entity_service_pb2_grpc.EntityServiceStub(bank.channel)
    memories = memory_service_pb2_grpc.MemoryServiceStub(bank.channel)
    listed = await entities.ListEntities(entity_service_pb2.ListEntitiesRequest(bank_id=REF.bank_id, page_size=1000))
    assert "hangs in the yard" not in str(listed)
    tags = await memories.ListTags(memory_service_pb2.ListTagsRequest(bank_id=REF.bank_id))
    assert [one.tag for one in tags.tags] == sorted(TAGS)
    assert set(INDEXED) < set(ArmName)
