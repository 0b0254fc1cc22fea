"""Administration does and refuses the same over the wire as in process: a bank's life is led twice and compared."""

import asyncio
import inspect
import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from datetime import timedelta, timezone
from pathlib import Path

import pytest
from loopback import open_loopback, until_ready
from unit.retain_fakes import NOW, REF, Bench, WordCounter, open_bench

from recallmesh.bank.admin import LedgerAdmin
from recallmesh.core.admin import Admin
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import (
    BankConfig,
    BankRef,
    ConsolidationTuning,
    ExtractionMode,
    LabelKey,
    ObservationScope,
    RetainTuning,
)
from recallmesh.core.comparison import IndexComparison
from recallmesh.core.defense import DefenseAction, DefenseDetector, DefenseViolation, SecurityEvent, Severity
from recallmesh.core.entity_ledger import EntitySplit
from recallmesh.core.errors import (
    AttachmentNotFound,
    BankExists,
    BankNotFound,
    ChunkNotFound,
    ConflictingWrite,
    DocumentNotFound,
    EntityNotFound,
    InvalidArgument,
    MemoryNotFound,
    MeshError,
    NameTaken,
    NotReady,
    OperationNotFound,
    StoreUnavailable,
)
from recallmesh.core.event import FROM_THE_START, Event, EventDraft, EventFilter, EventKind, WebhookDraft, decided
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.likeness import Rule
from recallmesh.core.memory import FactType, MemoryState
from recallmesh.core.operation import OperationKind, OperationState
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.resolution import EntityQuestion
from recallmesh.core.retain import NamedEntity, UpdateMode
from recallmesh.core.tags import EVERYTHING, TagLeaf, TagMode
from recallmesh.core.tuning import BoostLevel, MinScores, RecallTuning
from recallmesh.rpc.admin import RemoteAdmin, host_admin

ARMS = (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH)
METHODS = {name for name, _ in inspect.getmembers(Admin, inspect.isfunction) if not name.startswith("_")}
NOBODY = BankRef("nobody")
PAST = "edit: text, tags, context"
BEGUN_S = 0.5
FOUND = DefenseViolation(DefenseDetector.SECRET, DefenseAction.REDACT, Severity.HIGH, "a key")
AWAY = timezone(timedelta(hours=5, minutes=30))
CONFIG = BankConfig(
    RecallTuning(
        arms=frozenset({ArmName.KEYWORD, ArmName.GRAPH}),
        reranking=False,
        boosts={ArmName.GRAPH: BoostLevel.HIGH},
        min_scores=MinScores(semantic=0.25, final=0.0),
        recency_alpha=0.0,
    ),
    RetainTuning(ExtractionMode.VERBATIM, 128, ("butler",), "Remember boats.", language="de"),
    ConsolidationTuning(enabled=True, scope=ObservationScope.CUSTOM, custom_scopes=(("a", "b"), ())),
    labels=(LabelKey("priority", ("high", "low"), "how urgent", write_tags=True), LabelKey("team", ("north",))),
)


def offsets(given: object) -> list[str]:
    """Return the time zones of all moments in order: moments of different offsets can be equal."""
    return re.findall(r"tzinfo=[\w.]+(?:\([^)]*\)+)?", repr(given))


