"""Names: how they are compared, and which of a bank's entities a query names."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from rapidfuzz.distance import OSA

from recallmesh.graph.store import NamedEntity

WORDS_PER_NAME = 6
FUZZY_WORDS = 32
"""Only queries of at most this many words are read for misspelt names: a pasted document is not."""
FUZZY_CHARS = 6
"""Shorter names are too near to one another: Mira and Mina, Maria and Mario."""
FUZZY_PREFIX = 2
"""The letters at the start that must be right, which also makes the look-up a range of the index."""
CJK_CHARS = 8
EDGES = "\"'`.,;:!?()[]{}<>«»„“”‘’…、。，；：！？「」『』（）¿¡*_~|"  # noqa: RUF100
FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by can could did do does for from had has have he her his how i if in is it its may "
        "me my no not of on or our she so that the their them they this to us was we were what when where who why will "
        "with would yes you your",
    )
)
"""Words that are names only when written as names: Will, May, Us."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+")
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_POSSESSIVE = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the query that may be a name: its key and the words [start, end) it covers."""

    key: str
    start: int
    end: int
    fuzzy: bool = False
    """Whether a name spelt nearly like it may be meant."""
    alone: bool = False
    """Whether it is one word with no capitalised word beside it, so that it may be a given name."""


def name_key(name: str) -> str:
    """Fold a name for comparing: case, accents, widths, runs of space and the punctuation around words go."""
    words = (word.strip(EDGES) for word in _folded(name).split())
    return " ".join(word for word in words if word)


def spans(text: str) -> tuple[Span, ...]:
    """Return the stretches of a query that may be names, longer ones first."""
    raw = text.split()
    words = [name_key(_POSSESSIVE.sub("", word.strip(EDGES))) for word in raw]
    found = [
        Span(
            key=" ".join(words[start:end]),
            start=start,
            end=end,
            fuzzy=len(words) <= FUZZY_WORDS and _may_be_misspelt(words[start:end]),
            alone=end - start == 1 and not _has_capital_neighbour(raw, start),
        )
        for size in range(min(WORDS_PER_NAME, len(words)), 0, -1)
        for start in range(len(words) - size + 1)
        for end in (start + size,)
        if all(words[start:end]) and not _is_function_word(raw, words, start, end)
    ]
    return tuple(found) + tuple(_cjk_spans(words))


def prefixes(stretches: Iterable[Span]) -> tuple[str, ...]:
    """Return the beginnings under which misspelt or given names may stand in the index."""
    starts = {span.key[:FUZZY_PREFIX] for span in stretches if span.fuzzy}
    given = {f"{span.key} " for span in stretches if span.alone and span.key[:FUZZY_PREFIX] not in starts}
    return tuple(sorted(starts | given))


def named(stretches: tuple[Span, ...], entities: tuple[NamedEntity, ...]) -> tuple[NamedEntity, ...]:
    """Choose the entities that the stretches name, each once, by entity id.

    The longest exact name wins over names inside it. What no exact name covers may be a given name that only one
    person has, or nearly the name of something.
    """
    by_key: dict[str, list[NamedEntity]] = {}
    for entity in entities:
        by_key.setdefault(entity.key, []).append(entity)
    chosen: dict[str, NamedEntity] = {}
    taken: list[Span] = []
    for span in stretches:
        if span.key in by_key and not _inside(span, taken):
            taken.append(span)
            chosen.update((entity.entity_id, entity) for entity in by_key[span.key])
    for span in stretches:
        if not _touches(span, taken):
            near = _given(span, entities) or _nearly(span, entities)
            if near:
                taken.append(span)
                chosen.update((entity.entity_id, entity) for entity in near)
    return tuple(chosen[key] for key in sorted(chosen))


def _folded(text: str) -> str:
    # What no store can hold or compare, lone surrogates and control characters, parts words.
    clean = _UNSTORABLE.sub(" ", text)
    wide = unicodedata.normalize("NFKD", clean)
    bare = "".join(char for char in wide if not unicodedata.combining(char) or "\u3040" <= char <= "\u30ff")
    return unicodedata.normalize("NFC", bare).casefold().replace("\u3099", "").replace("\u309a", "")


def _may_be_misspelt(words: list[str]) -> bool:
    key = " ".join(words)
    # A digit makes an identifier, and identifiers that differ in one character are different things.
    return len(words) <= 3 and len(key) >= FUZZY_CHARS and not any(char.isdigit() for char in key)  # noqa: PLR2004


def _has_capital_neighbour(raw: list[str], place: int) -> bool:
    beside = [raw[i].strip(EDGES) for i in (place - 1, place + 1) if 0 <= i < len(raw)]
    first = raw[0].strip(EDGES)
    return any((word[:1].isupper() and word != first) or word[:1].isdigit() for word in beside)


def _is_function_word(raw: list[str], words: list[str], start: int, end: int) -> bool:
    if end - start > 1 or words[start] not in FUNCTION_WORDS:
        return False
    return start == 0 or not raw[start].strip(EDGES)[:1].isupper() or words[start] == "i"


def _cjk_spans(words: list[str]) -> Iterable[Span]:
    for place, word in enumerate(words):
        for run in _CJK.findall(word):
            for size in range(min(CJK_CHARS, len(run)), 1, -1):
                for start in range(len(run) - size + 1):
                    if run[start : start + size] != word:
                        yield Span(run[start : start + size], place, place + 1)


def _inside(span: Span, taken: list[Span]) -> bool:
    return any(
        other.start <= span.start and span.end <= other.end and span.key != other.key and span.key in other.key
        for other in taken
    )


def _touches(span: Span, taken: list[Span]) -> bool:
    return any(span.start < other.end and other.start < span.end for other in taken)


def _given(span: Span, entities: tuple[NamedEntity, ...]) -> list[NamedEntity]:
    if not span.alone:
        return []
    full = {e.entity_id: e for e in entities if e.kind == "person" and e.key.startswith(f"{span.key} ")}
    return list(full.values()) if len(full) == 1 else []


def _nearly(span: Span, entities: tuple[NamedEntity, ...]) -> list[NamedEntity]:
    if not span.fuzzy:
        return []
    allowed = 1 if len(span.key) < 2 * FUZZY_CHARS else 2
    near = [
        (OSA.distance(span.key, e.key, score_cutoff=allowed), e)
        for e in entities
        if e.kind != "label"
        and len(e.key) >= FUZZY_CHARS
        and not any(char.isdigit() for char in e.key)
        and e.key[:FUZZY_PREFIX] == span.key[:FUZZY_PREFIX]
        and e.key.count(" ") == span.key.count(" ")
    ]
    best = min((distance for distance, _ in near), default=allowed + 1)
    return [entity for distance, entity in near if distance == best] if best <= allowed else []
