"""The composition root: the only place that knows where things run. It builds the parts, then lets go."""

import gc
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Protocol, TypeVar, cast

import structlog

from recallmesh import facts, parts, retaining
from recallmesh.client import Client
from recallmesh.core.admin import Admin
from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.deadline import within
from recallmesh.core.encoder import Embedder, EmbedderInfo, Reranker
from recallmesh.core.errors import ArmTimeout, StoreUnavailable
from recallmesh.core.ledger import Ledger
from recallmesh.core.recall import Recaller
from recallmesh.core.retain import Retainer
from recallmesh.core.tokens import TokenCounter
from recallmesh.core.vectors import VectorIndex
from recallmesh.identity.mesh_key import MeshKeys, own_key
from recallmesh.identity.opening import open_mesh_keys
from recallmesh.retain.language import LanguageModel
from recallmesh.rpc.admin import RemoteAdmin
from recallmesh.rpc.arm import RemoteArm
from recallmesh.rpc.caller import peer_channel
from recallmesh.rpc.channel import Channel, open_channel
from recallmesh.rpc.embedder import RemoteEmbedder
from recallmesh.rpc.recaller import RemoteRecaller
from recallmesh.rpc.reranker import RemoteReranker
from recallmesh.rpc.retainer import RemoteRetainer
from recallmesh.rpc.tls import LiveTls, open_tls
from recallmesh.rpc.vectors import RemoteVectors
from recallmesh.settings import Settings
from recallmesh.standby import StandbyArm, StandbyVectors, open_or_stand_by
from recallmesh.telemetry.log import set_up_logging
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.observed import (
    ObservedArm,
    ObservedEmbedder,
    ObservedRecaller,
    ObservedReranker,
    ObservedRetainer,
    ObservedVectors,
)
from recallmesh.telemetry.observed_admin import ObservedAdmin
from recallmesh.traces import open_tracing

T = TypeVar("T")

SWITCH_S = 0.0002
"""How long a thread may hold the interpreter's lock while another waits, in seconds.

Python's own 5 ms is for throughput: with it the event loop waits for a searching thread at each step of a recall. A
fifth of a millisecond takes a recall of 10,000 memories from 36 to 30 ms at 4 % more CPU.
"""
GC_THRESHOLDS = (50_000, 20, 100)
"""Objects made before a collection of the young, and collections before one of the older and the oldest.

A recall makes some ten thousand objects, none of them in cycles. With Python's own 700, looking again and again at what
is resident takes an eighth more CPU time and 2 of 30 ms of the median at 10,000 memories. The larger of what the
programme has set and this counts.
"""
INFO_S = 3.0
"""The most seconds that an embedder elsewhere may take to say what it is; a hundred times what it needs."""


