# ruff: noqa: N802, D102 - the generated service names its methods
"""The port of entities over the wire."""

from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.admin import Entities
from recallmesh.core.bank import BankRef
from recallmesh.core.entity import Entity
from recallmesh.core.entity_ledger import EntitySplit
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.resolution import EntityExplanation, EntityQuestion
from recallmesh.rpc.call import unary
from recallmesh.rpc.codec.bank import bank_ref
from recallmesh.rpc.codec.entity import entity_from_pb, entity_to_pb
from recallmesh.rpc.codec.resolution import explanation_from_pb, explanation_to_pb, question_from_pb, question_to_pb
from recallmesh.rpc.page import page_from_pb, page_to_pb, token_to_pb
from recallmesh.rpc.request import tenant_of
from recallmesh.v1 import entity_service_pb2 as pb
from recallmesh.v1 import entity_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]


class EntityServicer(entity_service_pb2_grpc.EntityServiceServicer):
    """Translates calls to entities."""

    def __init__(self, entities: Entities) -> None:
        """Offer these entities."""
        self._entities = entities

    async def GetEntity(self, request: pb.GetEntityRequest, context: Context) -> pb.GetEntityResponse:
        entity = await self._entities.get_entity(bank_ref(request.bank_id, tenant_of(context)), request.entity_id)
        return pb.GetEntityResponse(entity=entity_to_pb(entity))

    async def ListEntities(self, request: pb.ListEntitiesRequest, context: Context) -> pb.ListEntitiesResponse:
        tenant = tenant_of(context)

        def write(page: Page[Entity]) -> pb.ListEntitiesResponse:
            token = token_to_pb(request, page.next_after, tenant)
            return pb.ListEntitiesResponse(
                entities=[entity_to_pb(entity) for entity in page.rows], next_page_token=token
            )

        wanted = page_from_pb(request, request.page_size, request.page_token, tenant)
        return await page_to_pb(partial(self._entities.list_entities, bank_ref(request.bank_id, tenant)), wanted, write)

    async def MergeEntities(self, request: pb.MergeEntitiesRequest, context: Context) -> pb.MergeEntitiesResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        entity = await self._entities.merge_entities(ref, request.into_id, tuple(request.from_ids))
        return pb.MergeEntitiesResponse(entity=entity_to_pb(entity))

    async def SplitEntity(self, request: pb.SplitEntityRequest, context: Context) -> pb.SplitEntityResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        split = EntitySplit(request.name, tuple(request.memory_ids), tuple(request.aliases))
        entity, new = await self._entities.split_entity(ref, request.entity_id, split)
        return pb.SplitEntityResponse(entity=entity_to_pb(entity), new_entity=entity_to_pb(new))

    async def AddEntityAlias(self, request: pb.AddEntityAliasRequest, context: Context) -> pb.AddEntityAliasResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        entity = await self._entities.add_entity_alias(ref, request.entity_id, request.alias)
        return pb.AddEntityAliasResponse(entity=entity_to_pb(entity))

    async def ExplainEntity(self, request: pb.ExplainEntityRequest, context: Context) -> pb.ExplainEntityResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        return explanation_to_pb(await self._entities.explain_entity(ref, question_from_pb(request)))


class RemoteEntities:
    """Entities at the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach the entities; ``timeout_s`` bounds each call, within the deadline in hand."""
        self._entities = entity_service_pb2_grpc.EntityServiceStub(channel)
        self._timeout_s = timeout_s

    async def get_entity(self, ref: BankRef, entity_id: str) -> Entity:
        """Return an entity."""
        request = partial(pb.GetEntityRequest, bank_id=ref.bank_id, entity_id=entity_id)
        found = await unary(self._entities.GetEntity, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return entity_from_pb(found.entity)

    async def list_entities(self, ref: BankRef, page: PageRequest) -> Page[Entity]:
        """List entities; the keys to go on from are page tokens."""
        request = partial(pb.ListEntitiesRequest, bank_id=ref.bank_id, page_size=page.size, page_token=page.after)
        found = await unary(self._entities.ListEntities, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return Page(tuple(entity_from_pb(entity) for entity in found.entities), found.next_page_token)

    async def merge_entities(self, ref: BankRef, into_id: str, from_ids: tuple[str, ...]) -> Entity:
        """Make several entities one."""
        request = partial(pb.MergeEntitiesRequest, bank_id=ref.bank_id, into_id=into_id, from_ids=from_ids)
        found = await unary(self._entities.MergeEntities, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return entity_from_pb(found.entity)

    async def split_entity(self, ref: BankRef, entity_id: str, split: EntitySplit) -> tuple[Entity, Entity]:
        """Make a new entity of some of one's memories and aliases."""
        request = partial(
            pb.SplitEntityRequest,
            bank_id=ref.bank_id,
            entity_id=entity_id,
            name=split.name,
            memory_ids=split.memory_ids,
            aliases=split.aliases,
        )
        found = await unary(self._entities.SplitEntity, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return entity_from_pb(found.entity), entity_from_pb(found.new_entity)

    async def add_entity_alias(self, ref: BankRef, entity_id: str, alias: str) -> Entity:
        """Give an entity another name."""
        request = partial(pb.AddEntityAliasRequest, bank_id=ref.bank_id, entity_id=entity_id, alias=alias)
        found = await unary(self._entities.AddEntityAlias, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return entity_from_pb(found.entity)

    async def explain_entity(self, ref: BankRef, question: EntityQuestion) -> EntityExplanation:
        """Tell what a name would resolve to and why."""
        request = partial(question_to_pb, ref.bank_id, question)
        found = await unary(self._entities.ExplainEntity, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return explanation_from_pb(found)
