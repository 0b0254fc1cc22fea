"""Points and stretches of time, as memories and queries know them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from recallmesh.core.errors import FieldViolation, InvalidArgument

Clock = Callable[[], datetime]
"""Gives the present moment, time-zone aware. Passed to constructors, so that tests choose the time."""


def system_clock() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


def as_utc(moment: datetime) -> datetime:
    """Read a moment in UTC; a naive one is taken to be UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Precision(StrEnum):
    """How exactly a time is known."""

    INSTANT = "instant"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    SEASON = "season"
    YEAR = "year"
    DECADE = "decade"
    RANGE = "range"


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time with both ends included, each time-zone aware.

    Raises:
        InvalidArgument: the start is after the end, or an end has no time zone.

    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        """Refuse what is no stretch of time."""
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise InvalidArgument(FieldViolation("window", "needs a time zone on both ends"))
        if self.start > self.end:
            raise InvalidArgument(FieldViolation("window.start", "is after window.end"))

    @property
    def centre(self) -> datetime:
        """The moment half way between the ends."""
        return self.start + (self.end - self.start) / 2

    @property
    def days(self) -> float:
        """The length in days of 86,400 seconds."""
        return (self.end - self.start).total_seconds() / 86_400

    def overlaps(self, other: "Window") -> bool:
        """Tell whether the two share a moment."""
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True, slots=True)
class Occurrence:
    """When a fact happened, as exactly as it is known: "in 2024" is the whole year, not its first day."""

    window: Window
    precision: Precision