class Teller:
    """Calls administration and keeps what came of each call: what it gave, or as what it failed."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self.told: list[tuple[str, object]] = []

    async def __call__(self, method: str, *arguments, **named):
        """Make a call that succeeds."""
        given = await getattr(self._admin, method)(*arguments, **named)
        self.told.append((method, (given, offsets(given))))
        return given

    async def refused(self, error: type[MeshError], method: str, *arguments, **named) -> None:
        """Make a call that fails."""
        with pytest.raises(error) as caught:
            await self._called(method, *arguments, **named)
        failure = caught.value
        metadata = {key: value for key, value in failure.metadata.items() if key != "request_id"}
        self.told.append((method, (type(failure), failure.message, metadata, getattr(failure, "violations", ()))))

    async def every(self, method: str, *arguments) -> tuple:
        """Read a whole list, a row a page: the keys to go on from are the caller's affair, and not compared."""
        rows, after = [], ""
        while True:
            page: Page = await getattr(self._admin, method)(*arguments, PageRequest(1, after))
            assert len(page.rows) <= 1
            rows, after = [*rows, *page.rows], page.next_after
            if not after:
                break
        whole: Page = await getattr(self._admin, method)(*arguments, PageRequest(1000))
        assert (list(whole.rows), whole.next_after) == (rows, "")
        self.told.append((method, (rows, offsets(rows))))
        return tuple(rows)

    async def watch(self, operation_id: str, change: Callable[[], Awaitable[object]]) -> list[str]:
        """Watch an operation to its end; ``change`` is made when the first state was seen."""
        seen = []
        async for operation in self._admin.watch_operation(REF, operation_id):
            seen.append(operation)
            if len(seen) == 1:
                await change()
        self.told.append(("watch_operation", seen))
        return [operation.state.value for operation in seen]

    async def happened(
        self,
        count: int,
        kinds: tuple[EventKind, ...] = (),
        *,
        after: str = "",
        change: Callable[[], Awaitable[object]] | None = None,
    ) -> list[Event]:
        """Watch for so many events; ``change`` is made when the watch has begun."""
        watching = asyncio.create_task(self._watched(count, kinds, after))
        if change is not None:
            # When a watch from now on has begun, only what it tells can say.
            await asyncio.sleep(BEGUN_S)
            await change()
        seen = await watching
        self.told.append(("watch_events", seen))
        return seen

    async def _watched(self, count: int, kinds: tuple[EventKind, ...], after: str) -> list[Event]:
        seen: list[Event] = []
        async with asyncio.timeout(20), aclosing(self._admin.watch_events(REF, kinds, after)) as watch:
            async for event in watch:
                seen.append(event)
                if len(seen) == count:
                    break
        return seen

    async def _called(self, method: str, *arguments, **named) -> None:
        if method.startswith("watch_") or method == "export_bank":
            await anext(getattr(self._admin, method)(*arguments))
        else:
            await getattr(self._admin, method)(*arguments, **named)


async def banks(tell: Teller, _bench: Bench) -> None:
    await tell("get_bank", REF)
    for bank_id in ("b2", "b3"):
        # The uid is made at random, so what is compared is not what was given but what is known of it afterwards.
        made = await tell._admin.create_bank(BankRef(bank_id), name=f"Bank {bank_id}", config=CONFIG)
        assert (made.ref, made.name, made.config, made.version) == (BankRef(bank_id), f"Bank {bank_id}", CONFIG, 1)
        assert await tell._admin.get_bank(BankRef(bank_id)) == made
        assert made in (await tell._admin.list_banks("default", PageRequest())).rows
        tell.told.append(("create_bank", (made.ref, made.name, made.created, made.config, made.version)))
    await tell.refused(BankExists, "create_bank", REF)
    await tell.refused(InvalidArgument, "create_bank", BankRef("no good"))
    await tell.refused(InvalidArgument, "create_bank", BankRef("b4"), name="x" * 1000)
    wrong = BankConfig(labels=(LabelKey("a:b", ()),))
    await tell.refused(InvalidArgument, "create_bank", BankRef("b4"), config=wrong)
    await tell("delete_bank", BankRef("b2"))
    await tell("delete_bank", BankRef("b3"))
    await tell.refused(BankNotFound, "delete_bank", BankRef("b3"))
    assert [bank.ref for bank in await tell.every("list_banks", "default")] == [REF]
    changed = await tell("update_bank", REF, name="Boats", config=CONFIG, version=1)
    assert (changed.name, changed.config, changed.version) == ("Boats", CONFIG, 2)
    assert (await tell("update_bank", REF, name="")).config == CONFIG
    assert (await tell("update_bank", REF, config=BankConfig())).name == ""
    await tell.refused(ConflictingWrite, "update_bank", REF, name="x", version=1)
    for method in ("get_bank", "update_bank", "bank_stats"):
        await tell.refused(BankNotFound, method, NOBODY)


