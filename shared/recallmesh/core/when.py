"""The port that reads a time expression out of a text."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recallmesh.core.time import Occurrence


@dataclass(frozen=True, slots=True)
class TimeReading:
    """A time found in a text: the stretch meant, its precision, the words (``text[begin:end]``) and the rule."""

    occurrence: Occurrence
    begin: int
    end: int
    rule: str


class TimeReader(Protocol):
    """Reads time expressions; pure computing, to be called off the event loop."""

    def read(self, text: str, now: datetime) -> TimeReading | None:
        """Return the period a *query* asks about, relative to ``now`` in its UTC offset; ``None`` when in doubt."""
        ...

    def read_all(self, text: str, now: datetime) -> tuple[TimeReading, ...]:
        """Return every time named in a *statement*, in order, without overlap."""
        ...


class QueryTimes(Protocol):
    """Reads queries for a time off the event loop, where a long one delays no other work."""

    async def read(self, text: str, now: datetime) -> TimeReading | None:
        """Return what ``TimeReader.read`` does; one that is cancelled before it was begun is not read."""
        ...
