"""Intake: refuses what cannot be kept, naming the field, and cleans what can."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from recallmesh.core import limits
from recallmesh.core.blank import is_blank
from recallmesh.core.errors import FieldViolation, InvalidArgument, NoVisionModel
from recallmesh.core.retain import Attachment, RetainItem, RetainRequest
from recallmesh.core.time import as_utc

_NUL = "\x00"


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


def _clean(item: RetainItem) -> RetainItem:
    return replace(
        item,
        content=tuple(block.replace(_NUL, "") if isinstance(block, str) else block for block in item.content),
        # An offset is kept: relative dates are read in it.
        time=item.time if item.time is None or item.time.tzinfo is not None else as_utc(item.time),
        context=item.context.replace(_NUL, ""),
        metadata={key.replace(_NUL, ""): value.replace(_NUL, "") for key, value in item.metadata.items()},
        entities=tuple(replace(entity, name=entity.name.replace(_NUL, "")) for entity in item.entities),
    )


def _violations(request: RetainRequest) -> Iterator[FieldViolation]:
    yield from _identifier("request_id", request.request_id, limits.REQUEST_ID_BYTES)
    yield from _tags("tags", request.tags)
    if not request.items:
        yield FieldViolation("items", "needs at least one item")
    if len(request.items) > limits.ITEMS_PER_CALL:
        yield FieldViolation("items", f"has {len(request.items)} items; the limit is {limits.ITEMS_PER_CALL}")
        return
    modes: dict[str, tuple[int, str]] = {}
    for index, item in enumerate(request.items):
        path = f"items[{index}]"
        yield from _item(path, item)
        first, mode = modes.setdefault(item.document_id, (index, item.update_mode))
        if item.document_id and mode != item.update_mode:
            yield FieldViolation(f"{path}.update_mode", f"differs from that of items[{first}], of the same document")


def _item(path: str, item: RetainItem) -> Iterator[FieldViolation]:
    texts = [block for block in item.content if isinstance(block, str)]
    yield from _text(f"{path}.content", texts, limits.CONTENT_BYTES)
    if all(is_blank(text) for text in texts) and len(texts) == len(item.content):
        yield FieldViolation(f"{path}.content", "is blank")
    yield from _text(f"{path}.context", [item.context], limits.CONTEXT_BYTES)
    yield from _identifier(f"{path}.document_id", item.document_id, limits.DOCUMENT_ID_BYTES)
    yield from _tags(f"{path}.tags", item.tags)
    for scope, tags in enumerate(item.observation_scopes):
        yield from _tags(f"{path}.observation_scopes[{scope}]", tags)
    if len(item.metadata) > limits.METADATA_KEYS:
        yield FieldViolation(f"{path}.metadata", f"has more than {limits.METADATA_KEYS} keys")
    yield from _text(f"{path}.metadata", [*item.metadata, *item.metadata.values()], limits.METADATA_BYTES)
    if item.timeless and item.time is not None:
        yield FieldViolation(f"{path}.time", "is given although the item is timeless")
    if len(item.entities) > limits.ENTITIES_PER_ITEM:
        yield FieldViolation(f"{path}.entities", f"has more than {limits.ENTITIES_PER_ITEM} entities")
    for number, entity in enumerate(item.entities):
        field = f"{path}.entities[{number}].name"
        yield from _text(field, [entity.name], limits.TAG_BYTES)
        if is_blank(entity.name):
            yield FieldViolation(field, "is blank")


def _tags(path: str, tags: tuple[str, ...]) -> Iterator[FieldViolation]:
    if len(tags) > limits.TAGS_PER_ITEM:
        yield FieldViolation(path, f"has {len(tags)} tags; the limit is {limits.TAGS_PER_ITEM}")
    for index, tag in enumerate(tags):
        yield from _identifier(f"{path}[{index}]", tag, limits.TAG_BYTES)
        if is_blank(tag):
            yield FieldViolation(f"{path}[{index}]", "is blank")


def _identifier(path: str, value: str, limit: int) -> Iterator[FieldViolation]:
    # Names are compared letter by letter, so a NUL is refused, not taken out: two names must not become one.
    if _NUL in value:
        yield FieldViolation(path, "contains a NUL character")
    yield from _text(path, [value], limit)


def _text(path: str, values: Iterable[str], limit: int) -> Iterator[FieldViolation]:
    try:
        size = sum(len(value.encode()) for value in values)
    except UnicodeEncodeError:
        yield FieldViolation(path, "contains half a character (a lone surrogate)")
        return
    if size > limit:
        yield FieldViolation(path, f"has {size} bytes of UTF-8; the limit is {limit}")
