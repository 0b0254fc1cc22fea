"""What a kind of server is: how it is had, started, known to be ready and stopped."""

import signal
from pathlib import Path
from typing import Protocol

from store_servers.process import Command


class Missing(Exception):
    """A server cannot be had here; the message says what is missing and what to do."""


class Server(Protocol):
    """One kind of server. ``installed`` is the folder of its programme, ``folder`` that of its data; often the same."""

    @property
    def name(self) -> str:
        """What it is called, and its folder."""
        ...

    @property
    def stop_signal(self) -> signal.Signals:
        """What asks it to end at once, but in order."""
        ...

    def install(self, installed: Path) -> str:
        """Fetch what is not there yet, and return the version.

        Raises:
            Missing: something of the machine's is not there.

        """
        ...

    def prepare(self, installed: Path, folder: Path, port: int) -> Command:
        """Lay out its data, if there are none, and return how to start it."""
        ...

    def wipe(self, folder: Path) -> None:
        """Remove its data, and not what was installed."""
        ...

    def is_ready(self, port: int) -> bool:
        """Whether it answers."""
        ...

    def address(self, port: int) -> str:
        """Return where clients find it."""
        ...
