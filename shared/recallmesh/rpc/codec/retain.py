"""What banks are told, and what became of it, on the wire."""

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.retain import (
    Attachment,
    ContentBlock,
    Delivery,
    NamedEntity,
    RetainAnswer,
    RetainedItem,
    RetainItem,
    RetainRequest,
    UpdateMode,
)
from recallmesh.rpc.codec.bank import bank_ref
from recallmesh.rpc.codec.defense import violation_from_pb, violation_to_pb
from recallmesh.rpc.codec.enums import DELIVERY_STATE, EXTRACTION_MODE, UPDATE_MODE, arm_from_server
from recallmesh.rpc.codec.time import local_moment_from_pb, moment_to_pb, offset_to_pb
from recallmesh.v1 import bank_pb2, retain_service_pb2


def retain_to_pb(request: RetainRequest, request_id: str) -> retain_service_pb2.RetainRequest:
    """Write things to keep, under this request id."""
    message = retain_service_pb2.RetainRequest(
        bank_id=request.bank.bank_id,
        items=[item_to_pb(item) for item in request.items],
        request_id=request_id,
        no_wait=not request.wait,
        document_tags=request.tags,
    )
    if request.mode is not None:
        message.mode = EXTRACTION_MODE.to_pb(request.mode)
    return message


def retain_from_pb(message: retain_service_pb2.RetainRequest, tenant: str) -> RetainRequest:
    """Read things to keep of a caller of this tenant."""
    return RetainRequest(
        bank=bank_ref(message.bank_id, tenant),
        items=tuple(item_from_pb(item, f"items[{n}]") for n, item in enumerate(message.items)),
        request_id=message.request_id,
        wait=not message.no_wait,
        mode=EXTRACTION_MODE.at_door(message.mode, "mode") if message.mode else None,
        tags=tuple(message.document_tags),
    )


def item_to_pb(item: RetainItem) -> retain_service_pb2.RetainItem:
    """Write one thing to keep."""
    return retain_service_pb2.RetainItem(
        content=[_block_to_pb(block) for block in item.content],
        time=None if item.time is None else moment_to_pb(item.time),
        utc_offset=offset_to_pb(item.time),
        timeless=item.timeless,
        context=item.context,
        document_id=item.document_id,
        tags=item.tags,
        metadata=item.metadata,
        entities=[
            retain_service_pb2.NamedEntity(name=entity.name, kind=entity.kind, resolve=entity.resolve)
            for entity in item.entities
        ],
        observation_scopes=[bank_pb2.ScopeTags(tags=scope) for scope in item.observation_scopes],
        update_mode=UPDATE_MODE.to_pb(item.update_mode),
        receipt_uri=item.receipt_uri,
    )


def item_from_pb(message: retain_service_pb2.RetainItem, field: str) -> RetainItem:
    """Read one thing to keep."""
    timed = message.HasField("time")
    if timed and message.timeless:
        raise InvalidArgument(FieldViolation(f"{field}.timeless", "contradicts the time that came with it"))
    return RetainItem(
        content=tuple(_block_from_pb(block, f"{field}.content[{n}]") for n, block in enumerate(message.content)),
        time=local_moment_from_pb(message.time, message.utc_offset, f"{field}.time") if timed else None,
        timeless=message.timeless,
        context=message.context,
        document_id=message.document_id,
        tags=tuple(message.tags),
        metadata=dict(message.metadata),
        entities=tuple(_entity_from_pb(entity) for entity in message.entities),
        observation_scopes=tuple(tuple(scope.tags) for scope in message.observation_scopes),
        update_mode=UPDATE_MODE.at_door(message.update_mode, f"{field}.update_mode", default=UpdateMode.REPLACE),
        receipt_uri=message.receipt_uri,
    )


def _block_to_pb(block: ContentBlock) -> retain_service_pb2.ContentBlock:
    if isinstance(block, str):
        return retain_service_pb2.ContentBlock(text=block)
    attachment = retain_service_pb2.Attachment(media_type=block.media_type, data=block.data)
    return retain_service_pb2.ContentBlock(attachment=attachment)


def _block_from_pb(message: retain_service_pb2.ContentBlock, field: str) -> ContentBlock:
    match message.WhichOneof("block"):
        case "text":
            return message.text
        case "attachment":
            return Attachment(message.attachment.media_type, message.attachment.data)
        case None:
            raise InvalidArgument(FieldViolation(field, "needs a text or an attachment"))


def _entity_from_pb(message: retain_service_pb2.NamedEntity) -> NamedEntity:
    resolve = message.resolve if message.HasField("resolve") else True
    return NamedEntity(message.name, message.kind or "concept", resolve)


def retained_to_pb(answer: RetainAnswer) -> retain_service_pb2.RetainResponse:
    """Write what became of it."""
    return retain_service_pb2.RetainResponse(
        items=[
            retain_service_pb2.RetainedItem(
                document_id=item.document_id,
                memory_ids=item.memory_ids,
                unchanged=item.unchanged,
                violations=[violation_to_pb(one) for one in item.violations],
            )
            for item in answer.items
        ],
        deliveries=[
            retain_service_pb2.Delivery(
                arm=delivery.arm, state=DELIVERY_STATE.to_pb(delivery.state), detail=delivery.detail
            )
            for delivery in answer.deliveries
        ],
        operation_id=answer.operation_id,
        replayed=answer.replayed,
    )


def retained_from_pb(message: retain_service_pb2.RetainResponse) -> RetainAnswer:
    """Read what became of it; arms that this version does not know are left out."""
    deliveries = ((arm_from_server(delivery.arm), delivery) for delivery in message.deliveries)
    return RetainAnswer(
        items=tuple(
            RetainedItem(
                item.document_id,
                tuple(item.memory_ids),
                item.unchanged,
                tuple(violation_from_pb(one) for one in item.violations),
            )
            for item in message.items
        ),
        deliveries=tuple(
            Delivery(arm, DELIVERY_STATE.from_server(delivery.state), delivery.detail)
            for arm, delivery in deliveries
            if arm is not None
        ),
        operation_id=message.operation_id,
        replayed=message.replayed,
    )
