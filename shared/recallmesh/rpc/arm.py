# ruff: noqa: N802, D102, ARG002 - the generated service names its methods and what they are given
"""The arm's port over the wire: the service that offers arms, and the client that is one."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import grpc.aio

from recallmesh.core.arm import Arm, ArmName, ArmQuery, Hit, Indexed, IndexEntry, Removal
from recallmesh.core.errors import FieldViolation, InvalidArgument, Unimplemented
from recallmesh.core.page import Page, PageRequest
from recallmesh.rpc.call import unary
from recallmesh.rpc.codec.arm import (
    entry_from_pb,
    entry_to_pb,
    hits_from_pb,
    hits_to_pb,
    indexed_page,
    indexed_to_pb,
    removal_from_pb,
    removal_to_pb,
    search_from_pb,
    search_to_pb,
)
from recallmesh.rpc.health import check_health
from recallmesh.rpc.hosted import Hosted
from recallmesh.rpc.page import page_from_pb, page_to_pb, token_to_pb
from recallmesh.rpc.split import split
from recallmesh.rpc.weighing import weighed
from recallmesh.v1 import arm_service_pb2 as pb
from recallmesh.v1 import arm_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]
SERVICE = "recallmesh.v1.ArmService"
NO_TENANT = ""
"""Page tokens of internal calls: a bank's uid belongs to one tenant already."""


ArmOfModel = Callable[[str, str], Awaitable[Arm]]
"""Returns the arm of a name over the vectors of the model with a fingerprint; raises ``EmbeddingMismatch``."""
ModelName = Callable[[], Awaitable[str]]
"""Tells the fingerprint of the model that is meant; empty: whichever is at the other end."""


def host_arms(arms: Mapping[str, Arm], *, of_model: ArmOfModel | None = None) -> Hosted:
    """Offer arms by their names, each with its own health name (``recallmesh.v1.ArmService/keyword``).

    ``of_model`` finds those that requests with a model mean; without it, it is the arm of the name in any case.
    """
    checks = {f"{SERVICE}/{name}": arm.check for name, arm in arms.items()}
    servicer = ArmServicer(arms, of_model)
    return Hosted(
        (SERVICE,), lambda server: arm_service_pb2_grpc.add_ArmServiceServicer_to_server(servicer, server), checks
    )


class ArmServicer(arm_service_pb2_grpc.ArmServiceServicer):
    """Translates calls to the arms it was given."""

    def __init__(self, arms: Mapping[str, Arm], of_model: ArmOfModel | None = None) -> None:
        """Offer these arms."""
        self._arms = dict(arms)
        self._of_model = of_model

    async def Search(self, request: pb.SearchRequest, context: Context) -> pb.SearchResponse:
        return hits_to_pb(await (await self._arm(request)).search(search_from_pb(_in_bank(request))))

    async def Index(self, request: pb.IndexRequest, context: Context) -> pb.IndexResponse:
        entries = tuple(entry_from_pb(entry, f"entries[{n}]") for n, entry in enumerate(request.entries))
        await (await self._arm(request)).index(_in_bank(request).bank_uid, entries)
        return pb.IndexResponse()

    async def Remove(self, request: pb.RemoveRequest, context: Context) -> pb.RemoveResponse:
        removals = tuple(removal_from_pb(removal) for removal in request.removals)
        await (await self._arm(request)).remove(_in_bank(request).bank_uid, removals)
        return pb.RemoveResponse()

    async def DropBank(self, request: pb.DropBankRequest, context: Context) -> pb.DropBankResponse:
        await (await self._arm(request)).drop(_in_bank(request).bank_uid)
        return pb.DropBankResponse()

    async def ListIndexed(self, request: pb.ListIndexedRequest, context: Context) -> pb.ListIndexedResponse:
        arm = await self._arm(request)
        bank_uid = _in_bank(request).bank_uid

        def write(page: Page[Indexed]) -> pb.ListIndexedResponse:
            token = token_to_pb(request, page.next_after, NO_TENANT)
            return pb.ListIndexedResponse(rows=[indexed_to_pb(row) for row in page.rows], next_page_token=token)

        wanted = page_from_pb(request, request.page_size, request.page_token, NO_TENANT)
        if not request.page_token:
            wanted = PageRequest(wanted.size, request.after_id)
        return await page_to_pb(lambda page: arm.scan(bank_uid, page), wanted, write)

    async def _arm(self, request: "OfArm") -> Arm:
        """Return the arm that a request names.

        Raises:
            InvalidArgument: none is named.
            Unimplemented: it is not hosted here.
            EmbeddingMismatch: its vectors are not of the model that the request means.

        """
        name = request.arm
        if not name:
            raise InvalidArgument(FieldViolation("arm", "is required"))
        found = self._arms.get(name)
        if found is None:
            raise Unimplemented(f"this process hosts no arm of that name; it hosts {', '.join(sorted(self._arms))}")
        if request.model and self._of_model is not None:
            return await self._of_model(name, request.model)
        return found