async def documents(tell: Teller, bench: Bench) -> None:
    said = NOW.astimezone(AWAY)
    named = (NamedEntity("Ida Berg", "person"), NamedEntity("Oslo", "place"))
    await bench.keep(
        "Ida moved to Oslo.",
        document_id="d1",
        entities=named,
        tags=("a", "b"),
        metadata={"k": "v"},
        context="a letter",
        time=said,
    )
    await bench.keep("She likes it.", document_id="d1", entities=named[:1], update_mode=UpdateMode.APPEND, time=said)
    await bench.keep("No time at all.", document_id="d2", tags=("b",), timeless=True)
    assert (await tell("get_document", REF, "d1")).chunk_count == 2
    assert [document.id for document in await tell.every("list_documents", REF)] == ["d1", "d2"]
    chunks = await tell.every("list_chunks", REF, "d1")
    assert [chunk.number for chunk in chunks] == [0, 1]
    assert await tell("get_chunk", REF, chunks[1].id) == chunks[1]
    assert (await tell("bank_stats", REF)).memories == 3
    await documents_past_a_test(tell, chunks[0].id, chunks[1].id)
    begun = await tell("reprocess_document", REF, "d1")
    assert (begun.kind, begun.total) == (OperationKind.REPROCESS, 2)
    await tell.refused(ChunkNotFound, "get_chunk", REF, "c")
    await tell.refused(AttachmentNotFound, "get_attachment", REF, "0" * 64)
    for method in ("get_document", "delete_document", "reprocess_document"):
        await tell.refused(DocumentNotFound, method, REF, "d9")
    await tell.refused(DocumentNotFound, "list_chunks", REF, "d9", PageRequest())
    assert await tell("delete_document", REF, "d2") == 1
    await tell.refused(DocumentNotFound, "get_document", REF, "d2")


async def documents_past_a_test(tell: Teller, tagged: str, bare: str) -> None:
    a, z = (TagLeaf(frozenset({tag}), TagMode.ANY_STRICT) for tag in "az")
    assert (await tell("get_document", REF, "d1", visible=a)).id == "d1"
    await tell.refused(DocumentNotFound, "get_document", REF, "d1", visible=z)
    listed = await tell("list_documents", REF, PageRequest(10), visible=a)
    assert [document.id for document in listed.rows] == ["d1"]
    assert (await tell("get_chunk", REF, tagged, visible=a)).id == tagged
    await tell.refused(ChunkNotFound, "get_chunk", REF, bare, visible=a)
    await tell.refused(ChunkNotFound, "get_chunk", REF, tagged, visible=z)
    listed = await tell("list_chunks", REF, "d1", PageRequest(10), visible=a)
    assert [chunk.id for chunk in listed.rows] == [tagged]
    assert (await tell("list_chunks", REF, "d1", PageRequest(10), visible=z)).rows == ()


