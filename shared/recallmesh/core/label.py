"""Labels: ``key:value`` of a bank's controlled vocabulary, matched exactly and never by likeness (SPEC T6)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from recallmesh.core.bank import LabelKey
from recallmesh.core.blank import is_blank
from recallmesh.core.errors import FieldViolation
from recallmesh.core.limits import LABEL_ABOUT_BYTES, LABEL_KEYS, LABEL_VALUES, LABELS_BYTES, TAG_BYTES
from recallmesh.core.text import name_violations, text_violations

SIGN = ":"
"""What parts a key from its value; a value may hold more of them, a key none."""
_BANKS = 256
"""Vocabularies whose pattern is kept; to make one of 1,000 labels takes 5 ms."""


def written(key: str, value: str) -> str:
    """Return a label as it is written."""
    return f"{key}{SIGN}{value}"


def labels_of(vocabulary: Iterable[LabelKey]) -> frozenset[str]:
    """Return every label that a vocabulary allows."""
    return frozenset(written(one.key, value) for one in vocabulary for value in one.values)


def label_fault(label: str, vocabulary: Sequence[LabelKey]) -> str:
    """Return what is wrong with a label that a caller gives; nothing if the vocabulary has it."""
    key, sign, value = label.partition(SIGN)
    if not sign:
        return f"is no label: one is written key{SIGN}value"
    if not vocabulary:
        return "is no label of the bank, which has no vocabulary"
    known = {one.key: one.values for one in vocabulary}
    if key not in known:
        return f"has a key that the bank's vocabulary has not; it has {_some(known)}"
    if value not in known[key]:
        return f"has a value that {key!r} may not have; it may have {_some(known[key])}"
    return ""


def find_labels(text: str, vocabulary: tuple[LabelKey, ...]) -> tuple[str, ...]:
    """Return the labels that a text says letter by letter, in order of first appearance, each once."""
    if not vocabulary:
        return ()
    return tuple(dict.fromkeys(_pattern(vocabulary).findall(text)))


def tags_of(labels: Iterable[str], vocabulary: Iterable[LabelKey]) -> tuple[str, ...]:
    """Return those of the labels that are tags as well."""
    as_tags = {one.key for one in vocabulary if one.write_tags}
    return tuple(label for label in labels if label.partition(SIGN)[0] in as_tags)


def vocabulary_violations(vocabulary: Sequence[LabelKey], where: str) -> Iterator[FieldViolation]:
    """Yield what is wrong with a vocabulary; ``where`` is its path in the request."""
    if len(vocabulary) > LABEL_KEYS:
        yield FieldViolation(where, f"has {len(vocabulary)} keys; the limit is {LABEL_KEYS}")
        return
    texts = [text for one in vocabulary for text in (one.key, one.description, *one.values)]
    size = sum(len(text.encode(errors="surrogatepass")) for text in texts)
    if size > LABELS_BYTES:
        yield FieldViolation(where, f"has {size} bytes of UTF-8; the limit is {LABELS_BYTES}")
        return
    often = Counter(one.key for one in vocabulary)
    for index, one in enumerate(vocabulary):
        path = f"{where}[{index}]"
        yield from name_violations(f"{path}.key", one.key, TAG_BYTES)
        if is_blank(one.key) or one.key != one.key.strip():
            yield FieldViolation(f"{path}.key", "is blank, or begins or ends with space")
        if SIGN in one.key:
            yield FieldViolation(f"{path}.key", f"contains {SIGN!r}, which parts it from the value")
        if often[one.key] > 1:
            yield FieldViolation(f"{path}.key", f"{one.key!r} is there {often[one.key]} times")
        yield from _value_violations(path, one)
        yield from text_violations(f"{path}.description", [one.description], LABEL_ABOUT_BYTES)


def _value_violations(path: str, one: LabelKey) -> Iterator[FieldViolation]:
    if not one.values:
        yield FieldViolation(f"{path}.values", "needs at least one value")
    if len(one.values) > LABEL_VALUES:
        yield FieldViolation(f"{path}.values", f"has {len(one.values)} values; the limit is {LABEL_VALUES}")
        return
    often = Counter(one.values)
    for index, value in enumerate(one.values):
        field = f"{path}.values[{index}]"
        yield from name_violations(field, written(one.key, value), TAG_BYTES)
        if is_blank(value) or value != value.strip():
            yield FieldViolation(field, "is blank, or begins or ends with space")
        if often[value] > 1:
            yield FieldViolation(field, f"{value!r} is there {often[value]} times")


def _some(words: Iterable[str], most: int = 10) -> str:
    held = list(words)
    return ", ".join(held[:most]) + (f" and {len(held) - most} more" if len(held) > most else "")


@lru_cache(_BANKS)
def _pattern(vocabulary: tuple[LabelKey, ...]) -> re.Pattern[str]:
    # The longest first: priority:high-est is not priority:high. A word may not go on before or behind the label.
    either = "|".join(re.escape(label) for label in sorted(labels_of(vocabulary), key=lambda one: (-len(one), one)))
    return re.compile(rf"(?<![\w:-])(?:{either})(?![\w:]|-\w)")
