"""Lists come in pages, from the first day."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

PAGE_SIZE_DEFAULT = 50
PAGE_SIZE_MAX = 1000


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page: at most ``size`` rows after the row with key ``after`` (empty: from the start)."""

    size: int = PAGE_SIZE_DEFAULT
    after: str = ""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Rows in the list's order, and the key to go on from (empty: that was the last page)."""

    rows: tuple[T, ...]
    next_after: str = ""