async def moves(tell: Teller, bench: Bench) -> None:
    await documents(tell, bench)
    await tell("update_bank", REF, config=CONFIG)
    hidden, other, *_ = await bench.memories()
    await tell("invalidate_memory", REF, hidden.id)
    await tell("edit_memory", REF, other.id, MemoryEdit(text="Ola keeps two sheep."))
    data = await exported(tell, REF)
    copy = BankRef("copy")
    made = await tell._admin.create_bank(copy)
    lines = data.splitlines(keepends=True)
    for wrong in (b"Dear diary,\n", b"".join(lines[:-1]), b"".join((*lines[:-2], lines[-1])), data[:-10]):
        await tell.refused(InvalidArgument, "import_bank", copy, pieces(wrong))
        assert (await tell("bank_stats", copy)).documents == 0
    assert (await tell("import_bank", copy, pieces(data))).memories == 2
    moved = await tell._admin.get_bank(copy)
    assert (moved.uid, moved.config, moved.version) == (made.uid, CONFIG, 2)
    assert (await exported(tell, copy)).splitlines()[1:] == data.splitlines()[1:]
    for method, *arguments in (("list_documents",), ("list_chunks", "d1"), ("list_memories", MemoryFilter())):
        assert await tell.every(method, copy, *arguments) == await tell.every(method, REF, *arguments)
    assert await tell.every("list_entities", copy) == await tell.every("list_entities", REF)
    assert await tell.every("list_tags", copy) == await tell.every("list_tags", REF)
    past = await tell.every("memory_history", REF, other.id)
    assert len(past) == 2
    assert await tell.every("memory_history", copy, other.id) == past
    waiting = await bench.ledger.lease_outbox("w", ArmName.GRAPH, limit=100, lease=timedelta(minutes=1), now=NOW)
    assert {row.memory_id for row in waiting if row.bank_uid == made.uid} == {
        memory.id for memory in await tell.every("list_memories", copy, MemoryFilter(states=(MemoryState.ACTIVE,)))
    }
    await tell.refused(NotReady, "import_bank", copy, pieces(data))
    await tell.refused(BankNotFound, "export_bank", NOBODY)
    await tell.refused(BankNotFound, "import_bank", NOBODY, pieces(data))


async def exported(tell: Teller, ref: BankRef) -> bytes:
    data = b"".join([piece async for piece in tell._admin.export_bank(ref)])
    tell.told.append(("export_bank", data.splitlines()[1:]))  # the header says when
    return data


async def pieces(data: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(data), 1000):  # cut anywhere
        yield data[begin : begin + 1000]


async def memories(tell: Teller, bench: Bench) -> None:
    await documents(tell, bench)
    first, second = (memory.id for memory in await bench.memories())
    memory = await tell("get_memory", REF, first)
    assert memory.mentioned.utcoffset() == timedelta(hours=5, minutes=30)
    assert {one.id for one in await tell.every("list_memories", REF, MemoryFilter())} == {first, second}
    edited = await tell("edit_memory", REF, first, MemoryEdit(text="Ida moved to Bergen.", tags=(), context=""))
    assert (edited.text, edited.tags, edited.context, edited.version) == ("Ida moved to Bergen.", (), "", 2)
    assert (await tell("edit_memory", REF, second, MemoryEdit(tags=("a", "c")))).text == "She likes it."
    await tell.refused(InvalidArgument, "edit_memory", REF, first, MemoryEdit(text=" ", tags=("",)))
    for _ in range(2):
        assert (await tell("invalidate_memory", REF, first)).state is MemoryState.INVALIDATED
    ida, oslo = sorted(await tell.every("list_entities", REF), key=lambda entity: entity.name)
    assert (await tell("get_entity", REF, ida.id)).name == "Ida Berg"
    for visible, names in ((EVERYTHING, ["Ida Berg"]), (TagLeaf(frozenset({"c"}), TagMode.ANY_STRICT), [])):
        told = await tell("get_memory", REF, second, visible=visible)
        assert [mention.name for mention in told.mentions] == names
    await tell.refused(MemoryNotFound, "get_memory", REF, second, visible=TagLeaf(mode=TagMode.EXACT))
    past = await tell.every("memory_history", REF, first)
    assert [(one.version, one.reason) for one in past] == [(3, "edit: invalidated"), (2, PAST), (1, "retain")]
    assert [one.text for one in past[1:]] == ["Ida moved to Bergen.", memory.text]
    unlike = TagLeaf(frozenset({"z"}), TagMode.ANY_STRICT)
    await tell.refused(MemoryNotFound, "memory_history", REF, first, PageRequest(), visible=unlike)
    for wanted, count in (
        (MemoryFilter(states=(MemoryState.INVALIDATED,)), 1),
        (MemoryFilter(fact_types=(FactType.EXPERIENCE,)), 0),
        (MemoryFilter(tags=TagLeaf(frozenset({"c"}), TagMode.ALL_STRICT)), 1),
        (MemoryFilter(tags=TagLeaf(mode=TagMode.EXACT)), 1),
        (MemoryFilter(document_id="d1", entity_id=ida.id), 2),
        (MemoryFilter(entity_id=oslo.id), 1),
        (MemoryFilter(document_id="d2"), 0),
    ):
        assert len(await tell.every("list_memories", REF, wanted)) == count, wanted
    for _ in range(2):
        assert (await tell("restore_memory", REF, first)).state is MemoryState.ACTIVE
    assert [(one.tag, one.memory_count) for one in await tell.every("list_tags", REF)] == [("a", 1), ("c", 1)]
    await tell("delete_memory", REF, second)
    for method in ("get_memory", "invalidate_memory", "restore_memory", "delete_memory"):
        await tell.refused(MemoryNotFound, method, REF, second)
    await tell.refused(MemoryNotFound, "edit_memory", REF, second, MemoryEdit(text="x"))
    await tell.refused(MemoryNotFound, "memory_history", REF, second, PageRequest())
    await tell.refused(EntityNotFound, "get_entity", REF, "e")
    await tell("bank_stats", REF)


