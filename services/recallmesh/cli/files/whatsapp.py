"""A chat as WhatsApp exports it: ``21/03/2026, 10:05 - Leo: hello`` or ``[21/03/2026, 10:05:11] Leo: hello``."""

import re
from collections.abc import Sequence
from datetime import datetime

from recallmesh.cli.files.source import Piece
from recallmesh.cli.files.talk import Message, pieces

_LINE = re.compile(
    r"^[\u200e\u200f]?\[?(?P<a>\d{1,4})[./-](?P<b>\d{1,2})[./-](?P<c>\d{2,4}),? (?P<hour>\d{1,2}):(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2}))?[\u202f ]?(?P<half>[AaPp]\.?[Mm]\.?)?(?:\]| -) (?P<rest>.*)$"
)
_SPEAKER = re.compile(r"^(?P<name>[^:]{1,64}): (?P<text>.*)$", re.DOTALL)
LEAST = 2
"""Messages by which a text is known as a chat."""
MONTHS = 12
NOON = 12
CENTURY = 2000


def messages(text: str, title: str) -> tuple[Piece, ...]:
    """Return the messages of a chat; nothing when the text is none. What nobody says (who joined) is left out."""
    found: list[tuple[re.Match[str], list[str]]] = []
    for line in text.splitlines():
        if match := _LINE.match(line):
            found.append((match, [match["rest"]]))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            return ()
    if len(found) < LEAST:
        return ()
    day_first = _day_first([match for match, _ in found])
    spoken = [
        Message(said["name"], said["text"].strip(), _time(match, day_first))
        for match, lines in found
        if (said := _SPEAKER.match("\n".join(lines)))
    ]
    return pieces(spoken, title)


def _day_first(found: Sequence[re.Match[str]]) -> bool | None:
    """Tell which number of a date is the day; nothing when no date of the chat shows it: it is not guessed."""
    if any(int(match["a"]) > MONTHS for match in found):
        return True
    return False if any(int(match["b"]) > MONTHS for match in found) else None


def _time(match: re.Match[str], day_first: bool | None) -> datetime | None:  # noqa: FBT001 - one of three answers
    a, b, c = int(match["a"]), int(match["b"]), int(match["c"])
    if len(match["a"]) == 4:  # noqa: PLR2004 - digits of a year
        year, month, day = a, b, c
    elif day_first is None:
        return None
    else:
        year = c + CENTURY if len(match["c"]) == 2 else c  # noqa: PLR2004 - the same
        day, month = (a, b) if day_first else (b, a)
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % NOON + (NOON if match["half"][0] in "Pp" else 0)
    try:
        return datetime(year, month, day, hour, int(match["minute"]), int(match["second"] or 0)).astimezone()
    except ValueError:
        return None
