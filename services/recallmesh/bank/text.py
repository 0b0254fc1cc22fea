"""What an edit may put into a memory: what a retain could have put there."""

from collections.abc import Iterator
from dataclasses import replace

from recallmesh.core.blank import is_blank
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.limits import CONTENT_BYTES, CONTEXT_BYTES
from recallmesh.core.text import NUL, tag_violations, text_violations
from recallmesh.core.tokens import TokenCounter


def checked_edit(edit: MemoryEdit, tokens: TokenCounter) -> MemoryEdit:
    """Return the edit without NULs in its text, and with the text's token count.

    Raises:
        InvalidArgument: a part is blank, beyond its limit or not valid Unicode; names every such part.

    """
    violations = [*_text_violations(edit), *tag_violations("tags", edit.tags or ())]
    if violations:
        raise InvalidArgument(*violations)
    context = None if edit.context is None else edit.context.replace(NUL, "")
    if edit.text is None:
        return replace(edit, context=context)
    text = edit.text.replace(NUL, "")
    return replace(edit, text=text, context=context, tokens=tokens.count(text))


def _text_violations(edit: MemoryEdit) -> Iterator[FieldViolation]:
    if edit.text is not None:
        if is_blank(edit.text):
            yield FieldViolation("text", "is blank")
        yield from text_violations("text", [edit.text], CONTENT_BYTES)
    if edit.context is not None:
        yield from text_violations("context", [edit.context], CONTEXT_BYTES)
