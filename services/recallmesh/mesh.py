"""The composition root: the only place that knows where things run. It builds the parts, then lets go."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import structlog

from recallmesh import encoders, facts, parts, retaining
from recallmesh.building import Building
from recallmesh.changing import ArmInUse, EncodingsInUse, RecallerInUse
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
from recallmesh.models import KnownModels, ModelsInUse, Role
from recallmesh.part import ALL_PARTS, MODEL_ARMS, PUBLIC, Part
from recallmesh.retain.encoding import Encoding
from recallmesh.retain.language import LanguageModel
from recallmesh.rpc.admin import RemoteAdmin
from recallmesh.rpc.arm import ModelName, RemoteArm, whichever
from recallmesh.rpc.embedder import RemoteEmbedder
from recallmesh.rpc.recaller import RemoteRecaller
from recallmesh.rpc.reranker import RemoteReranker
from recallmesh.rpc.retainer import RemoteRetainer
from recallmesh.rpc.vectors import RemoteVectors
from recallmesh.settings import Settings
from recallmesh.standby import Opening, StandbyArm, StandbyVectors, open_or_stand_by
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
from recallmesh.tempo import keep_tempo
from recallmesh.traces import open_tracing

if TYPE_CHECKING:
    from recallmesh.graph.arm import GraphArm

__all__ = ["ALL_PARTS", "PUBLIC", "Assembly", "Part", "open_assembly", "open_embedded"]

T = TypeVar("T")

INFO_S = 3.0
"""The most seconds that an embedder elsewhere may take to say what it is; a hundred times what it needs."""


@dataclass(slots=True)
class Assembly(Building):
    """One process's parts: each is built once, here, or as a client of the place that its settings name.

    A part in ``hosted`` is built here whatever its address says: the same settings serve every process of a mesh.
    ``given_embedder``, ``given_reranker`` and ``given_next`` take the place of those that the settings name.
    """

    given_embedder: Embedder | None = None
    given_reranker: Reranker | None = None
    given_next: Embedder | None = None
    _graphs: "list[GraphArm]" = field(default_factory=list)

    @property
    def roles(self) -> tuple[Role, ...]:
        """The embedding models that there are: one, or two while they are changed."""
        has_next = self.given_next is not None or self.settings.embedder.next.is_set
        return (Role.MAIN, Role.NEXT) if has_next else (Role.MAIN,)

    async def arm(self, name: ArmName, role: Role = Role.MAIN) -> Arm:
        """Return an arm, here or there, over the vectors of a model."""
        role = role if name in MODEL_ARMS else Role.MAIN
        return await self._once(f"arm {name} {role}", partial(self._open_arm, name, role))

    async def arm_of_model(self, name: str, fingerprint: str) -> Arm:
        """Return the arm of this name over the vectors of the model with a fingerprint; raises ``EmbeddingMismatch``.

        Both were built when the process began to host them.
        """
        arm = ArmName(name)
        return await self.arm(arm, await self._role_of(fingerprint) if arm in MODEL_ARMS else Role.MAIN)

    async def vectors_of_model(self, fingerprint: str) -> VectorIndex:
        """Return the vectors of the model with a fingerprint; raises ``EmbeddingMismatch``."""
        return await self.vectors(await self._role_of(fingerprint))

    async def arms(self, role: Role = Role.MAIN) -> dict[ArmName, Arm]:
        """Return the four arms over the vectors of a model."""
        return {name: await self.arm(name, role) for name in ArmName}

    async def embedder(self, role: Role = Role.MAIN) -> Embedder:
        """Return an embedder, here or there."""
        return await self._once(f"embedder {role}", partial(self._open_embedder, role))

    async def known_models(self) -> KnownModels:
        """Return the embedding models of this process."""

        async def build() -> KnownModels:
            return KnownModels({role: await self.embedder(role) for role in self.roles})

        return await self._once("known models", build)

    async def models(self) -> ModelsInUse:
        """Return what the ledger says of them."""

        async def build() -> ModelsInUse:
            return ModelsInUse(await self.known_models(), await self.ledger())

        return await self._once("models", build)

    async def reranker(self) -> Reranker | None:
        """Return the reranker, here or there; nothing when it is switched off."""
        return await self._once("reranker", self._open_reranker)

    async def vectors(self, role: Role = Role.MAIN) -> VectorIndex:
        """Return a model's vectors: on their server where there is one, else where the semantic arm is."""
        return await self._once(f"vectors {role}", partial(self._open_vectors, role))

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

    async def _tokens(self) -> TokenCounter:
        async def build() -> TokenCounter:
            return parts.token_counter()

        return await self._once("tokens", build)

    async def _language_model(self) -> LanguageModel | None:
        """Return the language model that the settings name: one for all that ask it, within the same bounds."""
        return await self._once(
            "language model", lambda: self._enter(facts.open_language_model(self.settings, self.metrics))
        )

    async def _role_of(self, fingerprint: str) -> Role:
        return await (await self.known_models()).role_of(fingerprint)

    async def _meaning(self, role: Role) -> ModelName:
        return partial((await self.known_models()).meant, role)

    async def _open_arm(self, name: ArmName, role: Role) -> Arm:
        part = Part(name.value)
        address = self.address(part)
        arm: Arm
        if address:
            model = await self._meaning(role) if name in MODEL_ARMS else whichever
            arm = RemoteArm(name, await self._channel(address), model=model)
        else:
            arm = await self._arm_here(name, role)
        return ObservedArm(arm, name=name, timeout_s=self._placed(part).timeout_s, metrics=self.metrics, at=address)

    async def _arm_here(self, name: ArmName, role: Role) -> Arm:
        opening: Opening[Arm]
        match name:
            case ArmName.SEMANTIC:
                return parts.semantic_arm(await self.vectors(role))
            case ArmName.TEMPORAL:
                return parts.temporal_arm(self.settings, await self.vectors(role))
            case ArmName.KEYWORD:
                opening, path = partial(parts.open_keyword_arm, self.settings, self.metrics), self.settings.keyword.path
            case ArmName.GRAPH if role is Role.MAIN:
                vectors, info = await self.vectors(), await self._embedder_info(role)
                made = self._graphs.append
                opening = partial(parts.open_graph_arm, self.settings, vectors, info, self.metrics, made)
                path = self.settings.graph.path
            case ArmName.GRAPH:
                await self.arm(name)
                opening, path = partial(self._open_graph_over, role), self.settings.graph.path
        return await self._enter(open_or_stand_by(opening, StandbyArm, self.settings.data / path))

    @asynccontextmanager
    async def _open_graph_over(self, role: Role) -> AsyncIterator[Arm]:
        """Open the graph arm over a second model's vectors; the store is the first one's."""
        vectors, info = await self.vectors(role), await self._embedder_info(role)
        if not self._graphs:
            raise StoreUnavailable("the graph is not open yet")
        yield self._graphs[-1].over(vectors, cosine_mean=info.cosine_mean, cosine_high=info.cosine_high)

    async def _open_vectors(self, role: Role) -> VectorIndex:
        address, served = self.address(Part.SEMANTIC), self.settings.semantic.qdrant_url is not None
        index: VectorIndex
        if address and not served:
            index = RemoteVectors(await self._channel(address), model=await self._meaning(role))
        else:
            if role is Role.MAIN:
                await self._embedder_info(role)  # without it this process is not ready; without the next one it is
            opening = partial(self._open_vectors_here, role)
            path = self.settings.data / self.settings.semantic.path
            index = await self._enter(open_or_stand_by(opening, StandbyVectors, path))
        at = None if served else address
        return ObservedVectors(index, timeout_s=None, metrics=self.metrics, at=at)

    @asynccontextmanager
    async def _open_vectors_here(self, role: Role) -> AsyncIterator[VectorIndex]:
        info, awaited = await self._embedder_info(role), role is Role.NEXT
        async with parts.open_vectors_here(self.settings, info, self.metrics, awaited=awaited) as vectors:
            yield vectors

    async def _open_embedder(self, role: Role) -> Embedder:
        address = self._embedder_address(role)
        given = self.given_embedder if role is Role.MAIN else self.given_next
        embedder: Embedder
        if given is not None:
            embedder = given
        elif address:
            embedder = RemoteEmbedder(await self._channel(address))
        else:
            following = role is Role.NEXT
            embedder = await self._enter(encoders.open_embedder_here(self.settings, self.metrics, following=following))
        return ObservedEmbedder(embedder, timeout_s=self.settings.embedder.timeout_s, metrics=self.metrics, at=address)

    def _embedder_address(self, role: Role) -> str | None:
        return self.address(Part.EMBEDDER) if role is Role.MAIN else self.settings.embedder.next.address

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
            reranker = await self._enter(encoders.open_reranker_here(self.settings, self.metrics))
        return ObservedReranker(reranker, timeout_s=self.settings.reranker.timeout_s, metrics=self.metrics, at=address)

    async def _open_recaller(self) -> Recaller:
        address = self.address(Part.RECALL)
        recaller: Recaller
        if address:
            recaller = RemoteRecaller(await self._channel(address))
        else:
            recallers = {role: await self._recaller_here(role) for role in self.roles}
            recaller = RecallerInUse(recallers, await self.models())
        return ObservedRecaller(recaller, timeout_s=self.settings.recall.timeout_s, metrics=self.metrics, at=address)

    async def _recaller_here(self, role: Role) -> Recaller:
        opening = parts.open_recaller(
            self.settings,
            ledger=await self.ledger(),
            arms=await self.arms(role),
            embedder=await self.embedder(role),
            reranker=await self.reranker(),
            tokens=await self._tokens(),
            metrics=self.metrics,
            serves=bool(self.hosted),
        )
        return await self._enter(opening)

    async def _encodings(self) -> EncodingsInUse:
        written = [name for name in parts.INDEXING_ARMS if name in MODEL_ARMS]
        found = {
            role: Encoding(await self.embedder(role), {name: await self.arm(name, role) for name in written})
            for role in self.roles
        }
        return EncodingsInUse(found, await self.models())

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
                    encodings=await self._encodings(),
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
                indexes={name: await self._index(name) for name in parts.INDEXING_ARMS if self._reaches(name)},
            )
        return ObservedAdmin(admin, timeout_s=self.settings.bank.timeout_s, metrics=self.metrics, at=address)

    async def _index(self, name: ArmName) -> Arm:
        if name is not ArmName.SEMANTIC:
            return await self.arm(name)
        return ArmInUse({role: await self.arm(name, role) for role in self.roles}, await self.models())

    def _reaches(self, name: ArmName) -> bool:
        """Tell whether this process has an arm anyhow; administration alone must not open an index, which one may."""
        part = Part(name.value)
        having = {part, Part.RECALL, Part.RETAIN}
        return not self.hosted or bool(self.hosted & having) or self.address(part) is not None

    async def _embedder_info(self, role: Role) -> EmbedderInfo:
        """Ask an embedder what it is: without that no vectors can be opened.

        Raises:
            StoreUnavailable: it does not answer. A server tries again, the command line says so.

        """
        embedder, address = await self.embedder(role), self._embedder_address(role)
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
    next_embedder: Embedder | None = None,
) -> AsyncIterator[Assembly]:
    """Open an assembly; what it builds is closed with it, last first."""
    keep_tempo()
    async with AsyncExitStack() as stack:
        metrics = Metrics(await stack.enter_async_context(open_tracing(settings.tracing, hosted)))
        yield Assembly(settings, hosted, stack, metrics, embedder, reranker, next_embedder)


@asynccontextmanager
async def open_embedded(settings: Settings) -> AsyncIterator[Client]:
    """Open the mesh in this process; parts whose settings have an address are there.

    A programme that has not configured structlog hears warnings alone, on standard error.
    """
    if not structlog.is_configured():
        set_up_logging(level="warning")
    async with open_assembly(settings, frozenset()) as assembly:
        yield Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
