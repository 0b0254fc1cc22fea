# ruff: noqa: N802, D102 - the generated service names its methods
"""The port of memories over the wire."""

from functools import partial
from typing import Any

import grpc.aio

from recallmesh.core.admin import Memories
from recallmesh.core.bank import BankRef
from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.entity import TagCount
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import Memory
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import EVERYTHING, TagTest
from recallmesh.rpc.call import unary
from recallmesh.rpc.codec.bank import bank_ref
from recallmesh.rpc.codec.listing import edit_from_pb, edit_to_pb, filter_from_pb, filter_to_pb
from recallmesh.rpc.codec.memory import memory_from_pb, memory_to_pb, version_from_pb, version_to_pb
from recallmesh.rpc.codec.tag import tag_count_from_pb, tag_count_to_pb, tag_test_from_pb, tag_test_to_pb
from recallmesh.rpc.page import page_from_pb, page_to_pb, token_to_pb
from recallmesh.rpc.request import tenant_of
from recallmesh.v1 import memory_service_pb2 as pb
from recallmesh.v1 import memory_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]


class MemoryServicer(memory_service_pb2_grpc.MemoryServiceServicer):
    """Translates calls to memories; what the port has not yet is UNIMPLEMENTED."""

    def __init__(self, memories: Memories) -> None:
        """Offer these memories."""
        self._memories = memories

    async def GetMemory(self, request: pb.GetMemoryRequest, context: Context) -> pb.GetMemoryResponse:
        ref, visible = bank_ref(request.bank_id, tenant_of(context)), tag_test_from_pb(request.tags)
        memory = await self._memories.get_memory(ref, request.memory_id, visible=visible)
        return pb.GetMemoryResponse(memory=memory_to_pb(memory))

    async def ListMemories(self, request: pb.ListMemoriesRequest, context: Context) -> pb.ListMemoriesResponse:
        tenant = tenant_of(context)

        def write(page: Page[Memory]) -> pb.ListMemoriesResponse:
            rows = [memory_to_pb(memory) for memory in page.rows]
            return pb.ListMemoriesResponse(memories=rows, next_page_token=token_to_pb(request, page.next_after, tenant))

        wanted = page_from_pb(request, request.page_size, request.page_token, tenant)
        read = partial(self._memories.list_memories, bank_ref(request.bank_id, tenant), filter_from_pb(request))
        return await page_to_pb(read, wanted, write)

    async def UpdateMemory(self, request: pb.UpdateMemoryRequest, context: Context) -> pb.UpdateMemoryResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        memory = await self._memories.edit_memory(ref, request.memory_id, edit_from_pb(request))
        return pb.UpdateMemoryResponse(memory=memory_to_pb(memory))

    async def InvalidateMemory(
        self, request: pb.InvalidateMemoryRequest, context: Context
    ) -> pb.InvalidateMemoryResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        memory = await self._memories.invalidate_memory(ref, request.memory_id)
        return pb.InvalidateMemoryResponse(memory=memory_to_pb(memory))

    async def RestoreMemory(self, request: pb.RestoreMemoryRequest, context: Context) -> pb.RestoreMemoryResponse:
        ref = bank_ref(request.bank_id, tenant_of(context))
        memory = await self._memories.restore_memory(ref, request.memory_id)
        return pb.RestoreMemoryResponse(memory=memory_to_pb(memory))

    async def DeleteMemory(self, request: pb.DeleteMemoryRequest, context: Context) -> pb.DeleteMemoryResponse:
        await self._memories.delete_memory(bank_ref(request.bank_id, tenant_of(context)), request.memory_id)
        return pb.DeleteMemoryResponse()

    async def GetMemoryHistory(
        self, request: pb.GetMemoryHistoryRequest, context: Context
    ) -> pb.GetMemoryHistoryResponse:
        tenant = tenant_of(context)

        def write(page: Page[MemoryVersion]) -> pb.GetMemoryHistoryResponse:
            rows = [version_to_pb(version) for version in page.rows]
            token = token_to_pb(request, page.next_after, tenant)
            return pb.GetMemoryHistoryResponse(versions=rows, next_page_token=token)

        wanted = page_from_pb(request, request.page_size, request.page_token, tenant)
        ref, visible = bank_ref(request.bank_id, tenant), tag_test_from_pb(request.tags)
        read = partial(self._memories.memory_history, ref, request.memory_id, visible=visible)
        return await page_to_pb(read, wanted, write)

    async def ListTags(self, request: pb.ListTagsRequest, context: Context) -> pb.ListTagsResponse:
        tenant = tenant_of(context)

        def write(page: Page[TagCount]) -> pb.ListTagsResponse:
            token = token_to_pb(request, page.next_after, tenant)
            return pb.ListTagsResponse(tags=[tag_count_to_pb(count) for count in page.rows], next_page_token=token)

        wanted = page_from_pb(request, request.page_size, request.page_token, tenant)
        return await page_to_pb(partial(self._memories.list_tags, bank_ref(request.bank_id, tenant)), wanted, write)


