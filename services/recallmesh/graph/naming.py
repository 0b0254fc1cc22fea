"""Naming: which of a bank's entities a query names. Strict: two things that are told apart anywhere stay apart here."""

from collections.abc import Iterator, Sequence

from rapidfuzz.distance import OSA

from recallmesh.core.entity import CONCEPT, LABEL, PERSON
from recallmesh.graph.spans import FUZZY_CHARS, FUZZY_PREFIX, FUZZY_WORD_CHARS, Span
from recallmesh.graph.store import NamedEntity

LONG_WORD = 12
"""From so many letters on, a word may have two slips."""


def named(stretches: tuple[Span, ...], entities: tuple[NamedEntity, ...]) -> tuple[NamedEntity, ...]:
    """Choose the entities that the stretches name, each once, by entity id.

    The longest exact name wins over names inside it. What no exact name covers may be the plural of one, a given or
    family name that only one person has, or nearly the name of something.
    """
    by_key: dict[str, list[NamedEntity]] = {}
    by_beginning: dict[str, list[NamedEntity]] = {}
    for entity in entities:
        by_key.setdefault(entity.key, []).append(entity)
        by_beginning.setdefault(entity.key[:FUZZY_PREFIX], []).append(entity)
    chosen: dict[str, NamedEntity] = {}
    taken: list[Span] = []
    for span in stretches:
        if span.key in by_key and not _is_covered(span, taken):
            taken.append(span)
            chosen.update((entity.entity_id, entity) for entity in by_key[span.key])
    for span in stretches:
        if not any(_overlap(span, other) for other in taken):
            # Thousands may have come in a large bank, and each span is like those alone that begin as it does.
            some = entities if len(span.key) < FUZZY_PREFIX else by_beginning.get(span.key[:FUZZY_PREFIX], ())
            near = _of_other_number(span, by_key) or _part(span, some) or _nearly(span, some)
            if near:
                taken.append(span)
                chosen.update((entity.entity_id, entity) for entity in near)
    return tuple(chosen[key] for key in sorted(chosen))


def _is_covered(span: Span, taken: list[Span]) -> bool:
    """Tell whether what is taken covers this stretch; of text without spaces also whether it covers a part of it."""
    return any(
        (other.start <= span.start and span.end <= other.end) or (span.unspaced and _overlap(span, other))
        for other in taken
    )


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _of_other_number(span: Span, by_key: dict[str, list[NamedEntity]]) -> list[NamedEntity]:
    # Names have no plural: Williams is not William, and Windows is no window.
    found = {e.entity_id: e for key in span.other_numbers for e in by_key.get(key, ()) if e.kind == CONCEPT}
    return list(found.values())


def _part(span: Span, entities: Sequence[NamedEntity]) -> list[NamedEntity]:
    """Find who alone has this given or family name; misspelt, only who alone has nearly this one."""
    if not span.alone:
        return []
    beginnings = (f"{span.key} ", f"{span.key}, ") if span.capital else (f"{span.key} ",)
    whole = {e.entity_id: e for e in entities if e.kind == PERSON and e.key.startswith(beginnings)}
    if not whole and span.fuzzy and span.capital:
        whole = {
            e.entity_id: e for e in entities if e.kind == PERSON and _slips([span.key], [_first(e.key)]) is not None
        }
    return list(whole.values()) if len(whole) == 1 else []


def _first(key: str) -> str:
    head, _, tail = key.partition(" ")
    return head.rstrip(",") if tail else ""


def _nearly(span: Span, entities: Sequence[NamedEntity]) -> list[NamedEntity]:
    if not span.fuzzy:
        return []
    near = list(_near(span, entities))
    best = min((slips for slips, _ in near), default=0)
    return [entity for slips, entity in near if slips == best]


def _near(span: Span, entities: Sequence[NamedEntity]) -> Iterator[tuple[int, NamedEntity]]:
    words = span.key.split()
    for entity in entities:
        if entity.kind != LABEL and entity.key[:FUZZY_PREFIX] == span.key[:FUZZY_PREFIX] and "," not in entity.key:
            slips = _slips(words, entity.key.split())
            if slips is not None:
                yield slips, entity


def _slips(said: list[str], name: list[str]) -> int | None:
    """Count the slips between a name as it was said and as it is; nothing where they are two names.

    Where names that differ are told apart is their ends (Martin, Martina; Room A, Room B), their short words (Mira,
    Mina) and their numbers: there nothing is forgiven.
    """
    if len(said) != len(name) or any(char.isdigit() for word in name for char in word):
        return None
    least = FUZZY_CHARS if len(said) == 1 else FUZZY_WORD_CHARS
    total = 0
    for mine, theirs in zip(said, name, strict=True):
        if mine == theirs:
            continue
        shorter = min(len(mine), len(theirs))
        if shorter < least or mine[:FUZZY_PREFIX] != theirs[:FUZZY_PREFIX] or mine[-1] != theirs[-1]:
            return None
        allowed = 1 if shorter < LONG_WORD else 2
        slips = OSA.distance(mine, theirs, score_cutoff=allowed)
        if slips > allowed:
            return None
        total += slips
    return total if total <= 2 else None  # noqa: PLR2004 - as many as a long word may have
