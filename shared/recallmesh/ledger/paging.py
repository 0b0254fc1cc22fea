"""Pages by key: one row more than asked tells whether there is a next page."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.page import Page

T = TypeVar("T")

DIGITS = 18
"""Those of the largest number that fits a column of 64 bits whatever its digits are."""


def cut(found: Sequence[T], size: int, key: Callable[[T], str]) -> Page[T]:
    """Return the first ``size`` rows as a page that says where to go on, if there are more."""
    rows = tuple(found[:size])
    return Page(rows, key(rows[-1]) if rows and len(found) > size else "")


def number_after(after: str) -> int:
    """Return the key of a list that is ordered by number; before the first: -1.

    Raises:
        InvalidArgument: it is none that a list of ours ends with.

    """
    if not after:
        return -1
    if not (after.isascii() and after.isdecimal() and len(after) <= DIGITS):
        raise InvalidArgument(FieldViolation("page_token", "is not one of this list"))
    return int(after)
