"""What an edit may put into a memory."""

from dataclasses import replace

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.limits import CONTENT_BYTES, CONTEXT_BYTES, TAG_BYTES, TAGS_PER_ITEM
from recallmesh.core.tokens import TokenCounter


def checked_edit(edit: MemoryEdit, tokens: TokenCounter) -> MemoryEdit:
    """Return the edit with its text's token count.

    Raises:
        InvalidArgument: a part is blank or beyond its limit.

    """
    violations = [*_text_violations(edit), *_tag_violations(edit.tags or ())]
    if violations:
        raise InvalidArgument(*violations)
    if edit.text is None:
        return edit
    text = edit.text.replace("\x00", "")
    return replace(edit, text=text, tokens=tokens.count(text))


def _text_violations(edit: MemoryEdit) -> list[FieldViolation]:
    found = []
    if edit.text is not None and not edit.text.strip():
        found.append(FieldViolation("text", "is blank"))
    if edit.text is not None and len(edit.text.encode("utf-8", "surrogatepass")) > CONTENT_BYTES:
        found.append(FieldViolation("text", f"has more than {CONTENT_BYTES} bytes"))
    if edit.context is not None and len(edit.context.encode("utf-8", "surrogatepass")) > CONTEXT_BYTES:
        found.append(FieldViolation("context", f"has more than {CONTEXT_BYTES} bytes"))
    return found


def _tag_violations(tags: tuple[str, ...]) -> list[FieldViolation]:
    found = []
    if len(tags) > TAGS_PER_ITEM:
        found.append(FieldViolation("tags", f"has more than {TAGS_PER_ITEM} entries"))
    for place, tag in enumerate(tags):
        if not tag.strip():
            found.append(FieldViolation(f"tags[{place}]", "is blank"))
        elif len(tag.encode("utf-8", "surrogatepass")) > TAG_BYTES:
            found.append(FieldViolation(f"tags[{place}]", f"has more than {TAG_BYTES} bytes"))
    return found
