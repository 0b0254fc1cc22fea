"""A checked question: what is wrong with a request is said here, in full, before anything is asked."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from recallmesh.core.blank import is_blank
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.limits import MAX_TOKENS, QUERY_BYTES
from recallmesh.core.memory import ALL_FACT_TYPES, FactType
from recallmesh.core.recall import RecallRequest
from recallmesh.core.time import Clock
from recallmesh.core.tokens import TokenCounter
from recallmesh.core.tunable import tuning_violations


@dataclass(frozen=True, slots=True)
class Question:
    """A request's text without NUL, the moment it is asked at (time-zone aware) and the fact types it is for."""

    text: str
    asked_at: datetime
    fact_types: tuple[FactType, ...]


async def check(request: RecallRequest, *, tokens: TokenCounter, limit: int, now: Clock) -> Question:
    """Return the question.

    Raises:
        InvalidArgument: names every field that is wrong.

    """
    text = request.query.replace("\0", "")
    violations = [*_query(text), *_numbers(request), *tuning_violations(request.tuning, "tuning")]
    # A token is a byte at least: short texts need no counting, and counting is not for the event loop.
    if not violations and len(text.encode()) > limit and await asyncio.to_thread(tokens.count, text) > limit:
        violations.append(FieldViolation("query", f"is longer than {limit} tokens"))
    if violations:
        raise InvalidArgument(*violations)
    asked_at = request.query_time or now()
    if asked_at.tzinfo is None:
        asked_at = asked_at.replace(tzinfo=UTC)
    return Question(text, asked_at, tuple(dict.fromkeys(request.fact_types)) or ALL_FACT_TYPES)


def _query(text: str) -> list[FieldViolation]:
    if len(text) > QUERY_BYTES:
        return [FieldViolation("query", f"is longer than {QUERY_BYTES} bytes")]
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return [FieldViolation("query", "is not valid Unicode: it holds half of a surrogate pair")]
    if size > QUERY_BYTES:
        return [FieldViolation("query", f"is longer than {QUERY_BYTES} bytes")]
    if is_blank(text):
        return [FieldViolation("query", "is blank")]
    return []


def _numbers(request: RecallRequest) -> list[FieldViolation]:
    bounded = (
        ("max_tokens", request.max_tokens),
        ("max_chunk_tokens", request.chunk_tokens),
        ("max_source_tokens", request.source_tokens),
    )
    found = [
        FieldViolation(name, f"must be in [0, {MAX_TOKENS}]")
        for name, value in bounded
        if value is not None and not 0 <= value <= MAX_TOKENS
    ]
    if request.limit < 0:
        found.append(FieldViolation("limit", "must not be negative; 0 means no bound"))
    return found
