"""A whole mesh behind one real server, and calls of it whose every ending is judged."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import grpc.aio
from fuzz.grammar import Grammar, Known
from google.protobuf import descriptor_pool, message_factory, text_format
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc
from loopback import until_ready

from bench.hashed import HashedEmbedder
from recallmesh.client import Client, open_client
from recallmesh.core.bank import BankRef
from recallmesh.core.encoder import RerankerInfo
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import RetainItem
from recallmesh.mesh import ALL_PARTS, open_assembly
from recallmesh.rpc.embedder import RemoteEmbedder
from recallmesh.rpc.server import open_server
from recallmesh.serve import host
from recallmesh.settings import Settings

KINDS = "Arm Vector Embedder Reranker Recall Retain Bank Document Memory Entity Operation"
SERVICES = tuple(f"recallmesh.v1.{kind}Service" for kind in KINDS.split())
BAD = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS}
"""How no call may end: a fault of ours."""
LATE = {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE}
"""How a call may end that has hardly any time: no arm has answered by then."""
RACED = "Internal error from Core"
"""What grpc.aio's client says where the server has ended a stream while it was still writing; the server says how."""
WAITING = {"WatchEvents", "WatchOperation"}
"""Streams that go on until their caller has enough."""
LISTS = tuple(
    f"recallmesh.v1.{path}"
    for path in (
        "MemoryService/ListMemories", "DocumentService/ListDocuments", "EntityService/ListEntities",
        "OperationService/ListOperations", "BankService/ListEvents", "BankService/ExportBank",
    )
)  # fmt: skip
"""What tells what there is."""
TIMEOUT_S = 20.0
SHORT_S = 0.05
LATE_S = 10.0
"""How long after its deadline a call may at most end, on a busy machine."""
TOLD = 8000
"""How many characters of a message are told."""
ANSWERS = 20
"""How many answers of a stream are read."""


@dataclass(frozen=True)
class Asked:
    """One call: its method, what is sent as messages and as bytes, and what goes with it."""

    method: MethodDescriptor
    messages: tuple[Message, ...]
    bodies: tuple[bytes, ...]
    metadata: tuple[tuple[str, str | bytes], ...]
    timeout_s: float

    @property
    def path(self) -> str:
        return f"/{self.method.containing_service.full_name}/{self.method.name}"

    def told(self) -> str:
        """Return the call as people read it, so that it can be made again."""
        lines = [f"{self.path} within {self.timeout_s} s, metadata {self.metadata}"]
        for message, body in zip(self.messages, self.bodies, strict=True):
            lines += [f"{message.DESCRIPTOR.name} {{", _written(message), "}"]
            if body != message.SerializeToString():
                lines.append(f"sent as the bytes {body[:2000].hex()}")
        return "\n".join(lines)