async def entities(tell: Teller, bench: Bench) -> None:
    chen, cole, bo, ida = (NamedEntity(name, "person") for name in ("Alice Chen", "Alice Cole", "Bo Dahl", "Ida Moe"))
    label = NamedEntity("team:north", "label")
    await bench.ledger.update_bank(REF, name=None, config=CONFIG, version=0)
    for text, *named in (("one", chen, bo), ("two", chen, ida), ("three", cole, label), ("four", chen)):
        await bench.keep(text, entities=tuple(named), time=NOW)
    held = {entity.name: entity for entity in await tell.every("list_entities", REF)}
    of_text = {memory.text: memory.id for memory in await bench.memories()}
    # Explained: new, by neighbours, in doubt, exact.
    short = EntityQuestion("Alice C.", "person", ("bo dahl", "Nobody"), NOW)
    explained = await tell("explain_entity", REF, short)
    assert explained.entity == held["Alice Chen"]
    assert [(one.name, one.matched, one.rule) for one in explained.verdict.comparisons] == [
        ("Alice Chen", True, Rule.INITIAL),
        ("Alice Cole", False, Rule.INITIAL),
    ]
    assert explained.verdict.comparisons[0].neighbour_score == pytest.approx(0.1155)
    doubtful = await tell("explain_entity", REF, EntityQuestion("Alice C.", "person"))
    assert (doubtful.entity, {one.rule for one in doubtful.verdict.comparisons}) == (None, {Rule.AS_NEAR})
    assert (await tell("explain_entity", REF, EntityQuestion("ALICE  CHEN"))).entity == held["Alice Chen"]
    assert (await tell("explain_entity", REF, EntityQuestion("team:nort", "label"))).entity is None
    wrong = EntityQuestion(" ", "x" * 300, ("", "y" * 300))
    await tell.refused(InvalidArgument, "explain_entity", REF, wrong)
    # Named.
    named = await tell("add_entity_alias", REF, held["Bo Dahl"].id, "Bobo")
    assert named.aliases == ("Bobo",)
    await tell.refused(NameTaken, "add_entity_alias", REF, held["Ida Moe"].id, "bobo")
    await tell.refused(InvalidArgument, "add_entity_alias", REF, held["Ida Moe"].id, " ")
    await tell.refused(NotReady, "add_entity_alias", REF, held["team:north"].id, "north")
    # Split.
    split = EntitySplit("Alice C.", (of_text["one"], of_text["two"]))
    for _ in range(2):
        old, new = await tell("split_entity", REF, held["Alice Chen"].id, split)
        assert (old.memory_count, new.memory_count, old.apart, new.apart) == (1, 2, ("alice c",), ("alice chen",))
    assert (await tell("explain_entity", REF, EntityQuestion("Alice C.", "person"))).entity == new
    await tell.refused(NotReady, "split_entity", REF, old.id, EntitySplit("Ally", (of_text["four"],)))
    await tell.refused(NotReady, "split_entity", REF, old.id, EntitySplit("Ally", (of_text["three"],)))
    await tell.refused(NameTaken, "split_entity", REF, old.id, EntitySplit("Ida Moe", (of_text["four"],)))
    await tell.refused(InvalidArgument, "split_entity", REF, old.id, EntitySplit("", (), ("",)))
    # Merged.
    for _ in range(2):
        one = await tell("merge_entities", REF, held["Alice Cole"].id, (new.id, old.id))
    assert (one.memory_count, set(one.aliases)) == (4, {"Alice C.", "Alice Chen"})
    assert await tell("get_entity", REF, new.id) == one
    assert {entity.name for entity in await tell.every("list_entities", REF)} == {
        "Alice Cole", "Bo Dahl", "Ida Moe", "team:north",
    }  # fmt: skip
    assert {memory.version for memory in await bench.memories()} == {2, 3, 4}
    await tell.refused(InvalidArgument, "merge_entities", REF, one.id, ())
    await tell.refused(InvalidArgument, "merge_entities", REF, one.id, (one.id,))
    await tell.refused(InvalidArgument, "merge_entities", REF, one.id, ("x",) * 101)
    await tell.refused(EntityNotFound, "merge_entities", REF, one.id, ("e",))
    await tell.refused(NotReady, "merge_entities", REF, one.id, (held["team:north"].id,))


