"""What is wrong with a text, a name or a set of tags that a caller sent; every door refuses the same."""

from collections.abc import Iterable, Iterator

from recallmesh.core.blank import is_blank
from recallmesh.core.errors import FieldViolation
from recallmesh.core.limits import TAG_BYTES, TAGS_PER_ITEM

NUL = "\x00"
"""Taken out of texts, since no store keeps it; refused in names."""


def text_violations(field: str, values: Iterable[str], limit: int) -> Iterator[FieldViolation]:
    """Yield what is wrong with the size of texts together, in bytes of UTF-8, or with their characters."""
    try:
        size = sum(len(value.encode()) for value in values)
    except UnicodeEncodeError:
        yield FieldViolation(field, "contains half a character (a lone surrogate)")
        return
    if size > limit:
        yield FieldViolation(field, f"has {size} bytes of UTF-8; the limit is {limit}")


def name_violations(field: str, value: str, limit: int) -> Iterator[FieldViolation]:
    """Yield what is wrong with a name; names are compared letter by letter, and two must not become one."""
    if NUL in value:
        yield FieldViolation(field, "contains a NUL character")
    yield from text_violations(field, [value], limit)


def tag_violations(field: str, tags: tuple[str, ...]) -> Iterator[FieldViolation]:
    """Yield what is wrong with the tags of one memory or item."""
    if len(tags) > TAGS_PER_ITEM:
        yield FieldViolation(field, f"has {len(tags)} tags; the limit is {TAGS_PER_ITEM}")
    for index, tag in enumerate(tags):
        yield from name_violations(f"{field}[{index}]", tag, TAG_BYTES)
        if is_blank(tag):
            yield FieldViolation(f"{field}[{index}]", "is blank")
