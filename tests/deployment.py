# ruff: noqa: ASYNC110 - what is waited for is in another process
"""The mesh as it is run: in this process, as one server, as nine; and a bank of a test's own in it."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from store_servers.process import free_port

from recallmesh.client import Client, open_client
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode
from recallmesh.core.errors import RecallUnavailable
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.page import PageRequest
from recallmesh.core.recall import PartState, RecallAnswer, RecallRequest
from recallmesh.core.retain import RetainAnswer, RetainItem, RetainRequest
from recallmesh.core.tuning import Budget, RecallTuning
from recallmesh.mesh import Part, open_embedded
from recallmesh.rpc.admin import RemoteAdmin
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.recaller import RemoteRecaller
from recallmesh.rpc.retainer import RemoteRetainer
from recallmesh.settings import load_settings

COMMAND = Path(sys.executable).with_name("recallmesh")
SERVING = health_pb2.HealthCheckResponse.SERVING
READY_S = 300.0
"""The most that any start may take: nine processes load their models at once on two busy cores."""
SOON = {"consolidation_delay_s": 0.5, "consolidation_again_s": 1.0}
"""What retain leaves to others' convenience, and a test would only wait for."""
LISTENS = re.compile(r"recallmesh serves .* on (\S+:\d+)$", re.MULTILINE)
NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)


def clean_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without any setting of the mesh."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("RECALLMESH_")}
    return kept | dict(more or {})


def free_ports(count: int) -> list[int]:
    """Return ports that were free a moment ago, all different; nobody who connects gets one of them meanwhile."""
    found: dict[int, None] = {}
    while len(found) < count:
        found[free_port()] = None
    return list(found)


async def health(address: str, service: str = "") -> int | None:
    """Return what a process says of itself or of a part; nothing when it does not answer."""
    async with grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        try:
            answer = await health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(service=service), timeout=2
            )
        except grpc.aio.AioRpcError:
            return None
        return answer.status


