"""An error as a model reads it: what went wrong, and what to do next; nothing of insides."""

from collections.abc import Iterator, Mapping

from recallmesh.core.errors import DefenseBlocked, InvalidArgument, MeshError, Overloaded

REACH = "The memory cannot be reached now."
WITHOUT = (
    "Go on without it, say so if it matters, and try once more later. Do not conclude that something is not remembered."
)
OURS: Mapping[str, tuple[str, str]] = {
    "STORE_UNAVAILABLE": (REACH, WITHOUT),
    "RECALL_UNAVAILABLE": ("No way of searching answered.", WITHOUT),
    "DEADLINE_EXCEEDED": ("The memory did not answer in time.", "Try once more; if that fails too, go on without it."),
    "INTERNAL": ("The memory has a fault.", WITHOUT),
    "UNIMPLEMENTED": ("This memory does not offer that.", "Do without it."),
    "CONFLICTING_WRITE": ("Something else was written at the same time.", "Nothing was changed: call again."),
    "EXTRACTION_FAILED": ("The model that reads what is retained gave no answer.", "Nothing was kept: call again."),
    "EMBEDDING_MISMATCH": (
        "The memory is set up for another model.",
        "Tell your user; whoever runs it has to mend it.",
    ),
}
"""What is wrong with the mesh rather than with the call: its own words are for those who run it."""
NEXT: Mapping[str, str] = {
    "INVALID_ARGUMENT": "Put that right and call again.",
    "PAGE_TOKEN_MISMATCH": "Use after with the same other arguments, or leave it out to begin again.",
    "MEMORY_NOT_FOUND": "Nothing was deleted. Take ids exactly as recall or list give them.",
    "DOCUMENT_NOT_FOUND": 'Nothing was deleted. See the ids: list with what "documents".',
    "REQUEST_ID_REUSED": "Leave request_id out, unless you repeat a call exactly.",
    "DEFENSE_BLOCKED": "Nothing was kept: this bank keeps such things out. Leave them out, or do not retain this.",
    "UNAUTHENTICATED": "Do not try again: tell your user that the key of this memory is missing or wrong.",
    "FORBIDDEN": "Do not try again: tell your user that its key does not allow this.",
    "QUOTA_EXCEEDED": "Tell your user that this memory is full.",
    "NOT_READY": "Tell your user what it says.",
}
"""What to do about what is wrong with the call."""
FIELDS: Mapping[str, str] = {"page_token": "after", "page_size": "limit", "bank_id": "bank", "max_tokens": "max_tokens"}
"""What the tools call what the mesh calls otherwise."""


def told(error: MeshError) -> str:
    """Write an error for a model."""
    return "\n".join(_lines(error))


def _lines(error: MeshError) -> Iterator[str]:
    if error.reason in OURS:
        what, then = OURS[error.reason]
        yield what
        yield from getattr(error, "__notes__", ()) or (then,)
        if error.reason == "INTERNAL" and error.metadata.get("request_id"):
            yield f"Its log says more under {error.metadata['request_id']}."
        return
    if isinstance(error, DefenseBlocked):
        # What is refused has one item, so that its place says nothing.
        yield f"Refused: {'; '.join(one.description for one in error.violations) or error.message}."
    elif isinstance(error, InvalidArgument):
        yield from (f"{FIELDS.get(one.field, one.field)}: {one.description}" for one in error.violations)
    else:
        yield f"{error.message[:1].upper()}{error.message[1:]}."
    yield from getattr(error, "__notes__", ())
    if isinstance(error, Overloaded) and error.reason == "OVERLOADED":
        yield f"Wait {max(1, round(error.retry_after.total_seconds()))} s, then call again."
    elif error.reason in NEXT:
        yield NEXT[error.reason]
