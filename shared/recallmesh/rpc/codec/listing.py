"""Which memories to list and what to change of one, on the wire."""

from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.page import PageRequest
from recallmesh.rpc.codec.enums import FACT_TYPE, MEMORY_STATE
from recallmesh.rpc.codec.tag import tag_test_from_pb, tag_test_to_pb
from recallmesh.v1 import memory_service_pb2, tag_pb2


def filter_to_pb(bank_id: str, wanted: MemoryFilter, page: PageRequest) -> memory_service_pb2.ListMemoriesRequest:
    """Write which memories to list."""
    return memory_service_pb2.ListMemoriesRequest(
        bank_id=bank_id,
        page_size=page.size,
        page_token=page.after,
        fact_types=[FACT_TYPE.to_pb(fact_type) for fact_type in wanted.fact_types],
        states=[MEMORY_STATE.to_pb(state) for state in wanted.states],
        tags=tag_test_to_pb(wanted.tags),
        document_id=wanted.document_id,
        entity_id=wanted.entity_id,
    )


def filter_from_pb(message: memory_service_pb2.ListMemoriesRequest) -> MemoryFilter:
    """Read which memories to list."""
    return MemoryFilter(
        fact_types=tuple(FACT_TYPE.at_door(number, "fact_types") for number in message.fact_types),
        states=tuple(MEMORY_STATE.at_door(number, "states") for number in message.states),
        tags=tag_test_from_pb(message.tags),
        document_id=message.document_id,
        entity_id=message.entity_id,
    )


def edit_to_pb(bank_id: str, memory_id: str, edit: MemoryEdit) -> memory_service_pb2.UpdateMemoryRequest:
    """Write what to change of a memory; its tokens are counted where it is kept."""
    return memory_service_pb2.UpdateMemoryRequest(
        bank_id=bank_id,
        memory_id=memory_id,
        text=edit.text,
        tags=None if edit.tags is None else tag_pb2.TagSet(tags=edit.tags),
        context=edit.context,
    )


def edit_from_pb(message: memory_service_pb2.UpdateMemoryRequest) -> MemoryEdit:
    """Read what to change of a memory."""
    return MemoryEdit(
        text=message.text if message.HasField("text") else None,
        tags=tuple(message.tags.tags) if message.HasField("tags") else None,
        context=message.context if message.HasField("context") else None,
    )
