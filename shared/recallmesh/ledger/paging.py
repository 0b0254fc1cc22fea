"""Pages by key: one row more than asked tells whether there is a next page."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.page import Page

T = TypeVar("T")


def cut(found: Sequence[T], size: int, key: Callable[[T], str]) -> Page[T]:
    """Return the first ``size`` rows as a page that says where to go on, if there are more."""
    rows = tuple(found[:size])
    return Page(rows, key(rows[-1]) if rows and len(found) > size else "")


def number_after(after: str) -> int:
    """Return the key of a list that is ordered by number; before the first: -1."""
    try:
        return int(after) if after else -1
    except ValueError as error:
        raise InvalidArgument(FieldViolation("page_token", "is not one of this list")) from error
