"""Intake: refuses what cannot be kept, naming the field, and cleans what can."""

from collections.abc import Iterator
from dataclasses import replace

from recallmesh.core import limits
from recallmesh.core.attachment import MEDIA_TYPES, canonical, type_of
from recallmesh.core.blank import is_blank
from recallmesh.core.errors import FieldViolation, InvalidArgument, NoVisionModel
from recallmesh.core.retain import Attachment, ContentBlock, RetainItem, RetainRequest
from recallmesh.core.text import NUL, name_violations, tag_violations, text_violations
from recallmesh.core.time import as_utc


def take_in(request: RetainRequest, *, vision: bool) -> RetainRequest:
    """Return the request without NULs and with every time in UTC or an offset of its own.

    Raises:
        InvalidArgument: names every field that was refused.
        NoVisionModel: an attachment came and ``vision`` is false.

    """
    violations = list(_violations(request))
    if violations:
        raise InvalidArgument(*violations)
    if not vision and any(isinstance(block, Attachment) for item in request.items for block in item.content):
        raise NoVisionModel("an attachment came, and no extractor here can read images; send text alone")
    return replace(request, items=tuple(_clean(item) for item in request.items))


def _clean_block(block: ContentBlock) -> ContentBlock:
    return block.replace(NUL, "") if isinstance(block, str) else replace(block, media_type=canonical(block.media_type))


def _clean(item: RetainItem) -> RetainItem:
    return replace(
        item,
        content=tuple(map(_clean_block, item.content)),
        # An offset is kept: relative dates are read in it.
        time=item.time if item.time is None or item.time.tzinfo is not None else as_utc(item.time),
        context=item.context.replace(NUL, ""),
        metadata={key.replace(NUL, ""): value.replace(NUL, "") for key, value in item.metadata.items()},
        entities=tuple(replace(entity, name=entity.name.replace(NUL, "")) for entity in item.entities),
    )


def _attachments(path: str, item: RetainItem) -> Iterator[FieldViolation]:
    attached = [(place, block) for place, block in enumerate(item.content) if isinstance(block, Attachment)]
    if len(attached) > limits.ATTACHMENTS_PER_ITEM:
        description = f"has {len(attached)} attachments; the limit is {limits.ATTACHMENTS_PER_ITEM}"
        yield FieldViolation(f"{path}.content", description)
    for place, block in attached:
        yield from _attachment(f"{path}.content[{place}].attachment", block)


def _attachment(path: str, attachment: Attachment) -> Iterator[FieldViolation]:
    if len(attachment.data) > limits.ATTACHMENT_BYTES:
        description = f"has {len(attachment.data)} bytes; the limit is {limits.ATTACHMENT_BYTES}"
        yield FieldViolation(f"{path}.data", description)
    said, told = canonical(attachment.media_type), type_of(attachment.data)
    if said not in MEDIA_TYPES:
        description = f"is {attachment.media_type[:80]!r}; an attachment is one of {', '.join(MEDIA_TYPES)}"
        yield FieldViolation(f"{path}.media_type", description)
    elif said != told:
        yield FieldViolation(f"{path}.data", f"is said to be {said}, and its bytes are {told or 'none of the kind'}")


def _violations(request: RetainRequest) -> Iterator[FieldViolation]:
    yield from name_violations("request_id", request.request_id, limits.REQUEST_ID_BYTES)
    yield from tag_violations("tags", request.tags)
    if not request.items:
        yield FieldViolation("items", "needs at least one item")
    if len(request.items) > limits.ITEMS_PER_CALL:
        yield FieldViolation("items", f"has {len(request.items)} items; the limit is {limits.ITEMS_PER_CALL}")
        return
    size = sum(len(block.data) for item in request.items for block in item.content if isinstance(block, Attachment))
    if size > limits.CALL_ATTACHMENT_BYTES:
        limit = limits.CALL_ATTACHMENT_BYTES
        yield FieldViolation("items", f"have {size} bytes of attachments together; the limit is {limit}")
    modes: dict[str, tuple[int, str]] = {}
    for index, item in enumerate(request.items):
        path = f"items[{index}]"
        yield from item_violations(path, item)
        first, mode = modes.setdefault(item.document_id, (index, item.update_mode))
        if item.document_id and mode != item.update_mode:
            yield FieldViolation(f"{path}.update_mode", f"differs from that of items[{first}], of the same document")


def item_violations(path: str, item: RetainItem) -> Iterator[FieldViolation]:
    """Yield what is wrong with an item, whatever else comes with it; ``path`` names it."""
    texts = [block for block in item.content if isinstance(block, str)]
    yield from text_violations(f"{path}.content", texts, limits.CONTENT_BYTES)
    if all(is_blank(text) for text in texts) and len(texts) == len(item.content):
        yield FieldViolation(f"{path}.content", "is blank")
    yield from _attachments(path, item)
    yield from text_violations(f"{path}.context", [item.context], limits.CONTEXT_BYTES)
    yield from name_violations(f"{path}.document_id", item.document_id, limits.DOCUMENT_ID_BYTES)
    yield from name_violations(f"{path}.receipt_uri", item.receipt_uri, limits.RECEIPT_BYTES)
    yield from tag_violations(f"{path}.tags", item.tags)
    if len(item.observation_scopes) > limits.SCOPES:
        yield FieldViolation(f"{path}.observation_scopes", f"has more than {limits.SCOPES} scopes")
    for scope, tags in enumerate(item.observation_scopes):
        yield from tag_violations(f"{path}.observation_scopes[{scope}]", tags)
    if len(item.metadata) > limits.METADATA_KEYS:
        yield FieldViolation(f"{path}.metadata", f"has more than {limits.METADATA_KEYS} keys")
    yield from text_violations(f"{path}.metadata", [*item.metadata, *item.metadata.values()], limits.METADATA_BYTES)
    if item.timeless and item.time is not None:
        yield FieldViolation(f"{path}.time", "is given although the item is timeless")
    if len(item.entities) > limits.ENTITIES_PER_ITEM:
        yield FieldViolation(f"{path}.entities", f"has more than {limits.ENTITIES_PER_ITEM} entities")
    for number, entity in enumerate(item.entities):
        field = f"{path}.entities[{number}].name"
        yield from text_violations(field, [entity.name], limits.TAG_BYTES)
        if is_blank(entity.name):
            yield FieldViolation(field, "is blank")
        yield from name_violations(f"{path}.entities[{number}].kind", entity.kind, limits.TAG_BYTES)
