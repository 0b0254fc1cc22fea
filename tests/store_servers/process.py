"""A server's process: started in a session of its own, found again by a file, stopped for certain."""

import os
import random
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

CONNECTIONS = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Which ports the kernel gives to whoever connects, or asks for any."""
LOWEST_PORT = 10_000
"""Below are those of services that a machine may have."""
PARENT_GONE = "TERM"
"""What a tied server gets from the kernel when what started it dies, however that was."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to execute, with which variables besides ours, as which user (absent: the present one)."""

    args: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    user: int | None = None
    group: int | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """A process, told by its start from a later one that got the same number."""

    pid: int
    born: str

    @property
    def is_alive(self) -> bool:
        """Whether it runs, or is paused; a zombie does not."""
        state, born = _state(self.pid)
        return born == self.born and state not in {"Z", "X", ""}

    def signal_all(self, number: signal.Signals) -> None:
        """Send it and what it has started, as servers do for each connection, a signal."""
        if self.is_alive:
            for pid in (self.pid, *_descendants(self.pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it is there."""
        if self.is_alive:
            os.kill(self.pid, number)

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; returns whether it came."""
        try:
            watch = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        try:
            if self.is_alive:
                select.select([watch], [], [], max(timeout_s, 0))
            if self.is_alive:
                return False
            with suppress(ChildProcessError):
                os.waitpid(self.pid, os.WNOHANG)
            return True
        finally:
            os.close(watch)


def as_user(user: int | None, group: int | None) -> list[str]:
    """Return what before a command runs it as this user; nothing where that is the present one.

    Not by ``subprocess`` itself: then it forks with the handlers of what is loaded, and gRPC's may end it unsaid.
    """
    return [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--"]


def start_process(command: Command, log: Path, *, tied: bool, gone: str = PARENT_GONE) -> Process:
    """Start a server that no Ctrl-C of ours reaches; a tied one ends with this process, by the signal ``gone``."""
    prefix = as_user(command.user, command.group)
    if tied and shutil.which("setpriv"):
        prefix = [*(prefix or ["setpriv", "--"])[:-1], "--pdeathsig", gone, "--"]
    with log.open("ab") as said:
        started = subprocess.Popen(
            [*prefix, *command.args],
            env={**os.environ, **command.variables},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    # From here on it is known by its number, as it is to whoever comes after us.
    started.returncode = 0
    return Process(started.pid, _state(started.pid)[1])


def free_port() -> int:
    """Return a port of loopback that nobody listens on now, and that no connection gets while its server is away."""
    first = int(CONNECTIONS.read_text(encoding="ascii").split()[0]) if CONNECTIONS.exists() else 0
    while first > LOWEST_PORT:
        port = random.randrange(LOWEST_PORT, first)
        if is_free(port):
            return port
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether nobody listens on a port of loopback now."""
    with socket.socket() as taken:
        # What was closed a moment ago is free as well.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def comes_free(port: int, within_s: float) -> bool:
    """Wait until nobody listens on a port of loopback; returns whether it came to that."""
    until = time.monotonic() + within_s
    while not is_free(port):
        if time.monotonic() >= until:
            return False
        time.sleep(0.1)
    return True


def _descendants(pid: int) -> list[int]:
    try:
        lists = [path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):
        return []
    children = [int(child) for each in lists for child in each.split()]
    return children + [one for child in children for one in _descendants(child)]


def _state(pid: int) -> tuple[str, str]:
    """Return the state's letter and the start, in ticks since the machine's; both empty where there is none."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return "", ""
    fields = told.rpartition(")")[2].split()
    return fields[0], fields[19]