class RemoteMemories:
    """Memories at the other end of a channel."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout_s: float | None = 30.0) -> None:
        """Reach the memories; ``timeout_s`` bounds each call, within the deadline in hand."""
        self._memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self._timeout_s = timeout_s

    async def get_memory(self, ref: BankRef, memory_id: str, *, visible: TagTest = EVERYTHING) -> Memory:
        """Return a memory in whatever state."""
        tags = tag_test_to_pb(visible)
        request = partial(pb.GetMemoryRequest, bank_id=ref.bank_id, memory_id=memory_id, tags=tags)
        found = await unary(self._memories.GetMemory, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return memory_from_pb(found.memory)

    async def list_memories(self, ref: BankRef, wanted: MemoryFilter, page: PageRequest) -> Page[Memory]:
        """List memories; the keys to go on from are page tokens."""
        request = partial(filter_to_pb, ref.bank_id, wanted, page)
        found = await unary(self._memories.ListMemories, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return Page(tuple(memory_from_pb(memory) for memory in found.memories), found.next_page_token)

    async def edit_memory(self, ref: BankRef, memory_id: str, edit: MemoryEdit) -> Memory:
        """Change a memory. Its tokens are counted where it is kept: ``edit.tokens`` does not travel."""
        request = partial(edit_to_pb, ref.bank_id, memory_id, edit)
        found = await unary(self._memories.UpdateMemory, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return memory_from_pb(found.memory)

    async def invalidate_memory(self, ref: BankRef, memory_id: str) -> Memory:
        """Hide a memory from recall."""
        request = partial(pb.InvalidateMemoryRequest, bank_id=ref.bank_id, memory_id=memory_id)
        found = await unary(self._memories.InvalidateMemory, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return memory_from_pb(found.memory)

    async def restore_memory(self, ref: BankRef, memory_id: str) -> Memory:
        """Undo an invalidation."""
        request = partial(pb.RestoreMemoryRequest, bank_id=ref.bank_id, memory_id=memory_id)
        found = await unary(self._memories.RestoreMemory, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return memory_from_pb(found.memory)

    async def delete_memory(self, ref: BankRef, memory_id: str) -> None:
        """Delete a memory for good."""
        request = partial(pb.DeleteMemoryRequest, bank_id=ref.bank_id, memory_id=memory_id)
        await unary(self._memories.DeleteMemory, request, timeout_s=self._timeout_s, tenant=ref.tenant)

    async def memory_history(
        self, ref: BankRef, memory_id: str, page: PageRequest, *, visible: TagTest = EVERYTHING
    ) -> Page[MemoryVersion]:
        """List what a memory said; the keys to go on from are page tokens."""

        def request() -> pb.GetMemoryHistoryRequest:
            tags = tag_test_to_pb(visible)
            return pb.GetMemoryHistoryRequest(
                bank_id=ref.bank_id, memory_id=memory_id, tags=tags, page_size=page.size, page_token=page.after
            )

        found = await unary(self._memories.GetMemoryHistory, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return Page(tuple(version_from_pb(version) for version in found.versions), found.next_page_token)

    async def list_tags(self, ref: BankRef, page: PageRequest) -> Page[TagCount]:
        """List tags with their counts; the keys to go on from are page tokens."""
        request = partial(pb.ListTagsRequest, bank_id=ref.bank_id, page_size=page.size, page_token=page.after)
        found = await unary(self._memories.ListTags, request, timeout_s=self._timeout_s, tenant=ref.tenant)
        return Page(tuple(tag_count_from_pb(count) for count in found.tags), found.next_page_token)