@dataclass
class Process:
    """``recallmesh serve`` as a process of its own."""

    parts: tuple[str, ...]
    data: Path
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    host: str = "127.0.0.1"
    running: subprocess.Popen | None = None
    probe: str = ""
    """Where it is asked whether it is ready, if not at its address: a probe speaks no TLS."""
    metrics: int = 0
    """The port on which it tells Prometheus; 0: it does not."""

    @property
    def address(self) -> str:
        if self.port:
            return f"{self.host}:{self.port}"
        found = LISTENS.findall(self.told())
        return found[-1] if found else ""

    def start(self) -> None:
        words = [COMMAND, "serve", *self.parts, "--data", self.data, "--listen", f"{self.host}:{self.port}"]
        told = {"RECALLMESH_SERVE__METRICS_PORT": str(self.metrics)} if self.metrics else {}
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                words,
                env=clean_environment({**self.environment, **told}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def told(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def signal(self, number: int) -> None:
        self.running.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.running is not None:
            self.running.kill()
            self.running.wait()

    async def left(self) -> int:
        """Wait until it is gone; return its exit code."""
        async with asyncio.timeout(30):
            return await asyncio.to_thread(self.running.wait)

    async def ready(self) -> None:
        """Wait until all that it hosts is ready."""
        try:
            async with asyncio.timeout(READY_S):
                while not self.address or await health(self.probe or self.address) != SERVING:
                    if self.running.poll() is not None:
                        break
                    await asyncio.sleep(0.1)
                else:
                    return
        except TimeoutError:
            pass
        raise AssertionError(f"{' '.join(self.parts)} did not become ready:\n{self.told()[-4000:]}")


@dataclass
class Mesh:
    """A running mesh, its faces, and its processes by the name of what they host."""

    kind: str
    faces: Client
    data: Path
    processes: dict[str, Process] = field(default_factory=dict)
    database: str = ""

    @property
    def ledger_url(self) -> str:
        return self.database or f"sqlite:///{self.data / 'ledger.db'}"

    @property
    def in_process(self) -> bool:
        return not self.processes

    def logs(self) -> list[tuple[str, str]]:
        return [(name, process.told()) for name, process in self.processes.items()]

    async def diary(self, config: BankConfig | None = None) -> "Diary":
        """Make a bank that nobody else knows."""
        ref = BankRef(f"diary-{uuid4().hex[:12]}")
        await self.faces.admin.create_bank(ref, config=config)
        return Diary(self.faces, ref)


@dataclass(frozen=True)
class Diary:
    """A bank and short words for what tests do with it."""

    faces: Client
    ref: BankRef

    async def keep(self, *texts: str, mode: ExtractionMode | None = ExtractionMode.CHUNKS, **item) -> list[str]:
        """Retain each text as an item and wait; returns the ids of the memories."""
        answer = await self.retain(*(RetainItem((text,), **({"time": NOW} | item)) for text in texts), mode=mode)
        return [one for item in answer.items for one in item.memory_ids]

    async def retain(
        self, *items: RetainItem, mode: ExtractionMode | None = ExtractionMode.CHUNKS, **request
    ) -> RetainAnswer:
        return await self.faces.retainer.retain(RetainRequest(self.ref, items, mode=mode, **request))

    async def ask(self, query: str, *arms: ArmName, reranking: bool | None = None, **request) -> RecallAnswer:
        """Recall by these arms alone, or by all."""
        tuning = request.pop("tuning", RecallTuning())
        tuning = replace(tuning, arms=frozenset(arms) or tuning.arms, reranking=reranking)
        given = {"query_time": NOW, "budget": Budget.LOW} | request
        return await self.faces.recaller.recall(RecallRequest(self.ref, query, tuning=tuning, **given))

    async def texts(self, query: str, *arms: ArmName, reranking: bool | None = False, **request) -> list[str]:
        answer = await self.ask(query, *arms, reranking=reranking, **request)
        return [one.memory.text for one in answer.memories]

    async def words(self, query: str, **request) -> list[str]:
        """Return what the keyword arm alone finds, best first."""
        return await self.texts(query, ArmName.KEYWORD, **request)

    async def served_by_all(self) -> None:
        """Wait until recall has a way to every arm: one that was away is ready before all who ask it know."""

        async def whole() -> bool:
            try:
                answer = await self.ask("anything", reranking=False)
            except RecallUnavailable:
                return False
            return {one.state for one in answer.arms} <= {PartState.OK, PartState.SKIPPED}

        await until(whole)

    async def memories(self, wanted: MemoryFilter = MemoryFilter()):  # noqa: B008 - frozen
        return await every(lambda page: self.faces.admin.list_memories(self.ref, wanted, page))


async def every(read, size: int = 50) -> list:
    """Return the rows of all pages."""
    page = await read(PageRequest(size))
    rows = list(page.rows)
    while page.next_after:
        page = await read(PageRequest(size, page.next_after))
        rows += page.rows
    return rows


async def until(true, seconds: float = 60.0):
    """Wait until a question is answered with something true, and return it."""
    async with asyncio.timeout(seconds):
        while not (answer := await true()):
            await asyncio.sleep(0.05)
    return answer


@asynccontextmanager
async def open_processes(processes: Mapping[str, Process]) -> AsyncIterator[None]:
    """Start processes, wait until they are ready, and end them in the end."""
    try:
        for process in processes.values():
            process.start()
        await asyncio.gather(*(process.ready() for process in processes.values()))
        yield
    finally:
        for process in processes.values():
            process.kill()


@asynccontextmanager
async def open_in_process(folder: Path) -> AsyncIterator[Mesh]:
    data = folder / "data"
    async with open_embedded(load_settings(data=data, retain=SOON)) as faces:
        yield Mesh("one_process", faces, data)


@asynccontextmanager
async def open_served(folder: Path, environment: Mapping[str, str] | None = None) -> AsyncIterator[Mesh]:
    process = Process(("all",), folder / "data", folder / "all.log", _soon() | dict(environment or {}))
    async with open_processes({"all": process}), open_client(process.address) as faces:
        yield Mesh("one_server", faces, process.data, {"all": process})


@asynccontextmanager
async def open_nine(
    folder: Path, more: Mapping[str, str] | None = None, *, measured: bool = False
) -> AsyncIterator[Mesh]:
    """Start each part in a process of its own; all have the same environment, which names all nine, and ``more``.

    ``measured``: each tells Prometheus on a port of its own.
    """
    data = folder / "data"
    ports = dict(zip(Part, free_ports(len(Part)), strict=True))
    addresses = {f"RECALLMESH_{part.upper()}__ADDRESS": f"127.0.0.1:{port}" for part, port in ports.items()}
    environment = addresses | _soon() | dict(more or {})
    processes = {
        part.value: Process((part.value,), data, folder / f"{part}.log", environment, port)
        for part, port in ports.items()
    }
    if measured:
        for process, metrics in zip(processes.values(), free_ports(len(Part)), strict=True):
            process.metrics = metrics
    async with open_processes(processes), AsyncExitStack() as stack:

        async def channel(part: Part):
            return await stack.enter_async_context(open_channel(processes[part].address))

        faces = Client(
            RemoteRecaller(await channel(Part.RECALL)),
            RemoteRetainer(await channel(Part.RETAIN)),
            RemoteAdmin(await channel(Part.BANK)),
        )
        yield Mesh("nine_processes", faces, data, processes)


def _soon() -> dict[str, str]:
    return {f"RECALLMESH_RETAIN__{name.upper()}": str(value) for name, value in SOON.items()}


OPENERS = {"one_process": open_in_process, "one_server": open_served, "nine_processes": open_nine}
TERMINATE = signal.SIGTERM
