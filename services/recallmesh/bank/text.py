"""What an edit may put into a memory: what a retain could have put there."""

from collections.abc import Iterator
from dataclasses import replace

from recallmesh.core.blank import is_blank
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.limits import CONTENT_BYTES, CONTEXT_BYTES, TAG_BYTES, TAGS_PER_ITEM
from recallmesh.core.tokens import TokenCounter

_NUL = "\x00"


def checked_edit(edit: MemoryEdit, tokens: TokenCounter) -> MemoryEdit:
    """Return the edit without NULs in its text, and with the text's token count.

    Raises:
        InvalidArgument: a part is blank, beyond its limit or not valid Unicode; names every such part.

    """
    violations = [*_text_violations(edit), *_tag_violations(edit.tags or ())]
    if violations:
        raise InvalidArgument(*violations)
    context = None if edit.context is None else edit.context.replace(_NUL, "")
    if edit.text is None:
        return replace(edit, context=context)
    text = edit.text.replace(_NUL, "")
    return replace(edit, text=text, context=context, tokens=tokens.count(text))


def size_violations(field: str, value: str, limit: int) -> Iterator[FieldViolation]:
    """Yield what is wrong with a text's size, or with its characters."""
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        yield FieldViolation(field, "contains half a character (a lone surrogate)")
        return
    if size > limit:
        yield FieldViolation(field, f"has {size} bytes of UTF-8; the limit is {limit}")


def _text_violations(edit: MemoryEdit) -> Iterator[FieldViolation]:
    if edit.text is not None:
        if is_blank(edit.text):
            yield FieldViolation("text", "is blank")
        yield from size_violations("text", edit.text, CONTENT_BYTES)
    if edit.context is not None:
        yield from size_violations("context", edit.context, CONTEXT_BYTES)


def _tag_violations(tags: tuple[str, ...]) -> Iterator[FieldViolation]:
    if len(tags) > TAGS_PER_ITEM:
        yield FieldViolation("tags", f"has {len(tags)} tags; the limit is {TAGS_PER_ITEM}")
    for place, tag in enumerate(tags):
        field = f"tags[{place}]"
        if is_blank(tag):
            yield FieldViolation(field, "is blank")
        elif _NUL in tag:
            # Names are compared letter by letter: two must not become one.
            yield FieldViolation(field, "contains a NUL character")
        yield from size_violations(field, tag, TAG_BYTES)
