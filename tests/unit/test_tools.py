# ruff: noqa: ARG002 - fakes keep their port's names
"""What a model sees of a toolbox: its tools, its answers and its errors, through the protocol and without a mesh."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.credential import current_key
from recallmesh.core.defense import DefenseAction, DefenseDetector, DefenseViolation, Severity
from recallmesh.core.document import Document
from recallmesh.core.entity import TagCount
from recallmesh.core.errors import (
    ArmTimeout,
    BankExists,
    BankNotFound,
    ConflictingWrite,
    DefenseBlocked,
    DocumentNotFound,
    FieldViolation,
    Forbidden,
    InternalFault,
    InvalidArgument,
    MemoryNotFound,
    Overloaded,
    StoreUnavailable,
    all_errors,
)
from recallmesh.core.memory import VISIBLE_STATES, FactType, Memory
from recallmesh.core.page import Page
from recallmesh.core.recall import (
    ArmReport,
    PartReport,
    PartState,
    RecallAnswer,
    RecalledMemory,
    RecallProgress,
    RecallStage,
    Scores,
    WindowReading,
)
from recallmesh.core.retain import Delivery, DeliveryState, RetainAnswer, RetainedItem, UpdateMode
from recallmesh.core.tags import EVERYTHING, TagLeaf, TagMode
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.tools import BankChoice, Ports, Toolbox
from recallmesh.tools.fault import NEXT, OURS, told
from recallmesh.tools.mcp import build_server

NOW = datetime(2026, 8, 19, 12, tzinfo=timezone(timedelta(hours=2)))
MARCH = Window(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 31, 23, 59, tzinfo=UTC))
MADE_UP = "80bee141-0bf2-5ce3-a88e-cfec03861e1f"
DOG = Memory(
    "m-1",
    "Leo: I adopted a dog.\nShe is called Pixel.",
    FactType.WORLD,
    NOW,
    occurred=Occurrence(MARCH, Precision.MONTH),
    tags=("pets", "family"),
    document_id="chat",
    tokens=12,
)
BREAD = Memory("m-2", "面包 🍞 is baked at 5.", FactType.EXPERIENCE, NOW, mentioned=NOW, document_id=MADE_UP, tokens=9)
FOUND = RecallAnswer(
    memories=(
        RecalledMemory(DOG, {ArmName.KEYWORD: 1}, Scores(0.0164, 0.9, 0.98765)),
        RecalledMemory(BREAD, {ArmName.KEYWORD: 2}, Scores(0.0161, 0.5, 0.25)),
    ),
    arms=tuple(ArmReport(arm, PartState.OK, 2) for arm in ArmName),
    models=(PartReport("embedder", PartState.OK), PartReport("reranker", PartState.OK)),
    tokens=21,
)
KEPT = RetainAnswer((RetainedItem(MADE_UP, ("m-3",)),), (Delivery(ArmName.GRAPH, DeliveryState.STORED),))


@dataclass
class Mesh:
    """Recaller, retainer and administration that answer as they are told, and keep what they were asked."""

    answer: object = FOUND
    kept: object = KEPT
    banks: set[str] = field(default_factory=lambda: {"diary"})
    memories: dict[str, Memory] = field(default_factory=lambda: {DOG.id: DOG, BREAD.id: BREAD})
    asked: list = field(default_factory=list)
    keys: list = field(default_factory=list)

    def _met(self, bank: BankRef, outcome):
        self.keys.append(current_key())
        if bank.bank_id not in self.banks:
            raise BankNotFound(bank.bank_id)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def recall(self, request):
        self.asked.append(request)
        return self._met(request.bank, self.answer)

    async def stream(self, request):
        answer = await self.recall(request)
        yield RecallProgress(RecallStage.FUSED, replace(answer, omitted=5))
        yield RecallProgress(RecallStage.FINAL, answer)

    async def retain(self, request):
        self.asked.append(request)
        return self._met(request.bank, self.kept)

    async def create_bank(self, ref):
        if ref.bank_id in self.banks:
            raise BankExists("there")
        self.banks.add(ref.bank_id)

    async def list_banks(self, tenant, page):
        names = sorted(self.banks)[: page.size]
        more = names[-1] if len(names) < len(self.banks) else ""
        return Page(tuple(Bank(BankRef(name), name, NOW) for name in names), more)

    async def get_memory(self, ref, memory_id):
        self._met(ref, None)
        if memory_id not in self.memories:
            raise MemoryNotFound(memory_id)
        return self.memories[memory_id]

    async def delete_memory(self, ref, memory_id):
        del self.memories[memory_id]

    async def delete_document(self, ref, document_id):
        if document_id != "chat":
            raise DocumentNotFound(document_id)
        return 2

    async def list_memories(self, ref, wanted, page):
        self.asked.append((wanted, page))
        rows = tuple(self._met(ref, self.memories).values())[: page.size]
        return Page(rows, rows[-1].id if len(rows) < len(self.memories) else "")

    async def list_documents(self, ref, page, *, visible):
        self.asked.append((visible, page))
        return Page((Document("chat", NOW, NOW, tags=("pets",), memory_count=1), Document("log", NOW, NOW)))

    async def list_tags(self, ref, page):
        return Page((TagCount("family", 1), TagCount("pets", 2)))


def reaching(mesh):
    async def ports():
        return Ports(mesh, mesh, mesh)

    return ports


def toolbox(mesh, *banks, **more):
    return Toolbox(reaching(mesh), BankChoice(banks or ("diary",), more.pop("create", False)), now=lambda: NOW, **more)


@dataclass(frozen=True)
class Agent:
    """An agent of one generation of the protocol (with a handshake, or without), which connects anew for each call."""

    toolbox: Toolbox
    mode: str

    def connected(self) -> Client:
        return Client(build_server(self.toolbox), mode=self.mode)

    async def call_tool(self, name, arguments=None, **more):
        async with self.connected() as client:
            await client.list_tools()  # then it holds answers to their schemas
            return await client.call_tool(name, arguments, **more)

    async def tools(self):
        async with self.connected() as client:
            return (await client.list_tools()).tools


@pytest.fixture(params=["auto", "legacy"])
def agent(request):
    return lambda mesh=None, *banks, **more: Agent(toolbox(mesh or Mesh(), *banks, **more), request.param)


def text(result):
    (only,) = result.content
    return only.text


async def test_an_agent_is_offered_four_tools_that_say_what_they_may_do(agent):
    client = agent()
    tools = {tool.name: tool for tool in await client.tools()}
    hints = {
        name: (tool.annotations.read_only_hint, tool.annotations.destructive_hint, tool.annotations.idempotent_hint)
        for name, tool in tools.items()
    }
    assert hints == {
        "recall": (True, False, True),
        "retain": (False, False, False),
        "list": (True, False, True),
        "forget": (False, True, True),
    }
    assert not any(tool.annotations.open_world_hint for tool in tools.values())
    assert "Long-term memory" in client.toolbox.instructions


async def test_every_argument_and_every_answer_is_described(agent):
    for tool in await agent().tools():
        assert tool.title
        assert 200 < len(tool.description) < 700
        for schema in (tool.input_schema, tool.output_schema):
            assert schema["type"] == "object"
            assert all(one.get("description") for one in schema["properties"].values()), tool.name
        assert tool.input_schema["additionalProperties"] is False
        assert "title" not in json.dumps(tool.input_schema)


async def test_what_can_only_be_read_offers_nothing_that_writes(agent):
    mesh = Mesh()
    client = agent(mesh, read_only=True, create=True)
    assert [tool.name for tool in await client.tools()] == ["recall", "list"]
    assert "read it alone" in client.toolbox.instructions
    refused = await client.call_tool("retain", {"content": "x"})
    assert refused.is_error
    assert text(refused) == "retain: this memory can only be read; there are recall, list."
    assert mesh.asked == []


async def test_memories_come_as_text_and_as_data_with_all_that_is_known_of_them(agent):
    mesh = Mesh()
    result = await agent(mesh).call_tool("recall", {"query": "What did Leo adopt?"})
    assert text(result) == (
        "2 memories, best first.\n\n"
        "1. Leo: I adopted a dog.\n   She is called Pixel.\n"
        "   (2026-03 · score 0.988 · tags pets, family · document chat · id m-1)\n\n"
        "2. 面包 🍞 is baked at 5.\n   (said 2026-08-19 12:00+02:00 · score 0.250 · experience · id m-2)"
    )
    assert result.structured_content == {
        "notes": [],
        "memories": [
            {
                "id": "m-1",
                "text": DOG.text,
                "when": "2026-03",
                "score": 0.988,
                "tags": ["pets", "family"],
                "document_id": "chat",
            },
            {
                "id": "m-2",
                "text": BREAD.text,
                "when": "said 2026-08-19 12:00+02:00",
                "score": 0.25,
                "kind": "experience",
            },
        ],
    }
    (request,) = mesh.asked
    assert (request.bank, request.query_time, request.max_tokens, request.limit) == (BankRef("diary"), NOW, 2048, 20)
    assert request.tags == EVERYTHING


async def test_what_is_asked_goes_to_the_mesh_as_it_is(agent):
    mesh = Mesh()
    given = {"query": "q", "max_tokens": 7, "limit": 3, "tags": ["a"], "query_time": "2026-03-21T10:05:00+01:00"}
    await agent(mesh).call_tool("recall", given)
    (request,) = mesh.asked
    assert (request.max_tokens, request.limit) == (7, 3)
    assert request.tags == TagLeaf(frozenset({"a"}), TagMode.ANY_STRICT)
    assert request.query_time == datetime(2026, 3, 21, 9, 5, tzinfo=UTC)
    assert request.query_time.utcoffset() == timedelta(hours=1)


@pytest.mark.parametrize("arm", ArmName)
@pytest.mark.parametrize("state", [PartState.FAILED, PartState.TIMED_OUT, PartState.UNAVAILABLE])
async def test_an_arm_that_did_not_answer_is_told_with_what_may_be_missing(agent, arm, state):
    answer = replace(FOUND, arms=(ArmReport(arm, state, detail="10.0.0.7:6334 refused"),))
    result = await agent(Mesh(answer)).call_tool("recall", {"query": "q"})
    first, again = result.structured_content["notes"]
    assert first.startswith("Incomplete: the search by ")
    assert "may be missing" in first
    assert again == "Ask again later for the whole answer."
    assert text(result).index(first) < text(result).index("1. Leo")
    assert "10.0.0.7" not in text(result) + json.dumps(result.structured_content)


async def test_an_arm_that_had_nothing_to_do_is_not_missed(agent):
    arms = (ArmReport(ArmName.TEMPORAL, PartState.SKIPPED), ArmReport(ArmName.GRAPH, PartState.DISABLED))
    result = await agent(Mesh(replace(FOUND, arms=arms))).call_tool("recall", {"query": "q"})
    assert result.structured_content["notes"] == []


async def test_models_that_did_not_answer_are_told_too(agent):
    models = (PartReport("reranker", PartState.TIMED_OUT), PartReport("embedder", PartState.UNAVAILABLE))
    result = await agent(Mesh(replace(FOUND, models=models))).call_tool("recall", {"query": "q"})
    assert result.structured_content["notes"] == [
        "Incomplete: the memories were not read once more, so their order is rough (it was too slow).",
        "Incomplete: the question could not be compared by meaning (it cannot be reached).",
        "Ask again later for the whole answer.",
    ]


async def test_a_period_that_was_read_and_what_was_left_out_are_told(agent):
    answer = replace(FOUND, omitted=36, window=WindowReading(MARCH, "en.month", "March 2026"))
    result = await agent(Mesh(answer)).call_tool("recall", {"query": "q"})
    assert "36 more, which are less likely to answer, were left out (limit, max_tokens)" in text(result)
    assert result.structured_content["omitted"] == 36
    assert result.structured_content["notes"] == [
        '"March 2026" was read as 2026-03-01 to 2026-03-31: memories of that time are preferred, others come too.'
    ]


async def test_an_answer_of_nothing_says_so(agent):
    empty = replace(FOUND, memories=())
    assert text(await agent(Mesh(empty)).call_tool("recall", {"query": "q"})) == "Nothing found."
    left = await agent(Mesh(replace(empty, omitted=2))).call_tool("recall", {"query": "q"})
    assert "2 more" in text(left)
    assert left.structured_content == {"notes": [], "memories": [], "omitted": 2}


async def test_who_wants_to_be_told_hears_how_far_a_recall_is():
    heard = []

    async def hear(done, total, message):
        heard.append((done, total, message))

    # Without a wire between them, the newer protocol does not say whether anybody wants to hear.
    await Agent(toolbox(Mesh()), "legacy").call_tool("recall", {"query": "q"}, progress_callback=hear)
    assert [one[:2] for one in heard] == [(0.0, 2.0), (1.0, 2.0), (2.0, 2.0)]
    assert [one[2] for one in heard[1:]] == ["7 memories found, reading the best", "2 memories chosen"]


async def test_what_is_retained_only_ever_adds_and_has_a_request_id(agent):
    mesh = Mesh()
    client = agent(mesh)
    result = await client.call_tool("retain", {"content": "Leo: 🐕!", "tags": ["pets"], "document_id": "chat"})
    assert text(result) == "Kept as 1 memory: m-3."
    assert result.structured_content == {"notes": [], "memory_ids": ["m-3"]}
    await client.call_tool("retain", {"content": "x", "request_id": "again", "time": "2026-03-21"})
    first, second = mesh.asked
    (item,) = first.items
    assert (item.content, item.tags, item.document_id) == (("Leo: 🐕!",), ("pets",), "chat")
    assert (item.time, item.update_mode) == (NOW, UpdateMode.APPEND)
    assert len(first.request_id) == 32
    assert second.request_id == "again"
    assert second.items[0].time == datetime(2026, 3, 21, tzinfo=UTC)


async def test_what_became_of_a_retain_is_told(agent):
    found = DefenseViolation(DefenseDetector.SECRET, DefenseAction.REDACT, Severity.HIGH, "an AWS key")
    late = (Delivery(ArmName.GRAPH, DeliveryState.PENDING, "down"), Delivery(ArmName.KEYWORD, DeliveryState.PENDING))
    kept = RetainAnswer((RetainedItem("chat", ("m-3", "m-4"), violations=(found,)),), late, replayed=True)
    result = await agent(Mesh(kept=kept)).call_tool("retain", {"content": "x"})
    assert text(result).split("\n") == [
        "Kept as 2 memories of document chat: m-3, m-4.",
        "Taken out, as this bank wants it: an AWS key.",
        "It had been kept by an earlier call with this request_id; nothing was kept twice.",
        "It is safe; search by names and links and search by words will find it a little later.",
    ]
    assert result.structured_content["document_id"] == "chat"
    nothing = await (agent(Mesh(kept=RetainAnswer((RetainedItem("d"),))))).call_tool("retain", {"content": "hi"})
    assert not nothing.is_error
    assert text(nothing).startswith("Nothing was kept.\nNothing in it was a fact")


async def test_a_retain_whose_outcome_is_unclear_says_how_to_repeat_it(agent):
    for error in (StoreUnavailable("gone"), ArmTimeout("late"), InternalFault("bug")):
        mesh = Mesh(kept=error)
        client = agent(mesh)
        failed = await client.call_tool("retain", {"content": "x"})
        assert failed.is_error
        said = f"time 2026-08-19 12:00:00+02:00 and request_id {mesh.asked[0].request_id}: then it counts once"
        assert said in text(failed)
    refused = Mesh(kept=InvalidArgument(FieldViolation("items[0].content", "is blank")))
    assert text(await agent(refused).call_tool("retain", {"content": " "})) == (
        "content: is blank\nPut that right and call again."
    )


async def test_a_list_shows_what_may_be_seen_and_how_to_go_on(agent):
    mesh = Mesh()
    client = agent(mesh)
    result = await client.call_tool("list", {"limit": 1, "document_id": "chat", "tags": ["pets"]})
    assert text(result).startswith("1 memory.\n\n1. Leo: I adopted a dog.")
    assert text(result).endswith("There is more: call list again with after m-1")
    assert result.structured_content["next"] == "m-1"
    assert result.structured_content["notes"] == ["There is more: call list again with after as next is here."]
    (wanted, page) = mesh.asked[-1]
    assert (wanted.states, wanted.document_id, page.size) == (VISIBLE_STATES, "chat", 1)
    assert wanted.tags == TagLeaf(frozenset({"pets"}), TagMode.ANY_STRICT)
    documents = await client.call_tool("list", {"what": "documents", "after": "a"})
    assert text(documents).split("\n")[1] == "- chat (1 memory, updated 2026-08-19 12:00+02:00, tags pets)"
    assert mesh.asked[-1][1].after == "a"
    assert text(await client.call_tool("list", {"what": "tags"})) == "2 tags.\n- family (1 memory)\n- pets (2 memories)"
    mesh.memories.clear()
    assert text(await client.call_tool("list")) == "No memories."
    assert text(await client.call_tool("list", {"tags": ["x"]})) == "No memories like that."


async def test_pages_that_tags_leave_empty_are_passed_over(agent):
    class Sparse(Mesh):
        async def list_documents(self, ref, page, *, visible):
            place = int(page.after or 0)
            rows = (Document("seventh", NOW, NOW),) if place == 7 else ()
            return Page(rows, "" if place == 9 else str(place + 1))

    client = agent(Sparse())
    first = (await client.call_tool("list", {"what": "documents", "tags": ["a"]})).structured_content
    assert ([one["id"] for one in first["documents"]], first["next"]) == (["seventh"], "8")
    last = await client.call_tool("list", {"what": "documents", "tags": ["a"], "after": "8"})
    assert text(last) == "No documents any more."
    assert last.structured_content == {"notes": []}


async def test_a_list_keeps_to_its_tokens_and_shows_one_at_least(agent):
    client = agent()
    for room, shown in ((1, 1), (12, 1), (20, 1), (21, 2)):
        result = await client.call_tool("list", {"max_tokens": room})
        assert len(result.structured_content["memories"]) == shown, room
        assert ("next" in result.structured_content) == (shown == 1)


async def test_forgetting_deletes_what_was_named_and_says_what_it_said(agent):
    mesh = Mesh()
    client = agent(mesh)
    result = await client.call_tool("forget", {"memory_ids": ["m-2", "m-9", "m-2"]})
    assert text(result) == ("Deleted 1 memory:\n- 面包 🍞 is baked at 5. (id m-2)\nNot there, so not deleted: m-9.")
    assert result.structured_content == {
        "notes": ["Not there, so not deleted: m-9."],
        "memory_count": 1,
        "forgotten": [{"id": "m-2", "text": BREAD.text}],
    }
    assert list(mesh.memories) == ["m-1"]
    again = await client.call_tool("forget", {"memory_ids": ["m-2", "m-9"]})
    assert again.is_error
    assert "'m-2, m-9' not found" in text(again)
    assert text(await client.call_tool("forget", {"document_id": "chat"})) == (
        "Deleted document chat and its 2 memories."
    )
    assert "Document 'x' not found.\nNothing was deleted." in text(
        await client.call_tool("forget", {"document_id": "x"})
    )


async def test_forgetting_that_fails_half_way_says_what_is_gone(agent):
    class Failing(Mesh):
        async def delete_memory(self, ref, memory_id):
            if memory_id == "m-2":
                raise StoreUnavailable("the ledger is away")
            return await super().delete_memory(ref, memory_id)

    client = agent(Failing())
    told = (await client.call_tool("forget", {"memory_ids": ["m-1", "m-2", "m-3"]})).structured_content
    assert [one["id"] for one in told["forgotten"]] == ["m-1"]
    (note,) = told["notes"]
    assert "the ledger is away" in note
    assert "m-2, m-3" in note
    assert (await client.call_tool("forget", {"memory_ids": ["m-2"]})).is_error


def test_a_bank_without_a_name_is_refused_at_the_start():
    with pytest.raises(InvalidArgument, match="bank: is empty"):
        BankChoice(("diary", ""))


@pytest.mark.parametrize(
    ("tool", "arguments", "told_of"),
    [
        ("recall", {}, "query: is required"),
        ("recall", {"query": ""}, "query: is empty"),
        ("recall", {"query": 7}, "query: must be a string"),
        ("recall", {"query": "q", "limit": "many"}, "limit: must be a whole number"),
        ("recall", {"query": "q", "limit": 2.5}, "limit: must be a whole number"),
        ("recall", {"query": "q", "limit": 0}, "limit: must be 1 or more"),
        ("recall", {"query": "q", "max_tokens": 10**9}, "max_tokens: must be 32768 or less"),
        ("recall", {"query": "q", "tags": "pets"}, "tags: must be a list"),
        ("recall", {"query": "q", "tags": ["a", 1]}, "tags.1: must be a string"),
        ("recall", {"query": "q", "tags": ["t"] * 65}, "tags: has 65 entries; at most 64 are taken"),
        ("recall", {"query": "q", "query_time": 2026}, "query_time: must be a string with an ISO 8601 time"),
        ("recall", {"query": "q", "query_time": "May"}, "query_time: 'May' is not an ISO 8601 time such as 2026-"),
        ("recall", {"query": "q", "maxtokens": 5}, "maxtokens: is no argument; did you mean max_tokens?"),
        ("retain", {"text": "x"}, "text: is no argument; did you mean context?"),
        ("retain", {"content": "x", "request_id": "r" * 129}, "request_id: has more than 128 characters"),
        ("list", {"what": "people"}, "what: must be 'memories', 'documents' or 'tags'"),
        ("list", {"what": "tags", "tags": ["a"]}, "tags: goes with memories and documents alone"),
        ("list", {"what": "documents", "document_id": "a"}, "document_id: goes with memories alone"),
        ("forget", {}, "memory_ids: is required, or document_id in its place"),
        ("forget", {"memory_ids": ["a"], "document_id": "b"}, "memory_ids: is required, or document_id"),
        ("forget", {"memory_ids": "a"}, "memory_ids: must be a list"),
        ("recall", {"query": "q", "bank": "other"}, "bank: is no argument"),
        ("remember", {}, "remember: there is no such tool; there are recall, retain, list, forget."),
    ],
)
async def test_bad_input_is_a_tool_error_that_names_the_field_and_the_remedy(agent, tool, arguments, told_of):
    mesh = Mesh()
    result = await agent(mesh).call_tool(tool, arguments)
    assert result.is_error
    assert told_of in text(result)
    assert "pydantic" not in text(result)
    assert mesh.asked == []


async def test_null_is_as_not_given_and_numbers_may_come_as_text(agent):
    mesh = Mesh()
    given = {"query": "q", "tags": None, "query_time": None, "limit": "5"}
    assert not (await agent(mesh).call_tool("recall", given)).is_error
    assert (mesh.asked[0].limit, mesh.asked[0].tags) == (5, EVERYTHING)


@pytest.mark.parametrize("error", [one for one in all_errors() if one.reason in OURS], ids=lambda one: one.reason)
async def test_an_error_of_the_mesh_tells_nothing_of_its_insides(agent, error):
    failed = await agent(Mesh(error("ledger.db on 10.0.0.7 is locked"))).call_tool("recall", {"query": "q"})
    assert failed.is_error
    assert failed.structured_content is None
    assert "10.0.0.7" not in text(failed)
    assert len(text(failed).split("\n")) >= 2


async def test_a_bug_of_ours_is_told_as_a_fault_and_no_more(agent):
    failed = await agent(Mesh(KeyError("secret"))).call_tool("recall", {"query": "q"})
    assert failed.is_error
    assert text(failed).startswith("The memory has a fault.")
    assert "secret" not in text(failed)


async def test_every_error_of_the_mesh_has_words_for_a_model():
    silent = {one.reason for one in all_errors()} - OURS.keys() - NEXT.keys()
    # A bank that is not there says which was meant, a full queue how long to wait; the rest no tool can meet.
    assert silent == {
        "BANK_NOT_FOUND",
        "OVERLOADED",
        "NOT_FOUND",
        "CHUNK_NOT_FOUND",
        "ENTITY_NOT_FOUND",
        "OPERATION_NOT_FOUND",
        "ATTACHMENT_NOT_FOUND",
        "BANK_EXISTS",
        "NO_VISION_MODEL",
        "NAME_TAKEN",
    }
    assert told(Overloaded("too many calls", retry_after=timedelta(seconds=3))) == (
        "Too many calls.\nWait 3 s, then call again."
    )
    assert told(DefenseBlocked(FieldViolation("items[0]", "an AWS key (secret, high)"))) == (
        "Refused: an AWS key (secret, high).\n"
        "Nothing was kept: this bank keeps such things out. Leave them out, or do not retain this."
    )
    assert "Do not try again" in told(Forbidden("the key does not allow this"))
    assert "call again" in told(ConflictingWrite("x"))


async def test_one_bank_is_no_argument_and_several_are_a_choice(agent):
    async def bank_of(client):
        tools = await client.tools()
        (only,) = {json.dumps(tool.input_schema["properties"].get("bank")) for tool in tools}
        return json.loads(only), {"bank" in tool.input_schema.get("required", ()) for tool in tools}

    assert await bank_of(agent()) == (None, {False})
    mesh = Mesh(banks={"diary", "shared"})
    both = agent(mesh, "diary", "shared")
    offered, required = await bank_of(both)
    assert (offered["enum"], offered["default"], required) == (["diary", "shared"], "diary", {False})
    await both.call_tool("recall", {"query": "q"})
    await both.call_tool("recall", {"query": "q", "bank": "shared"})
    assert [request.bank.bank_id for request in mesh.asked] == ["diary", "shared"]
    refused = await both.call_tool("recall", {"query": "q", "bank": "other"})
    assert "bank: 'other' is not among diary, shared" in text(refused)


async def test_without_a_choice_each_call_names_a_bank_and_learns_which_there_are():
    mesh = Mesh(banks={"diary", "shared"})
    async with Client(build_server(Toolbox(reaching(mesh)))) as client:
        for tool in (await client.list_tools()).tools:
            assert "bank" in tool.input_schema["required"]
        missing = await client.call_tool("recall", {"query": "q"})
        assert "bank: is required: the banks are diary, shared" in text(missing)
        assert "bank: must be a string" in text(await client.call_tool("recall", {"query": "q", "bank": 7}))
        wrong = await client.call_tool("recall", {"query": "q", "bank": "dairy"})
        assert text(wrong) == "Bank 'dairy' not found.\nDid you mean diary?"
        assert not (await client.call_tool("recall", {"query": "q", "bank": "shared"})).is_error


async def test_a_bank_is_made_with_the_first_thing_retained_if_that_is_asked_for(agent):
    mesh = Mesh(banks=set())
    plain = agent(mesh)
    for tool, given in (("recall", {"query": "q"}), ("retain", {"content": "x"}), ("list", {})):
        refused = await plain.call_tool(tool, given)
        assert refused.is_error
        assert "Tell your user that it has to be made: recallmesh bank create diary" in text(refused)
    making = agent(mesh, create=True)
    for tool, given in (("recall", {"query": "q"}), ("list", {})):
        empty = await making.call_tool(tool, given)
        assert (empty.is_error, text(empty)) == (False, "Nothing is remembered here yet.")
    assert (await making.call_tool("forget", {"memory_ids": ["m-1"]})).is_error
    assert mesh.banks == set()
    assert not (await making.call_tool("retain", {"content": "x"})).is_error
    assert mesh.banks == {"diary"}


async def test_a_call_that_is_cancelled_stops_its_work(agent):
    entered, left = asyncio.Event(), asyncio.Event()

    class Slow(Mesh):
        async def recall(self, request):
            entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                left.set()

    async with asyncio.timeout(30), agent(Slow()).connected() as client:
        call = asyncio.create_task(client.call_tool("recall", {"query": "q"}))
        await entered.wait()
        call.cancel()
        await left.wait()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.list_tools()).tools


async def test_what_is_no_request_of_the_protocol_is_refused_by_it(agent):
    async with agent().connected() as client:
        with pytest.raises(MCPError):
            await client.read_resource("recallmesh://diary")
        assert "Long-term memory" in client.instructions
        assert client.server_info.name == "recallmesh"
