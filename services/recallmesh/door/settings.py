"""What can be set about the JSON door."""

import re

from pydantic import BaseModel, Field, field_validator

ANY = "*"
ORIGIN = re.compile(r"https?://[^/?#\s@*]+")


class DoorSettings(BaseModel, extra="forbid", frozen=True):
    """The JSON door: the public services over HTTP. Deadlines, calls at once and leaving are those of ``serve``."""

    listen: str = "127.0.0.1:7080"
    """Where to listen, host:port; port 0 takes any free one."""
    server: str | None = None
    """A mesh that offers all the public services at one address, ``host:port``: for those of recall, retain and bank
    that have no address of their own and are not in the door's process. Absent: there is none."""
    exposed: bool = False
    """Let ``listen`` be an address that others can reach. Nobody is asked who they are: whoever reaches the door reads
    and writes every bank. For containers, and behind a proxy that asks."""
    hosts: frozenset[str] = frozenset()
    """The names by which the door may be called, besides those of loopback; ``*`` is any. Without a proxy of its own a
    web page could give its own name the door's address and read what it answers."""
    cors_origins: frozenset[str] = frozenset()
    """The web sites whose pages may use the door, such as ``https://notes.example.com``; ``*`` is any. Empty: none."""
    heartbeat_s: float = Field(default=15.0, gt=0, le=3600)
    """Seconds of silence after which a stream of events says that it is still there."""

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, value: frozenset[str]) -> frozenset[str]:
        wrong = sorted(one for one in value if one != ANY and not ORIGIN.fullmatch(one))
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: no origin such as https://notes.example.com (no path, no slash)")
        return value
