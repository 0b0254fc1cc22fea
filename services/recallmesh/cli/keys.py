"""``key=value`` on the command line: what may be set for a bank and for one recall, read, checked and written."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, ConsolidationTuning, RetainTuning
from recallmesh.core.defense import DefenseTuning
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.tunable import (
    CONSOLIDATION_TUNABLES,
    DEFENSE_TUNABLES,
    RETAIN_TUNABLES,
    TUNABLES,
    Kind,
    Tunable,
    value_at,
    with_value,
)
from recallmesh.core.tuning import RecallTuning

T = TypeVar("T")
Tuning = TypeVar("Tuning", RetainTuning, ConsolidationTuning, DefenseTuning)

RETAIN = "retain."
"""What the keys of retain begin with; those of recall are the paths of a tuning as they are."""
CONSOLIDATION = "consolidation."
"""What the keys of consolidation begin with."""
DEFENSE = "defense."
"""What the keys of memory defense begin with."""
NAME = "name"
"""The key of the bank's own name."""
NONE = "none"
"""How an empty set is said: nothing after the sign means that the key is not set any more."""
WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}

ALLOWED = {
    Kind.ARMS: "some of {}, with commas; or none",
    Kind.BOOSTS: "arm:level, with commas, of levels {}; or none",
    Kind.NAMES: "names, with commas; or none",
    Kind.SCOPES: "tags with commas, sets with semicolons; none: those without tags",
    Kind.SWITCH: Kind.SWITCH.value,
    Kind.CHOICE: "one of {}",
    Kind.TEXT: "any text",
}
ARMS = {str(name): name for name in ArmName}

RECALL_KEYS = {one.path: one for one in TUNABLES}
BANK_KEYS = {
    **RECALL_KEYS,
    **{RETAIN + one.path: one for one in RETAIN_TUNABLES},
    **{CONSOLIDATION + one.path: one for one in CONSOLIDATION_TUNABLES},
    **{DEFENSE + one.path: one for one in DEFENSE_TUNABLES},
    NAME: Tunable(NAME, Kind.TEXT, "the bank's name for people", "T14"),
}


@dataclass(frozen=True, slots=True)
class BankChange:
    """What a bank becomes."""

    name: str
    config: BankConfig


def tuned(pairs: Iterable[str], tuning: RecallTuning) -> RecallTuning:
    """Return a request's tuning with what ``key=value`` pairs say; raises what ``read`` does."""
    for key, value in read(pairs, RECALL_KEYS):
        tuning = with_value(tuning, key, value)
    return tuning


def changed(values: Iterable[tuple[str, object]], name: str, config: BankConfig) -> BankChange:
    """Return what a bank becomes by what was ``read``; a key without a value is the service's again."""
    recall, retain, consolidation, defense = config.recall, config.retain, config.consolidation, config.defense
    for key, value in values:
        if key == NAME:
            name = str(value or "")
        elif key.startswith(RETAIN):
            retain = _with(retain, RetainTuning(), key.removeprefix(RETAIN), value)
        elif key.startswith(CONSOLIDATION):
            consolidation = _with(consolidation, ConsolidationTuning(), key.removeprefix(CONSOLIDATION), value)
        elif key.startswith(DEFENSE):
            defense = _with(defense, DefenseTuning(), key.removeprefix(DEFENSE), value)
        else:
            recall = with_value(recall, key, value)
    said = replace(config, recall=recall, retain=retain, consolidation=consolidation, defense=defense)
    return BankChange(name, said)


def _with(tuning: Tuning, ours: Tuning, field: str, value: object) -> Tuning:
    said: dict[str, Any] = {field: getattr(ours, field) if value is None else value}
    return replace(tuning, **said)


