"""A bank's configuration as plain JSON values and back, for any shape the dataclasses of ``core.bank`` take."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Union, cast, get_args, get_origin, get_type_hints

from recallmesh.core.bank import BankConfig

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]
"""What JSON can say."""


def config_to_plain(config: BankConfig) -> dict[str, Plain]:
    """Return the configuration as JSON values; what is at ``None`` is left out."""
    return cast("dict[str, Plain]", _to_plain(config))


def config_from_plain(plain: Mapping[str, Plain]) -> BankConfig:
    """Return the configuration that the JSON values describe; keys it does not know are ignored."""
    return cast("BankConfig", _from_plain(BankConfig, dict(plain)))


def _to_plain(value: object) -> Plain:
    if isinstance(value, Enum):
        return cast("Plain", value.value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = ((part.name, getattr(value, part.name)) for part in fields(value))
        return {name: _to_plain(part) for name, part in parts if part is not None}
    if isinstance(value, Mapping):
        return {str(_to_plain(key)): _to_plain(part) for key, part in value.items()}
    if isinstance(value, frozenset):
        return sorted((_to_plain(part) for part in value), key=str)
    if isinstance(value, tuple):
        return [_to_plain(part) for part in value]
    return cast("Plain", value)


def _from_plain(kind: object, plain: Plain) -> object:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if plain is None:
            return None
        return _from_plain(next(part for part in arguments if part is not NoneType), plain)
    if isinstance(plain, dict):
        return _from_dict(kind, plain)
    if isinstance(plain, list):
        made = (_from_plain(arguments[0], part) for part in plain)
        return frozenset(made) if origin is frozenset else tuple(made)
    if isinstance(kind, type) and (issubclass(kind, Enum) or (kind is float and isinstance(plain, int))):
        return cast("Callable[[Plain], object]", kind)(plain)
    return plain


@cache
def _hints(kind: type) -> dict[str, object]:
    """Return a dataclass's field types; to evaluate them took half of a bank's read, which each recall begins with."""
    return get_type_hints(kind)


def _from_dict(kind: object, plain: dict[str, Plain]) -> object:
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        known = {part.name for part in fields(kind)}
        return kind(**{name: _from_plain(hints[name], part) for name, part in plain.items() if name in known})
    key, value = get_args(kind)
    return MappingProxyType({_from_plain(key, name): _from_plain(value, part) for name, part in plain.items()})
