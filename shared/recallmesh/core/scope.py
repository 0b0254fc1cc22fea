"""Scopes of consolidation: which facts may meet in one observation, and which tags that then carries (SPEC T11)."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from recallmesh.core.bank import ConsolidationTuning, ObservationScope
from recallmesh.core.limits import SCOPES
from recallmesh.core.tags import EVERYTHING, TagLeaf, TagMode, TagTest


class Meeting(StrEnum):
    """How a scope's tags choose its facts."""

    EXACTLY = "exactly"
    """Facts with these very tags."""
    WITH = "with"
    """Facts that have at least these tags."""
    ALL = "all"
    """Every fact of the bank; it has no tags."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope. ``tags`` are sorted, and what its observations carry."""

    meeting: Meeting
    tags: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Name the scope, as the ledger does."""
        return f"{self.meeting} {json.dumps(self.tags, ensure_ascii=False)}"

    @property
    def test(self) -> TagTest:
        """Return the test that its facts pass and no others."""
        match self.meeting:
            case Meeting.EXACTLY:
                return TagLeaf(frozenset(self.tags), TagMode.EXACT)
            case Meeting.WITH:
                return TagLeaf(frozenset(self.tags), TagMode.ALL_STRICT)
            case Meeting.ALL:
                return EVERYTHING


def scope_of(key: str) -> Scope | None:
    """Return the scope of a key; ``None`` for a key that no scope of this version has."""
    meeting, _, tags = key.partition(" ")
    if meeting not in tuple(Meeting):
        return None
    return Scope(Meeting(meeting), tuple(json.loads(tags)))


def scopes_of(
    tags: Iterable[str], tuning: ConsolidationTuning, own: tuple[tuple[str, ...], ...] = ()
) -> tuple[Scope, ...]:
    """Return the scopes that a fact with these tags is in; ``own`` are those that came with it, instead of the bank's.

    At most ``SCOPES``, since each is a search of its own and six tags have 63 sets: smaller sets come first. A fact
    without tags is in the scope of those without, but where scopes are named: then only if that one is.
    """
    held = tuple(sorted(set(tags)))
    if own:
        return _named(held, own)
    match tuning.scope:
        case ObservationScope.CUSTOM:
            return _named(held, tuning.custom_scopes)
        case ObservationScope.SHARED:
            return (Scope(Meeting.ALL),)
        case ObservationScope.COMBINED:
            return (Scope(Meeting.EXACTLY, held),)
        case ObservationScope.PER_TAG:
            return tuple(Scope(Meeting.WITH, (tag,)) for tag in held[:SCOPES]) or (Scope(Meeting.EXACTLY),)
        case ObservationScope.ALL_COMBINATIONS:
            found = (Scope(Meeting.WITH, some) for some in _subsets(held))
            return tuple(scope for scope, _ in zip(found, range(SCOPES), strict=False)) or (Scope(Meeting.EXACTLY),)


def _named(held: tuple[str, ...], named: Iterable[Iterable[str]]) -> tuple[Scope, ...]:
    found: dict[Scope, None] = {}
    for one in named:
        tags = tuple(sorted(set(one)))
        if not tags and not held:
            found[Scope(Meeting.EXACTLY)] = None
        elif tags and set(tags) <= set(held):
            found[Scope(Meeting.WITH, tags)] = None
    return tuple(found)[:SCOPES]


def _subsets(held: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for size in range(1, len(held) + 1):
        yield from combinations(held, size)
