"""The text of a memory as the cross-encoder reads it: its date in front, as exactly as it is known."""

from datetime import datetime

from recallmesh.core.memory import Memory
from recallmesh.core.time import Occurrence, Precision

# Written out: strftime would follow the process's locale.
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def passage(memory: Memory) -> str:
    """Return "8 May 2023: text"; an undated memory's text alone. Worth one to three points of recall on LoCoMo."""
    date = date_words(memory)
    return f"{date}: {memory.text}" if date else memory.text


def date_words(memory: Memory) -> str:
    """Return the memory's own time in words, or nothing."""
    if memory.occurred is not None:
        return _occurrence(memory.occurred)
    return "" if memory.mentioned is None else _day(memory.mentioned)


def _occurrence(occurrence: Occurrence) -> str:
    start, end = occurrence.window.start, occurrence.window.end
    match occurrence.precision:
        case Precision.INSTANT | Precision.DAY:
            return _day(start)
        case Precision.MONTH:
            return f"{MONTHS[start.month - 1]} {start.year}"
        case Precision.YEAR:
            return str(start.year)
        case Precision.DECADE:
            return f"{start.year}s"
        case Precision.QUARTER | Precision.SEASON:
            return f"{MONTHS[start.month - 1]} {start.year} to {MONTHS[end.month - 1]} {end.year}"
        case _:
            first, last = _day(start), _day(end)
            return first if first == last else f"{first} to {last}"


def _day(moment: datetime) -> str:
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"
