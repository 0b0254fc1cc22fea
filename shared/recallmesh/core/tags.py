"""Which tags a reader may see: the filter, and the one function that says whether a memory passes it."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never


class TagMode(StrEnum):
    """How a memory's tags must meet the asked ones.

    ``any`` and ``all`` let untagged memories through, the strict ones do not; ``exact`` is set equality,
    so with no tags asked it passes only untagged memories. For the other modes no tags asked means no filter.
    """

    ANY = "any"
    ALL = "all"
    ANY_STRICT = "any_strict"
    ALL_STRICT = "all_strict"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class TagLeaf:
    """One test of a memory's tags."""

    tags: frozenset[str] = frozenset()
    mode: TagMode = TagMode.ANY


@dataclass(frozen=True, slots=True)
class TagAnd:
    """Passes when all parts pass; with no parts, always."""

    parts: tuple["TagTest", ...]


@dataclass(frozen=True, slots=True)
class TagOr:
    """Passes when a part passes; with no parts, never."""

    parts: tuple["TagTest", ...]


@dataclass(frozen=True, slots=True)
class TagNot:
    """Passes when the part does not."""

    part: "TagTest"


TagTest = TagLeaf | TagAnd | TagOr | TagNot

EVERYTHING = TagLeaf()
"""The filter that passes every memory."""


def is_open(test: TagTest) -> bool:
    """Tell whether a test is none: a leaf that asks for no tags, of any mode but ``exact``."""
    return isinstance(test, TagLeaf) and not test.tags and test.mode is not TagMode.EXACT


def passes(test: TagTest, tags: Collection[str]) -> bool:
    """Tell whether a memory with these tags passes the test."""
    match test:
        case TagLeaf():
            return _leaf_passes(test, tags)
        case TagAnd(parts):
            return all(passes(part, tags) for part in parts)
        case TagOr(parts):
            return any(passes(part, tags) for part in parts)
        case TagNot(part):
            return not passes(part, tags)
        case _:
            assert_never(test)


def _leaf_passes(leaf: TagLeaf, tags: Collection[str]) -> bool:
    if leaf.mode is TagMode.EXACT:
        return leaf.tags == frozenset(tags)
    if not leaf.tags:
        return True
    match leaf.mode:
        case TagMode.ANY:
            return not tags or not leaf.tags.isdisjoint(tags)
        case TagMode.ALL:
            return not tags or leaf.tags.issubset(tags)
        case TagMode.ANY_STRICT:
            return not leaf.tags.isdisjoint(tags)
        case TagMode.ALL_STRICT:
            return leaf.tags.issubset(tags)
        case _:
            assert_never(leaf.mode)
