"""The embedding models of one process: one, or two while models are changed; and which of them is in use."""

import asyncio
import time
from collections.abc import Callable, Mapping
from enum import StrEnum

import structlog

from recallmesh.core.encoder import Embedder
from recallmesh.core.errors import EmbeddingMismatch, MeshError, NotReady, StoreUnavailable
from recallmesh.core.models import ModelLedger, ModelUse

SEEN_S = 1.0
"""How long a recall may go on with what the ledger said before, in seconds: a switch is seen after that."""

INFO_S = 2.0
"""The most seconds that an embedder may take to say what it is; a hundred times what it needs."""
SILENT_S = 5.0
"""Seconds after which an embedder that did not answer is asked again what it is."""

_log = structlog.get_logger("recallmesh.models")


class Role(StrEnum):
    """Which of its settings a process has a model by; to others it means nothing."""

    MAIN = "main"
    NEXT = "next"


class KnownModels:
    """The models that a process can reach, by their roles and by their fingerprints."""

    def __init__(self, embedders: Mapping[Role, Embedder], *, clock: Callable[[], float] = time.monotonic) -> None:
        """Know these; the embedders say what they are. ``clock`` gives seconds."""
        self._embedders = embedders
        self._clock = clock
        self._silent: dict[Role, float] = {}

    @property
    def roles(self) -> tuple[Role, ...]:
        """Those that there are."""
        return tuple(self._embedders)

    async def fingerprint(self, role: Role) -> str:
        """Return a model's fingerprint.

        Raises:
            StoreUnavailable: its embedder does not answer, or did not a moment ago: who asks does other things too.

        """
        if self._clock() < self._silent.get(role, 0.0):
            raise StoreUnavailable(f"the {role} embedder does not answer")
        try:
            async with asyncio.timeout(INFO_S):
                return (await self._embedders[role].info()).fingerprint
        except (MeshError, TimeoutError) as error:
            self._silent[role] = self._clock() + SILENT_S
            raise StoreUnavailable(f"the {role} embedder does not answer") from error

    async def meant(self, role: Role) -> str:
        """Return what a request over the wire says of the model that it means.

        Of the main model, whose embedder may be away while memories are taken out or listed, nothing is better than
        nothing done: it is the main one at the other end as well.
        """
        try:
            return await self.fingerprint(role)
        except StoreUnavailable:
            if role is Role.MAIN:
                return ""
            raise

    async def find(self, fingerprint: str) -> Role | None:
        """Return which model has a fingerprint; nothing where none here has.

        Raises:
            StoreUnavailable: one whose embedder does not answer may be it.

        """
        silent: StoreUnavailable | None = None
        for role in self._embedders:
            try:
                if await self.fingerprint(role) == fingerprint:
                    return role
            except StoreUnavailable as error:
                silent = error
        if silent is not None:
            raise silent
        return None

    async def role_of(self, fingerprint: str) -> Role:
        """Return which model has a fingerprint.

        Raises:
            EmbeddingMismatch: none here has.
            StoreUnavailable: one whose embedder does not answer may be it.

        """
        found = await self.find(fingerprint)
        if found is None:
            here = [await self.meant(role) for role in self._embedders]
            raise EmbeddingMismatch(f"this process has vectors of {', '.join(here)}, not of {fingerprint}")
        return found


class ModelsInUse:
    """Which of a process's models the mesh uses: the ledger says so, for all its processes alike."""

    def __init__(self, known: KnownModels, ledger: ModelLedger, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Ask this ledger; ``clock`` gives seconds."""
        self._known = known
        self._ledger = ledger
        self._clock = clock
        self._seen = Role.MAIN
        self._until: float | None = None
        self._first = asyncio.Lock()
        self._told: ModelUse | None = None

    async def in_use(self) -> Role:
        """Return the model that answers, as the ledger said a second ago at most.

        Raises:
            NotReady: the models are being changed, and this process does not have the one in use.
            StoreUnavailable: the ledger never answered.

        """
        if self._until is None:
            async with self._first:
                if self._until is None:
                    await self._look()
        elif self._clock() >= self._until:
            # Others go on with what is known meanwhile.
            self._until = self._clock() + SEEN_S
            try:
                await self._look()
            except StoreUnavailable as error:
                _log.warning("models.unseen", error=error.message)
        return self._seen

    async def written(self) -> tuple[Role, Role | None]:
        """Return the model in use and the one written beside it, as the ledger says now; absent: none that is here.

        Raises:
            NotReady: the models are being changed, and this process does not have the one in use.
            StoreUnavailable: the ledger does not answer, or which models these are is not known.

        """
        use = await self._ledger.model_use()
        if use is None:
            return Role.MAIN, None
        in_use = await self._of(use)
        beside: Role | None = None
        if use.beside is not None:
            try:
                beside = await self._known.find(use.beside.fingerprint)
            except StoreUnavailable:
                beside = None  # what is not written now a backfill brings
        return in_use, beside

    async def _look(self) -> None:
        use = await self._ledger.model_use()
        try:
            self._seen = Role.MAIN if use is None else await self._of(use)
        except StoreUnavailable:
            # Of an embedder that is away there is no vector either; the arms that need none answer.
            self._seen = Role.MAIN
        self._until = self._clock() + SEEN_S

    async def _of(self, use: ModelUse) -> Role:
        """Return the role of the model in use."""
        role = await self._known.find(use.in_use.fingerprint)
        if role is not None:
            return role
        if use.beside is not None:
            raise NotReady(
                f"the mesh is changing its embedding model and uses {use.in_use.fingerprint}, which this process has"
                " not: set it as the embedder, or as the embedder's NEXT, until the change is over"
            )
        if use != self._told:
            self._told = use
            _log.warning(
                "the embedding model was changed past the ledger",
                in_use=use.in_use.fingerprint,
                remedy="make its vectors: recallmesh repair; docs/operation.md has a change without a gap",
            )
        return Role.MAIN