async def operations(tell: Teller, bench: Bench) -> None:
    kept = [await bench.keep(text, wait=False) for text in ("Later.", "Later still.")]
    one, other = (answer.operation_id for answer in kept)
    assert (await tell("get_operation", REF, one)).state.value == "pending"
    assert [operation.id for operation in await tell.every("list_operations", REF)] == [one, other]
    assert await tell("retry_operation", REF, one) == await tell("get_operation", REF, one)
    assert await tell.watch(one, lambda: tell("cancel_operation", REF, one)) == ["pending", "cancelled"]
    assert (await tell("cancel_operation", REF, one)).state.value == "cancelled"
    assert await tell.watch(one, nothing) == ["cancelled"]
    assert (await tell("retry_operation", REF, one)).state.value == "pending"
    asked = await tell("consolidate", REF)
    assert (asked.kind, asked.state) == (OperationKind.CONSOLIDATE, OperationState.PENDING)
    assert await tell("consolidate", REF) == asked
    await tell("cancel_operation", REF, asked.id)
    await tell.refused(BankNotFound, "consolidate", NOBODY)
    for error, memory_ids, state in (("the model is gone", (), "failed"), ("", ("m1", "m2"), "succeeded")):
        job = await bench.ledger.lease_job("w", (OperationKind.RETAIN,), lease=timedelta(minutes=1), now=NOW)
        assert (await tell("cancel_operation", REF, job.operation.id)).state.value == "running"
        await bench.ledger.finish_job(job.operation.id, "w", memory_ids=memory_ids, error=error, at=NOW)
        finished = await tell("get_operation", REF, job.operation.id)
        assert (finished.state.value, finished.error, finished.memory_ids) == (state, error, memory_ids)
        assert (await tell("list_operations", REF, PageRequest(), (OperationState(state),))).rows == (finished,)
    assert (await tell("list_operations", REF, PageRequest(), (OperationState.RUNNING,))).rows == ()
    for method in ("get_operation", "cancel_operation", "retry_operation", "watch_operation"):
        await tell.refused(OperationNotFound, method, REF, "o")