class Part(StrEnum):
    """The services of the mesh; any set of them can run in one process."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    GRAPH = "graph"
    TEMPORAL = "temporal"
    RECALL = "recall"
    RERANKER = "reranker"
    EMBEDDER = "embedder"
    RETAIN = "retain"
    BANK = "bank"


ALL_PARTS = frozenset(Part)
PUBLIC = (Part.RECALL, Part.RETAIN, Part.BANK)
"""The parts whose services are for callers from outside the mesh."""


class Placed(Protocol):
    """The settings of a part: where it runs, if not here, and how long a call may take."""

    @property
    def address(self) -> str | None:
        """Where the part runs; absent: in this process."""
        ...

    @property
    def timeout_s(self) -> float:
        """The most seconds a call may take."""
        ...


@dataclass(slots=True)
class Assembly:
    """One process's parts: each is built once, here, or as a client of the place that its settings name.

    A part in ``hosted`` is built here whatever its address says: the same settings serve every process of a mesh.
    ``given_embedder`` and ``given_reranker`` take the place of those that the settings name.
    """

    settings: Settings
    hosted: frozenset[Part]
    stack: AsyncExitStack
    metrics: Metrics = field(default_factory=Metrics)
    given_embedder: Embedder | None = None
    given_reranker: Reranker | None = None
    _built: dict[str, object] = field(default_factory=dict)

    async def arm(self, name: ArmName) -> Arm:
        """Return an arm, here or there."""
        return await self._once(f"arm {name}", partial(self._open_arm, name))

    async def arms(self) -> dict[ArmName, Arm]:
        """Return the four arms."""
        return {name: await self.arm(name) for name in ArmName}

    async def embedder(self) -> Embedder:
        """Return the embedder, here or there."""
        return await self._once("embedder", self._open_embedder)

    async def reranker(self) -> Reranker | None:
        """Return the reranker, here or there; nothing when it is switched off."""
        return await self._once("reranker", self._open_reranker)

    async def vectors(self) -> VectorIndex:
        """Return the vectors: on their server where there is one, else where the semantic arm is."""
        return await self._once("vectors", self._open_vectors)

    async def ledger(self) -> Ledger:
        """Return the ledger."""
        return await self._once("ledger", lambda: self._enter(parts.open_ledger_here(self.settings, self.metrics)))

    async def recaller(self) -> Recaller:
        """Return the recall orchestrator, here or there."""
        return await self._once("recaller", self._open_recaller)

    async def retainer(self) -> Retainer:
        """Return the retain service, here or there."""
        return await self._once("retainer", self._open_retainer)

    async def admin(self) -> Admin:
        """Return administration, here or there."""
        return await self._once("admin", self._open_admin)

    def address(self, part: Part) -> str | None:
        """Return where a part runs; nothing when it is this process."""
        return None if part in self.hosted else self._placed(part).address

    def _placed(self, part: Part) -> Placed:
        return cast("Placed", getattr(self.settings, part.value))

    async def _once(self, name: str, build: Callable[[], Awaitable[T]]) -> T:
        if name not in self._built:
            self._built[name] = await build()
        return cast("T", self._built[name])

    async def _enter(self, context: AbstractAsyncContextManager[T]) -> T:
        return await self.stack.enter_async_context(context)

    async def mesh_keys(self) -> Callable[[], MeshKeys]:
        """Return how to get the keys by which processes of the mesh know each other, as they are at the time."""
        return await self._once("mesh keys", lambda: self._enter(open_mesh_keys(self.settings.auth)))

    async def _channel(self, address: str) -> Channel:
        return await self._once(f"channel {address}", partial(self._open_channel, address))

    async def _open_channel(self, address: str) -> Channel:
        keys = own_key(await self.mesh_keys())
        return peer_channel(await self._enter(open_channel(address, tls=await self._tls())), keys)

    async def _tls(self) -> LiveTls | None:
        """Return what the calls of this process prove themselves with; nothing where they are not encrypted."""
        files = self.settings.tls.calling
        if files is None:
            return None
        told = self.metrics.observe_certificate
        return await self._once("tls", lambda: self._enter(open_tls(files, told=told)))

    async def _tokens(self) -> TokenCounter:
        async def build() -> TokenCounter:
            return parts.token_counter()

        return await self._once("tokens", build)

    async def _language_model(self) -> LanguageModel | None:
        """Return the language model that the settings name: one for all that ask it, within the same bounds."""
        return await self._once(
            "language model", lambda: self._enter(facts.open_language_model(self.settings, self.metrics))
        )

    async def _open_arm(self, name: ArmName) -> Arm:
        part = Part(name.value)
        address = self.address(part)
        arm = RemoteArm(name, await self._channel(address)) if address else await self._arm_here(name)
        return ObservedArm(arm, name=name, timeout_s=self._placed(part).timeout_s, metrics=self.metrics, at=address)

    async def _arm_here(self, name: ArmName) -> Arm:
        match name:
            case ArmName.SEMANTIC:
                return parts.semantic_arm(await self.vectors())
            case ArmName.TEMPORAL:
                return parts.temporal_arm(self.settings, await self.vectors())
            case ArmName.KEYWORD:
                opening, path = partial(parts.open_keyword_arm, self.settings, self.metrics), self.settings.keyword.path
            case ArmName.GRAPH:
                vectors, info = await self.vectors(), await self._embedder_info()
                opening = partial(parts.open_graph_arm, self.settings, vectors, info, self.metrics)
                path = self.settings.graph.path
        return await self._enter(open_or_stand_by(opening, StandbyArm, self.settings.data / path))

    async def _open_vectors(self) -> VectorIndex:
        address, served = self.address(Part.SEMANTIC), self.settings.semantic.qdrant_url is not None
        index: VectorIndex
        if address and not served:
            index = RemoteVectors(await self._channel(address))
        else:
            opening = partial(parts.open_vectors_here, self.settings, await self._embedder_info(), self.metrics)
            path = self.settings.data / self.settings.semantic.path
            index = await self._enter(open_or_stand_by(opening, StandbyVectors, path))
        at = None if served else address
        return ObservedVectors(index, timeout_s=None, metrics=self.metrics, at=at)

    async def _open_embedder(self) -> Embedder:
        address = self.address(Part.EMBEDDER)
        embedder: Embedder
        if self.given_embedder is not None:
            embedder = self.given_embedder
        elif address:
            embedder = RemoteEmbedder(await self._channel(address))
        else:
            embedder = await self._enter(parts.open_embedder_here(self.settings, self.metrics))
        return ObservedEmbedder(embedder, timeout_s=self.settings.embedder.timeout_s, metrics=self.metrics, at=address)

    async def _open_reranker(self) -> Reranker | None:
        address = self.address(Part.RERANKER)
        reranker: Reranker
        if self.given_reranker is not None:
            reranker = self.given_reranker
        elif address:
            reranker = RemoteReranker(await self._channel(address))
        elif self.settings.reranker.backend == "none":
            return None
        else:
            reranker = await self._enter(parts.open_reranker_here(self.settings, self.metrics))
        return ObservedReranker(reranker, timeout_s=self.settings.reranker.timeout_s, metrics=self.metrics, at=address)

    async def _open_recaller(self) -> Recaller:
        address = self.address(Part.RECALL)
        recaller: Recaller
        if address:
            recaller = RemoteRecaller(await self._channel(address))
        else:
            opening = parts.open_recaller(
                self.settings,
                ledger=await self.ledger(),
                arms=await self.arms(),
                embedder=await self.embedder(),
                reranker=await self.reranker(),
                tokens=await self._tokens(),
                metrics=self.metrics,
                serves=bool(self.hosted),
            )
            recaller = await self._enter(opening)
        return ObservedRecaller(recaller, timeout_s=self.settings.recall.timeout_s, metrics=self.metrics, at=address)

    async def _open_retainer(self) -> Retainer:
        address = self.address(Part.RETAIN)
        retainer: Retainer
        if address:
            retainer = RemoteRetainer(await self._channel(address))
        else:
            retainer = await self._enter(
                retaining.open_retainer(
                    self.settings,
                    ledger=await self.ledger(),
                    arms={name: await self.arm(name) for name in parts.INDEXING_ARMS},
                    embedder=await self.embedder(),
                    extractor=await facts.load_extractor(self.settings, await self._language_model(), self.metrics),
                    writer=facts.observation_writer(self.settings, await self._language_model()),
                    tokens=await self._tokens(),
                    metrics=self.metrics,
                )
            )
        return ObservedRetainer(retainer, timeout_s=self.settings.retain.timeout_s, metrics=self.metrics, at=address)

    async def _open_admin(self) -> Admin:
        address = self.address(Part.BANK)
        admin: Admin
        if address:
            admin = RemoteAdmin(await self._channel(address))
        else:
            admin = parts.admin(
                self.settings,
                ledger=await self.ledger(),
                tokens=await self._tokens(),
                indexes={name: await self.arm(name) for name in parts.INDEXING_ARMS if self._reaches(name)},
            )
        return ObservedAdmin(admin, timeout_s=self.settings.bank.timeout_s, metrics=self.metrics, at=address)

    def _reaches(self, name: ArmName) -> bool:
        """Tell whether this process has an arm anyhow; administration alone must not open an index, which one may."""
        part = Part(name.value)
        having = {part, Part.RECALL, Part.RETAIN}
        return not self.hosted or bool(self.hosted & having) or self.address(part) is not None

    async def _embedder_info(self) -> EmbedderInfo:
        """Ask the embedder what it is: without that no vectors can be opened.

        Raises:
            StoreUnavailable: it does not answer. A server tries again, the command line says so.

        """
        embedder = await self.embedder()
        address = self.address(Part.EMBEDDER)
        if address is None:
            return await embedder.info()
        try:
            with within(INFO_S):
                return await embedder.info()
        except (StoreUnavailable, ArmTimeout) as error:
            raise StoreUnavailable(f"the embedder at {address} does not answer: {error.message}") from error


@asynccontextmanager
async def open_assembly(
    settings: Settings,
    hosted: frozenset[Part],
    *,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
) -> AsyncIterator[Assembly]:
    """Open an assembly; what it builds is closed with it, last first."""
    sys.setswitchinterval(min(SWITCH_S, sys.getswitchinterval()))
    gc.set_threshold(*map(max, GC_THRESHOLDS, gc.get_threshold()))
    async with AsyncExitStack() as stack:
        metrics = Metrics(await stack.enter_async_context(open_tracing(settings.tracing, hosted)))
        yield Assembly(settings, hosted, stack, metrics, given_embedder=embedder, given_reranker=reranker)


@asynccontextmanager
async def open_embedded(settings: Settings) -> AsyncIterator[Client]:
    """Open the mesh in this process; parts whose settings have an address are there.

    A programme that has not configured structlog hears warnings alone, on standard error.
    """
    if not structlog.is_configured():
        set_up_logging(level="warning")
    async with open_assembly(settings, frozenset()) as assembly:
        yield Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