OfArm = pb.SearchRequest | pb.IndexRequest | pb.RemoveRequest | pb.DropBankRequest | pb.ListIndexedRequest
InBank = TypeVar(
    "InBank", pb.SearchRequest, pb.IndexRequest, pb.RemoveRequest, pb.DropBankRequest, pb.ListIndexedRequest
)


def _in_bank(request: InBank) -> InBank:
    """Return a request that names its bank."""
    if not request.bank_uid:
        raise InvalidArgument(FieldViolation("bank_uid", "is required"))
    return request


async def whichever() -> str:
    """Mean no model in particular."""
    return ""


class RemoteArm:
    """An arm at the other end of a channel."""

    def __init__(
        self,
        name: ArmName | str,
        channel: grpc.aio.Channel,
        *,
        model: ModelName = whichever,
        timeout_s: float | None = 10.0,
    ) -> None:
        """Reach the arm of this name; ``timeout_s`` bounds each call, within the deadline in hand.

        ``model`` tells which model its vectors are of, where it has any.
        """
        self._name = str(name)
        self._channel = channel
        self._stub = arm_service_pb2_grpc.ArmServiceStub(weighed(channel))
        self._model = model
        self._timeout_s = timeout_s

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:
        """Return the hits, best first."""
        if not query.fact_types:
            return ()
        model = await self._model() if query.vector is not None else ""
        request = partial(search_to_pb, self._name, query, model)
        return hits_from_pb(await unary(self._stub.Search, request, timeout_s=self._timeout_s))

    async def index(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Store the entries, in as many messages as their sizes need."""
        model = await self._model()
        for part in split(entries, entry_to_pb):
            request = partial(pb.IndexRequest, arm=self._name, bank_uid=bank_uid, entries=part, model=model)
            await unary(self._stub.Index, request, timeout_s=self._timeout_s)

    async def remove(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out, in as many messages as their number needs."""
        model = await self._model()
        for part in split(removals, removal_to_pb):
            request = partial(pb.RemoveRequest, arm=self._name, bank_uid=bank_uid, removals=part, model=model)
            await unary(self._stub.Remove, request, timeout_s=self._timeout_s)

    async def drop(self, bank_uid: str) -> None:
        """Take a whole bank out."""
        request = partial(pb.DropBankRequest, arm=self._name, bank_uid=bank_uid, model=await self._model())
        await unary(self._stub.DropBank, request, timeout_s=self._timeout_s)

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List what is indexed of a bank, by memory id."""
        request = partial(
            pb.ListIndexedRequest,
            arm=self._name,
            bank_uid=bank_uid,
            page_size=page.size,
            after_id=page.after,
            model=await self._model(),
        )
        found = await unary(self._stub.ListIndexed, request, timeout_s=self._timeout_s)
        return indexed_page(found.rows, found.next_page_token)

    async def check(self) -> None:
        """Return if the arm says that it is ready."""
        await check_health(self._channel, f"{SERVICE}/{self._name}", timeout_s=self._timeout_s)