async def indexes(tell: Teller, bench: Bench) -> None:
    await bench.keep("Ida sails.", "Ida rows.")
    keyword, graph = bench.arms[ArmName.KEYWORD], bench.arms[ArmName.GRAPH]
    lost, _ = sorted(keyword.entries)
    del keyword.entries[lost]
    graph.down = True
    for glance in (False, True):
        found = await tell("verify_bank", REF, glance=glance)
        assert found == (
            IndexComparison(ArmName.SEMANTIC, shown=2, indexed=2),
            IndexComparison(ArmName.KEYWORD, shown=2, indexed=1, missing=1, examples=(lost,)),
            IndexComparison(ArmName.GRAPH, shown=2, error="the arm does not answer"),
        )
    begun = await tell("repair_bank", REF)
    assert (begun.kind, begun.state.value, begun.total) == (OperationKind.REPAIR, "pending", 2)
    assert await tell("repair_bank", REF) == begun
    await tell("cancel_operation", REF, begun.id)
    assert (await tell("repair_bank", REF)).id != begun.id


async def events(tell: Teller, bench: Bench) -> None:
    for text in ("Ida sails.", "Ida rows."):
        await bench.keep(text, document_id=text[4])
    decision = SecurityEvent("s1", NOW, FOUND, "d", 3, "urn:receipt:1")
    drafts = (*decided((decision,)), EventDraft(EventKind.CONSOLIDATION_COMPLETED, operation_id="o", memory_count=2))
    await bench.ledger.record_events(bench.bank.uid, drafts, NOW)
    told = await tell.every("list_events", REF, EventFilter())
    assert [event.kind for event in told] == [
        EventKind.RETAIN_COMPLETED,
        EventKind.RETAIN_COMPLETED,
        EventKind.MEMORY_DEFENSE_TRIGGERED,
        EventKind.CONSOLIDATION_COMPLETED,
    ]
    assert told[2].security == decision
    assert await tell.every("list_events", REF, EventFilter((EventKind.CONSOLIDATION_COMPLETED,), NOW)) == told[3:]
    assert await tell.every("list_events", REF, EventFilter(start=NOW + timedelta(days=1))) == ()
    assert await tell.every("list_security_events", REF) == (decision,)
    assert await tell.happened(4, after=FROM_THE_START) == list(told)
    assert await tell.happened(2, after=told[1].id) == list(told[2:])
    assert await tell.happened(1, (EventKind.CONSOLIDATION_COMPLETED,), after=told[0].id) == [told[3]]
    [new] = await tell.happened(1, change=lambda: bench.keep("Ida swims.", document_id="w"))
    assert new.document_ids == ("w",)
    await tell.refused(InvalidArgument, "watch_events", REF, (), "7")
    await bench.ledger.forget_events(NOW + timedelta(days=1), limit=2)
    await tell.refused(NotReady, "watch_events", REF, (), told[0].id)


async def webhooks(tell: Teller, _bench: Bench) -> None:
    draft = WebhookDraft(
        "https://example.com/x", "sixteen bytes ok", (EventKind.RETAIN_COMPLETED,), timedelta(seconds=3)
    )
    made = await tell("create_webhook", REF, draft)
    assert (made.url, made.kinds, made.timeout, made.created) == (draft.url, draft.kinds, draft.timeout, NOW)
    other = await tell("create_webhook", REF, WebhookDraft("https://example.com/y", "whsec_" + "A" * 32))
    assert await tell.every("list_webhooks", REF) == (made, other)
    for url, key, seconds in (
        ("http://example.com/x", "sixteen bytes ok", 3),
        ("https://127.0.0.1/x", "sixteen bytes ok", 3),
        ("https://example.com/x", "fifteen bytes..", 3),
        ("https://example.com/x", "whsec_AAAA", 3),
        ("https://example.com/x", "whsec_?", 3),
        ("https://example.com/x", "x" * 257, 3),
        ("https://example.com/x", "sixteen bytes ok", 31),
        ("https://example.com/x", "sixteen bytes ok", 0),
    ):
        with_fault = WebhookDraft(url, key, timeout=timedelta(seconds=seconds))
        await tell.refused(InvalidArgument, "create_webhook", REF, with_fault)
    for _ in range(2):
        await tell("delete_webhook", REF, made.id)
    assert await tell.every("list_webhooks", REF) == (other,)


