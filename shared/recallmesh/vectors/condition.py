"""What a query demands of a point's payload, as plain values that any store's filter language can be made from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot, TagOr, TagTest
from recallmesh.core.vectors import VectorQuery
from recallmesh.vectors.payload import BANK, END, START, TAG_COUNT, TAGS, TYPE, micros


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field holds one of the values (of a list: has one of them)."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """The integer field is just this."""

    key: str
    value: int


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The integer field is there and not below this."""

    key: str
    value: int


@dataclass(frozen=True, slots=True)
class AtMost:
    """The integer field is there and not above this."""

    key: str
    value: int


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; with no parts, always."""

    parts: tuple["Condition", ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """A part holds; with no parts, never."""

    parts: tuple["Condition", ...] = ()


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: "Condition"


Condition = AnyOf | Count | AtLeast | AtMost | All | Some | Not

ALWAYS = All()
NEVER = Some()


def all_of(parts: Iterable[Condition]) -> Condition:
    """Join with "and"; what is always or never so is folded away, so that it is only ever the whole condition."""
    kept = tuple(part for part in parts if part != ALWAYS)
    if NEVER in kept:
        return NEVER
    return kept[0] if len(kept) == 1 else All(kept)


def some_of(parts: Iterable[Condition]) -> Condition:
    """Join with "or", folded likewise."""
    kept = tuple(part for part in parts if part != NEVER)
    if ALWAYS in kept:
        return ALWAYS
    return kept[0] if len(kept) == 1 else Some(kept)


def negation(part: Condition) -> Condition:
    """Turn a condition round, folded likewise."""
    if part == ALWAYS:
        return NEVER
    return ALWAYS if part == NEVER else Not(part)


def tag_condition(test: TagTest) -> Condition:
    """Say a tag test; agrees with ``core.tags.passes`` on every set of tags."""
    match test:
        case TagLeaf():
            return _leaf_condition(test)
        case TagAnd(parts):
            return all_of(tag_condition(part) for part in parts)
        case TagOr(parts):
            return some_of(tag_condition(part) for part in parts)
        case TagNot(part):
            return negation(tag_condition(part))
        case _:
            assert_never(test)


def query_condition(query: VectorQuery) -> Condition:
    """Say all that a query demands but nearness and the excluded ids."""
    parts: list[Condition] = [AnyOf(BANK, (query.bank_uid,))]
    if query.fact_types:
        parts.append(AnyOf(TYPE, tuple(fact_type.value for fact_type in query.fact_types)))
    if query.window is not None:
        ends = START if query.begins else END
        parts += [AtMost(START, micros(query.window.end)), AtLeast(ends, micros(query.window.start))]
    parts.append(tag_condition(query.tags))
    return all_of(parts)


def _leaf_condition(leaf: TagLeaf) -> Condition:
    tags = tuple(sorted(leaf.tags))
    untagged = Count(TAG_COUNT, 0)
    every = all_of(AnyOf(TAGS, (tag,)) for tag in tags)
    if leaf.mode is TagMode.EXACT:
        return all_of([every, Count(TAG_COUNT, len(tags))])
    if not tags:
        return ALWAYS
    match leaf.mode:
        case TagMode.ANY:
            return some_of([untagged, AnyOf(TAGS, tags)])
        case TagMode.ALL:
            return some_of([untagged, every])
        case TagMode.ANY_STRICT:
            return AnyOf(TAGS, tags)
        case TagMode.ALL_STRICT:
            return every
        case _:
            assert_never(leaf.mode)