def own(config: BankConfig) -> Iterator[str]:
    """Yield what a bank says itself, as pairs."""
    for key, one in RECALL_KEYS.items():
        value = value_at(config.recall, one.path)
        if value is not None:
            yield f"{key}={written(value)}"
    for one in RETAIN_TUNABLES:
        value = value_at(config.retain, one.path)
        if value != value_at(RetainTuning(), one.path):
            yield f"{RETAIN}{one.path}={written(value)}"
    for one in CONSOLIDATION_TUNABLES:
        value = value_at(config.consolidation, one.path)
        if value != value_at(ConsolidationTuning(), one.path):
            yield f"{CONSOLIDATION}{one.path}={written(value)}"
    for one in DEFENSE_TUNABLES:
        action = value_at(config.defense, one.path)
        if action is not None:
            yield f"{DEFENSE}{one.path}={written(action)}"


def written(value: object) -> str:
    """Write a value as it would be set."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, frozenset):
        return ",".join(name for name in ArmName if name in value) or NONE
    if isinstance(value, Mapping):
        return ",".join(f"{arm}:{value[arm]}" for arm in ArmName if arm in value) or NONE
    if isinstance(value, tuple) and any(isinstance(part, tuple) for part in value):
        return ";".join(",".join(part) or NONE for part in value)
    return (",".join(value) or NONE) if isinstance(value, tuple) else str(value)


def allowed(one: Tunable) -> str:
    """Say what a key's value may be."""
    if one.kind in ALLOWED:
        return ALLOWED[one.kind].format(one.range)
    return f"a {one.kind}{', ' if one.most is None else ' in '}{one.range}"


def read(pairs: Iterable[str], keys: Mapping[str, Tunable]) -> tuple[tuple[str, object], ...]:
    """Return the key and value of each ``key=value`` pair; ``None`` for one without a value.

    Raises:
        InvalidArgument: names every pair that is wrong, and how it is right.

    """
    found: list[tuple[str, object]] = []
    violations: list[FieldViolation] = []
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if key not in keys or not sign:
            violations.append(FieldViolation(pair if key in keys else key, _unknown(key, keys)))
            continue
        try:
            found.append((key, _value(keys[key], text.strip()) if text.strip() else None))
        except ValueError as error:
            violations.append(FieldViolation(key, f"must be {allowed(keys[key])}; is {str(error)!r}"))
    if violations:
        raise InvalidArgument(*violations)
    return tuple(found)


def _unknown(key: str, keys: Mapping[str, Tunable]) -> str:
    if key in keys:
        return f"has no value: {key}={'…' if keys[key].kind is Kind.TEXT else 'VALUE'}"
    ours = get_close_matches(key, keys, n=1)
    return f"is no key{f'; did you mean {ours[0]}?' if ours else ''}"


def _value(one: Tunable, text: str) -> object:
    """Read a value.

    Raises:
        ValueError: a part of it, which it tells, is none of this kind or out of its range.

    """
    value = _parsed(one, text)
    if one.fault(value):
        raise ValueError(text)
    return value


def _parsed(one: Tunable, text: str) -> object:  # noqa: PLR0911 - one line for each kind
    match one.kind:
        case Kind.SWITCH:
            return _word(text.lower(), WORDS)
        case Kind.WHOLE:
            return _number(int, text)
        case Kind.NUMBER:
            return _number(float, text)
        case Kind.CHOICE:
            return _word(text, dict(zip(one.words, one.words, strict=True)))
        case Kind.ARMS:
            return frozenset(_word(part, ARMS) for part in _parts(text))
        case Kind.BOOSTS:
            levels = dict(zip(one.words, one.words, strict=True))
            halves = (part.partition(":") for part in _parts(text))
            return {_word(arm.strip(), ARMS): _word(level.strip(), levels) for arm, _, level in halves}
        case Kind.NAMES:
            return _parts(text)
        case Kind.SCOPES:
            return tuple(_parts(part.strip()) for part in text.split(";") if part.strip())
        case Kind.TEXT:
            return text


def _parts(text: str) -> tuple[str, ...]:
    return () if text == NONE else tuple(part.strip() for part in text.split(",") if part.strip())


def _word(text: str, words: Mapping[str, T]) -> T:
    if text not in words:
        raise ValueError(text)
    return words[text]


def _number(kind: Callable[[str], T], text: str) -> T:
    try:
        return kind(text)
    except ValueError as error:
        raise ValueError(text) from error
