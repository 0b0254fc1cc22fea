"""Messages of a conversation as pieces: each keeps its speaker, its time and to whom it was said."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from recallmesh.cli.files.source import Piece

PAIR = 2


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody said; ``time`` is absent where it is not told."""

    speaker: str
    text: str
    time: datetime | None = None


def pieces(messages: Sequence[Message], title: str) -> tuple[Piece, ...]:
    """Return the messages that say something. Of two who speak, each speaks to the other."""
    said = [message for message in messages if message.text.strip()]
    speakers = list(dict.fromkeys(message.speaker for message in said))
    made = []
    for message in said:
        others = [name for name in speakers if name != message.speaker]
        to = f" to {others[0]}" if len(speakers) == PAIR else ""
        context = f"{message.speaker} is speaking{to}{f', in {title}' if title else ''}"
        made.append(Piece(f"{message.speaker}: {message.text.strip()}", message.time, context))
    return tuple(made)
