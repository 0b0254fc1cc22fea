"""Entities: who and what memories are about, resolved within a bank."""

from dataclasses import dataclass
from datetime import datetime

PERSON = "person"
CONCEPT = "concept"
"""What nothing more is known of."""
LABEL = "label"
"""A ``key:value`` of the bank's vocabulary, which only ever matches exactly."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One person, organisation, place, product, concept or label.

    ``key`` is the name folded for exact matching (case, spaces, accents); unique in the bank together with ``kind``
    being label or not. ``aliases`` are other names that resolve to it. ``apart`` are the keys of names that were split
    from it: they never resolve to it by likeness.
    """

    id: str
    name: str
    key: str
    kind: str
    created: datetime
    aliases: tuple[str, ...] = ()
    memory_count: int = 0
    last_mentioned: datetime | None = None
    apart: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag and the number of visible memories that carry it."""

    tag: str
    memory_count: int
