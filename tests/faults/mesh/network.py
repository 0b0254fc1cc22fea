"""A network of this test's own: each process at an address of its own, in a network namespace, on one switch.

Namespaces are held by processes that end with this one, so nothing is left behind, whatever ends it. It needs root.
"""

import asyncio
import ctypes
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from subprocess import PIPE

CLONE_NEWNET = 0x40000000
RATE = "48kbit"
"""What a slow wire carries: 6 kB a second, where one answer of an arm is some kilobytes."""
QUEUE = "burst 4kb latency 4s"
"""How a slow wire delays: up to four seconds of traffic wait, and what comes then is lost."""
PREFIX = "198.18"
"""RFC 2544: networks for measuring, which nobody routes."""
PLACES = 64
"""How many places a network has room for: they know each other's hardware addresses."""


def why_not() -> str:
    """Say why there can be no network of one's own here; nothing where there can be."""
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    missing = [word for word in ("ip", "tc", "nsenter", "setpriv", "unshare") if shutil.which(word) is None]
    if missing:
        return f"{' and '.join(missing)} is missing (packages iproute2 and util-linux)"
    words = [str(shutil.which("unshare")), "--net", "ip", "link", "add", "probe", "type", "bridge"]
    made = subprocess.run(words, check=False, capture_output=True)
    return f"no network can be made: {made.stderr.decode().strip()}" if made.returncode else ""


async def run(*words: str, lines: str = "", at: int | None = None) -> None:
    """Run a command to its end, in the namespace of a process if told so."""
    entering = () if at is None else ("nsenter", f"--net=/proc/{at}/ns/net", "--")
    running = await asyncio.create_subprocess_exec(*entering, *words, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    _, said = await running.communicate(lines.encode())
    if running.returncode:
        raise OSError(f"{' '.join(words)}: {said.decode().strip()}")


@contextmanager
def within(pid: int) -> Iterator[None]:
    """Make sockets in the namespace of a process meanwhile; only this thread does."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _enter(f"/proc/{pid}/ns/net")
        yield
    finally:
        _enter(f"/proc/self/fd/{own}")
        os.close(own)


def enter(pid: int) -> None:
    """Move this thread into the namespace of a process for good."""
    _enter(f"/proc/{pid}/ns/net")


def _enter(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(handle, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"{path} cannot be entered")
    finally:
        os.close(handle)


@dataclass(frozen=True)
class Place:
    """Where a process of the mesh is: an address that only this network knows, on a wire that can be cut."""

    name: str
    number: int
    host: str
    holder: int
    switch: int

    async def cut(self) -> None:
        """Let nothing through any more, in either direction, and tell nobody: as a network that is parted does."""
        await run("ip", "link", "set", self.name, "nomaster", at=self.switch)

    async def slow(self) -> None:
        """Let little through, in both directions."""
        for pid, wire in ((self.switch, self.name), (self.holder, "eth0")):
            await run(*f"tc qdisc add dev {wire} root tbf rate {RATE} {QUEUE}".split(), at=pid)

    async def mend(self) -> None:
        """Let everything through."""
        await run("ip", "link", "set", self.name, "master", "switch", at=self.switch)

    async def hasten(self) -> None:
        """Take the slow wire away."""
        for pid, wire in ((self.switch, self.name), (self.holder, "eth0")):
            await run("tc", "qdisc", "del", "dev", wire, "root", at=pid)


@dataclass
class Network:
    """A switch, the places on it, and one wire to this process, whose address is the first."""

    subnet: str
    switch: int
    holders: list[asyncio.subprocess.Process]
    places: dict[str, Place] = field(default_factory=dict)

    async def place(self, name: str) -> Place:
        """Make a place."""
        number = len(self.places) + 2
        assert number < PLACES
        holder = await _hold(self.holders)
        host = f"{self.subnet}.{number}"
        wire = f"p{number}"
        await run(
            "ip",
            "-batch",
            "-",
            lines=f"link add {wire} type veth peer name eth0 address {_hardware(number)} netns {holder}\n"
            f"link set {wire} master switch\nlink set {wire} up\n",
            at=self.switch,
        )
        neighbours = "".join(
            f"neigh add {self.subnet}.{other} lladdr {_hardware(other)} dev eth0 nud permanent\n"
            for other in range(1, PLACES)
            if other != number
        )
        lines = f"link set lo up\naddr add {host}/24 dev eth0\nlink set eth0 up\n{neighbours}"
        await run("ip", "-batch", "-", lines=lines, at=holder)
        self.places[name] = Place(wire, number, host, holder, self.switch)
        return self.places[name]


def _hardware(number: int) -> str:
    """Return the hardware address of a place; all know those of all, so that nobody learns who is cut off."""
    return f"02:00:00:00:00:{number:02x}"


async def _hold(holders: list[asyncio.subprocess.Process]) -> int:
    """Make a namespace; returns the process that holds it."""
    words = ("setpriv", "--pdeathsig", "KILL", "--", "unshare", "--net", "--", "sh", "-c", "echo; exec sleep infinity")
    holder = await asyncio.create_subprocess_exec(*words, stdin=PIPE, stdout=PIPE)
    holders.append(holder)
    await holder.stdout.readline()
    return holder.pid


@asynccontextmanager
async def open_network() -> AsyncIterator[Network]:
    """Make a network, and take it away in the end."""
    holders: list[asyncio.subprocess.Process] = []
    wire = f"rm{os.getpid()}"
    subnet = f"{PREFIX}.{os.getpid() % 254 + 1}"
    try:
        switch = await _hold(holders)
        lines = f"link add {wire} type veth peer name root netns {switch}\naddr add {subnet}.1/24 dev {wire}\n"
        lines += f"link set {wire} address {_hardware(1)}\nlink set {wire} up\n"
        lines += "".join(
            f"neigh add {subnet}.{other} lladdr {_hardware(other)} dev {wire} nud permanent\n"
            for other in range(2, PLACES)
        )
        await run("ip", "-batch", "-", lines=lines)
        lines = "link add switch type bridge\nlink set switch up\nlink set root master switch\nlink set root up\n"
        await run("ip", "-batch", "-", lines=lines, at=switch)
        yield Network(subnet, switch, holders)
    finally:
        for holder in holders:
            holder.kill()
        await asyncio.gather(*(holder.wait() for holder in holders))
