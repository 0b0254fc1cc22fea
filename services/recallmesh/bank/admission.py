"""What of an export may come in: about what the other doors let in, and nothing that a store cannot hold."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from recallmesh.core import limits
from recallmesh.core.attachment import StoredAttachment
from recallmesh.core.blank import is_blank
from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.document import Chunk, Document
from recallmesh.core.entity import Entity
from recallmesh.core.errors import FieldViolation
from recallmesh.core.export import Exported, Past
from recallmesh.core.memory import Memory
from recallmesh.core.source import ChunkSource
from recallmesh.core.text import name_violations, text_violations

COUNT_MAX = 1_000_000_000
"""The largest number: more than a bank holds, and versions can still grow in a column of 32 bits."""
GROWN = 3
"""How many times the limit of its door a text may have: dates are put into it, and marks in the place of secrets."""
TAGS = 1_024
"""Tags of one memory: its item's, and the labels that it says."""
ENTITY_NAMES = 10_000
"""Aliases of one entity, and names it was split from: many merges' worth."""


def thing_violations(thing: Exported) -> Iterator[FieldViolation]:
    """Yield what is wrong with the values of one thing; what it names is not looked at."""
    match thing:
        case Document():
            yield from _document(thing)
        case StoredAttachment():
            yield from name_violations("id", thing.id, limits.TAG_BYTES)
        case ChunkSource():
            yield from _chunk(thing.chunk)
        case Entity():
            yield from _entity(thing)
        case Memory():
            yield from _memory(thing)
        case Past():
            yield from _past(thing)


def _document(one: Document) -> Iterator[FieldViolation]:
    yield from name_violations("id", one.id, limits.DOCUMENT_ID_BYTES)
    yield from _moments(created=one.created, updated=one.updated)
    yield from _tags("tags", one.tags)
    yield from _metadata(one.metadata)
    yield from _counts(1, version=one.version)
    yield from _counts(0, chunk_count=one.chunk_count, memory_count=one.memory_count, tokens=one.tokens)


def _chunk(one: Chunk) -> Iterator[FieldViolation]:
    yield from name_violations("id", one.id, limits.TAG_BYTES)
    yield from text_violations("text", [one.text], GROWN * limits.CONTENT_BYTES)
    yield from name_violations("digest", one.digest, limits.TAG_BYTES)
    yield from text_violations("context", [one.context], GROWN * limits.CONTEXT_BYTES)
    yield from _counts(0, number=one.number, tokens=one.tokens)


def _entity(one: Entity) -> Iterator[FieldViolation]:
    yield from name_violations("id", one.id, limits.TAG_BYTES)
    yield from _moments(created=one.created)
    yield from _names("name", [one.name])
    yield from _names("key", [one.key])
    yield from name_violations("kind", one.kind, limits.TAG_BYTES)
    yield from _names("aliases", one.aliases)
    yield from _names("apart", one.apart)


def _memory(one: Memory) -> Iterator[FieldViolation]:
    yield from name_violations("id", one.id, limits.TAG_BYTES)
    yield from _text("text", one.text)
    yield from _moments(created=one.created)
    yield from text_violations("context", [one.context], GROWN * limits.CONTEXT_BYTES)
    yield from _tags("tags", one.tags)
    yield from _metadata(one.metadata)
    yield from _counts(0, position=one.position, tokens=one.tokens, proof_count=one.proof_count)
    yield from _counts(1, version=one.version)
    for number, cause in enumerate(one.causes):
        if not 0 < cause.weight <= 1:
            yield FieldViolation(f"causes[{number}].weight", "must be in (0, 1]")


def _past(one: Past) -> Iterator[FieldViolation]:
    if len(one.scopes) > limits.SCOPES:
        yield FieldViolation("scopes", f"has {len(one.scopes)} scopes; the limit is {limits.SCOPES}")
    for number, tags in enumerate(one.scopes):
        yield from _tags(f"scopes[{number}]", tags)
    seen: set[int] = set()
    for number, version in enumerate(one.versions):
        yield from _version(f"versions[{number}]", version)
        if version.version in seen:
            yield FieldViolation(f"versions[{number}].version", "came before")
        seen.add(version.version)


def _version(path: str, one: MemoryVersion) -> Iterator[FieldViolation]:
    yield from _counts(1, **{f"{path}.version": one.version})
    yield from _text(f"{path}.text", one.text)
    yield from _moments(**{f"{path}.created": one.created})
    yield from text_violations(f"{path}.reason", [one.reason], GROWN * limits.CONTEXT_BYTES)
    yield from _tags(f"{path}.tags", one.tags)


def _text(field: str, text: str) -> Iterator[FieldViolation]:
    yield from text_violations(field, [text], GROWN * limits.CONTENT_BYTES)
    if is_blank(text):
        yield FieldViolation(field, "is blank")


def _tags(field: str, tags: tuple[str, ...]) -> Iterator[FieldViolation]:
    if len(tags) > TAGS:
        yield FieldViolation(field, f"has {len(tags)} tags; the limit is {TAGS}")
    for index, tag in enumerate(tags):
        yield from name_violations(f"{field}[{index}]", tag, GROWN * limits.TAG_BYTES)
        if is_blank(tag):
            yield FieldViolation(f"{field}[{index}]", "is blank")


def _metadata(metadata: Mapping[str, str]) -> Iterator[FieldViolation]:
    if len(metadata) > limits.METADATA_KEYS:
        yield FieldViolation("metadata", f"has {len(metadata)} keys; the limit is {limits.METADATA_KEYS}")
    yield from text_violations("metadata", [*metadata, *metadata.values()], GROWN * limits.METADATA_BYTES)


def _names(field: str, names: list[str] | tuple[str, ...]) -> Iterator[FieldViolation]:
    if len(names) > ENTITY_NAMES:
        yield FieldViolation(field, f"has {len(names)} names; the limit is {ENTITY_NAMES}")
    for name in names:
        yield from name_violations(field, name, GROWN * limits.CONTEXT_BYTES)
        if is_blank(name):
            yield FieldViolation(field, "is blank")


def _counts(least: int, **numbers: int) -> Iterator[FieldViolation]:
    for field, number in numbers.items():
        if not least <= number <= COUNT_MAX:
            yield FieldViolation(field, f"must be in [{least}, {COUNT_MAX}]")


def _moments(**moments: datetime) -> Iterator[FieldViolation]:
    """See that moments of this service's own clock, which are kept without an offset, are in the calendar of UTC."""
    for field, moment in moments.items():
        try:
            moment.astimezone(UTC)
        except (OverflowError, ValueError):
            yield FieldViolation(field, "is not within the years 1 to 9999")