@dataclass
class Arena:
    """The mesh, what is known of it, and how calls have ended."""

    channel: grpc.aio.Channel
    faces: Client
    known: Known = field(default_factory=Known)
    codes: Counter = field(default_factory=Counter)
    served: Counter = field(default_factory=Counter)
    """How often each method ended how, as the server says."""

    def ask(self, chance, service: str) -> Asked:
        """Make up a call of a service."""
        grammar = Grammar(chance, self.known)
        methods = descriptor_pool.Default().FindServiceByName(service).methods
        method = methods[chance.randrange(len(methods))]
        count = chance.randrange(4) if method.client_streaming else 1
        messages = tuple(grammar.message(method.input_type) for _ in range(count))
        bodies = tuple(grammar.body(message) for message in messages)
        timeout_s = SHORT_S if method.name in WAITING or not chance.randrange(60) else TIMEOUT_S
        return Asked(method, messages, bodies, tuple(grammar.metadata()), timeout_s)

    async def fault_of(self, asked: Asked) -> str:
        """Make a call; returns what is wrong with how it ended, empty for nothing."""
        began = time.monotonic()
        code, details, answers = await self._call(asked)
        took = time.monotonic() - began
        self.codes["cut off while writing" if details == RACED else code.name] += 1
        for answer in answers:
            self.known.learn(answer)
        if took > asked.timeout_s + LATE_S:
            return f"ended {took:.1f} s after it began, of {asked.timeout_s} s that it had"
        if details == RACED:
            return ""
        if code in BAD:
            return f"{code.name}: {details}"
        if code in LATE and asked.timeout_s == TIMEOUT_S:
            return f"{code.name} after {took:.1f} s: {details}"
        return ""

    async def _call(self, asked: Asked) -> tuple[grpc.StatusCode, str, Sequence[Message]]:
        kind = "_".join(
            "stream" if it else "unary" for it in (asked.method.client_streaming, asked.method.server_streaming)
        )
        multi = getattr(self.channel, kind)(asked.path)
        given = iter(asked.bodies) if asked.method.client_streaming else asked.bodies[0]
        call = multi(given, timeout=asked.timeout_s, metadata=asked.metadata)
        read: list[bytes] = []
        try:
            if asked.method.server_streaming:
                async for one in call:
                    read.append(one)
                    if len(read) == ANSWERS:
                        call.cancel()
                        break
            else:
                read.append(await call)
        except grpc.aio.AioRpcError as error:
            return error.code(), error.details() or "", self._parsed(asked, read)
        return grpc.StatusCode.OK, "", self._parsed(asked, read)

    def _parsed(self, asked: Asked, read: Sequence[bytes]) -> list[Message]:
        kind = message_factory.GetMessageClass(asked.method.output_type)
        return [kind.FromString(one) for one in read]

    async def begin(self) -> None:
        """Have something to name: two banks, documents, entities, tags."""
        for bank in ("diary", "shop"):
            await self.faces.admin.create_bank(BankRef(bank))
            await self.faces.bank(bank).retain(
                RetainItem(("Nadia: I start as a baker on 11 May.",), document_id="call-1", tags=("family",)),
                RetainItem(("Leo: I adopted a dog from Nadia's shelter in Bern.",), document_id="call-2"),
            )
        for path in LISTS:
            service, _, name = path.rpartition("/")
            method = descriptor_pool.Default().FindServiceByName(service).FindMethodByName(name)
            request = message_factory.GetMessageClass(method.input_type)(bank_id="diary")
            asked = Asked(method, (request,), (request.SerializeToString(),), (), TIMEOUT_S)
            if fault := await self.fault_of(asked):
                raise AssertionError(f"{path}: {fault}")

    async def trouble(self) -> list[str]:
        """Return what is wrong with the mesh after all that: its health, its stores, and what it can do."""
        found = [
            f"the server ended {path} as {code}" for path, code in self.served if code in {bad.name for bad in BAD}
        ]
        health = await health_pb2_grpc.HealthStub(self.channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
        if health.status != health_pb2.HealthCheckResponse.SERVING:
            found.append("the process is not ready")
        bank = self.faces.bank("afterwards")
        await bank.ensure()
        await bank.retain("Vera: my sister plays the cello.")
        if not (await bank.recall("Who plays the cello?")).memories:
            found.append("what is retained is not recalled")
        for each in (await self.faces.admin.list_banks("default", PageRequest(20))).rows:
            found += await self._differences(each.ref)
        return found

    async def _differences(self, ref: BankRef) -> list[str]:
        async with asyncio.timeout(120):
            while True:
                compared = await self.faces.admin.verify_bank(ref)
                if not any(one.pending for one in compared):
                    break
                await asyncio.sleep(0.2)
        return [f"bank {ref.bank_id}: {one}" for one in compared if one.error or one.missing or one.extra or one.stale]


@asynccontextmanager
async def open_arena(folder: Path) -> AsyncIterator[Arena]:
    """Serve every part, on embedded stores below a folder, with models that cost nothing."""
    # What takes long on a busy machine is no fault; a hang is one, by the deadline of the call.
    patient = {
        part: {"timeout_s": TIMEOUT_S} for part in ("semantic", "keyword", "graph", "temporal", "recall", "retain")
    }
    settings = Settings(data=folder, serve={"in_flight": 512, "streams": 512}, **patient)
    async with open_assembly(settings, ALL_PARTS, embedder=HashedEmbedder(), reranker=WordReranker()) as assembly:
        hosted = await host(assembly, ALL_PARTS)
        served: Counter = Counter()

        def observe(method: str, code: str, _seconds: float) -> None:
            served[method, code] += 1

        # A connection that ends of age takes a call with it now and then, which clients repeat, and this one does not.
        lasting = {"observe": observe, "connection_age_s": 3600, "drain_s": 0, "grace_s": 5}
        async with open_server("127.0.0.1:0", hosted, **lasting) as running:
            address = f"127.0.0.1:{running.port}"
            options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
            async with grpc.aio.insecure_channel(address, options=options) as channel, open_client(address) as faces:
                await running.readiness.ask()
                await until_ready(RemoteEmbedder(channel))
                arena = Arena(channel, faces, served=served)
                await arena.begin()
                yield arena


def _written(message: Message) -> str:
    return text_format.MessageToString(message, indent=2, use_short_repeated_primitives=True)[:TOLD]


class WordReranker:
    """Scores a text by the words it shares with the question."""

    async def info(self):
        return RerankerInfo("words", "words-1", 512, logits=False)

    async def rerank(self, query, texts):
        wanted = set(query.split())
        return tuple(float(len(wanted & set(text.split()))) for text in texts)

    async def check(self):
        pass
