"""When a memory was, in the few words that a model reads."""

from datetime import datetime

from recallmesh.core.memory import Memory
from recallmesh.core.time import Precision, Window


def when(memory: Memory) -> str:
    """Say when what a memory tells happened, as exactly as it is known; else when it was said; empty: nobody knows."""
    if memory.occurred is None:
        return "" if memory.mentioned is None else f"said {minute(memory.mentioned)}"
    window = memory.occurred.window
    match memory.occurred.precision:
        case Precision.YEAR:
            return f"{window.start:%Y}"
        case Precision.MONTH:
            return f"{window.start:%Y-%m}"
        case Precision.INSTANT:
            return minute(window.start)
        case _:
            return stretch(window)


def stretch(window: Window) -> str:
    """Say which days a stretch of time is."""
    first, last = window.start.date().isoformat(), window.end.date().isoformat()
    return first if first == last else f"{first} to {last}"


def minute(moment: datetime) -> str:
    """Say a moment to the minute, with its UTC offset."""
    return moment.isoformat(sep=" ", timespec="minutes").replace("+00:00", " UTC")