async def nothing() -> None:
    pass


async def nobody(tell: Teller, _bench: Bench) -> None:
    page = PageRequest()
    for method, *arguments in (
        ("verify_bank",),
        ("repair_bank",),
        ("get_document", "d"),
        ("list_documents", page),
        ("delete_document", "d"),
        ("reprocess_document", "d"),
        ("get_chunk", "c"),
        ("get_attachment", "a"),
        ("list_chunks", "d", page),
        ("get_memory", "m"),
        ("list_memories", MemoryFilter(), page),
        ("edit_memory", "m", MemoryEdit(text="x")),
        ("invalidate_memory", "m"),
        ("restore_memory", "m"),
        ("delete_memory", "m"),
        ("list_tags", page),
        ("get_entity", "e"),
        ("list_entities", page),
        ("merge_entities", "e", ("f",)),
        ("split_entity", "e", EntitySplit("x", ("m",))),
        ("add_entity_alias", "e", "x"),
        ("explain_entity", EntityQuestion("x")),
        ("get_operation", "o"),
        ("list_operations", page),
        ("watch_operation", "o"),
        ("cancel_operation", "o"),
        ("retry_operation", "o"),
        ("list_events", EventFilter(), page),
        ("watch_events",),
        ("list_security_events", page),
        ("create_webhook", WebhookDraft("https://example.com/x", "sixteen bytes ok")),
        ("list_webhooks", page),
        ("delete_webhook", "w"),
    ):
        await tell.refused(BankNotFound, method, NOBODY, *arguments)


Life = Callable[[Teller, Bench], Awaitable[None]]
LIVES: tuple[Life, ...] = (
    banks,
    documents,
    moves,
    memories,
    entities,
    operations,
    indexes,
    events,
    webhooks,
    nobody,
)


@asynccontextmanager
async def open_local(folder: Path) -> AsyncIterator[tuple[Bench, Admin]]:
    numbers = itertools.count(1)
    async with open_bench(folder) as bench:
        yield (
            bench,
            LedgerAdmin(
                bench.ledger,
                arms=ARMS,
                tokens=WordCounter(),
                now=bench.clock,
                watch_interval_s=0.01,
                new_id=lambda: f"h{next(numbers)}",
                indexes=bench.arms,
            ),
        )


@asynccontextmanager
async def open_remote(folder: Path) -> AsyncIterator[tuple[Bench, Admin]]:
    async with open_local(folder) as (bench, behind), open_loopback(host_admin(behind, bench.ledger.check)) as channel:
        admin = RemoteAdmin(channel)
        await until_ready(admin)
        yield bench, admin


async def led(
    life: Life, opener: Callable[[Path], AbstractAsyncContextManager[tuple[Bench, Admin]]], folder: Path
) -> list[tuple[str, object]]:
    async with opener(folder) as (bench, admin):
        tell = Teller(admin)
        await life(tell, bench)
    return tell.told


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.__name__)
async def test_what_administration_gives_and_refuses_is_the_same_over_the_wire(life: Life, tmp_path: Path) -> None:
    here = await led(life, open_local, tmp_path / "local")
    there = await led(life, open_remote, tmp_path / "remote")
    assert here
    assert there == here


async def test_the_lives_leave_no_method_of_the_port_out(tmp_path: Path) -> None:
    called = {method for life in LIVES for method, _ in await led(life, open_local, tmp_path / life.__name__)}
    assert called == METHODS


async def test_a_ledger_that_is_gone_is_unavailable_over_the_wire_too(tmp_path: Path) -> None:
    async with open_local(tmp_path) as (_, gone):
        await gone.get_bank(REF)
    async with open_loopback(host_admin(gone)) as channel:
        for admin in (gone, RemoteAdmin(channel)):
            with pytest.raises(StoreUnavailable):
                await admin.get_bank(REF)
