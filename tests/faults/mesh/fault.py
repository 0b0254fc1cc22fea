"""Four ways in which a process or a store can fail those who call it, and how each ends."""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from faults.mesh.topology import STORES, Mesh
from faults.outage import Outage

from recallmesh.mesh import Part

LEDGER = "postgres"
"""What nothing can be answered without, and of which a mesh has one."""


class How(StrEnum):
    """The ways."""

    KILLED = "killed"
    PAUSED = "paused"
    SLOW = "slow"
    PARTED = "parted"


@dataclass(frozen=True)
class Fault:
    """What happens to whom."""

    who: str
    how: How

    def __str__(self) -> str:
        return f"{self.who} {self.how}"

    async def begin(self, mesh: Mesh) -> None:
        match self.how:
            case How.SLOW:
                await mesh.places[self.who].slow()
            case How.PARTED:
                await mesh.places[self.who].cut()
            case _ if self.who in STORES:
                await Outage(self.who, self.how).begin(mesh.servers)
            case How.KILLED:
                await mesh.members[self.who].kill()
            case How.PAUSED:
                mesh.members[self.who].signal(signal.SIGSTOP)

    async def end(self, mesh: Mesh) -> None:
        match self.how:
            case How.SLOW:
                await mesh.places[self.who].hasten()
            case How.PARTED:
                await mesh.places[self.who].mend()
            case _ if self.who in STORES:
                await Outage(self.who, self.how).end(mesh.servers)
            case How.KILLED:
                await mesh.members[self.who].start()
            case How.PAUSED:
                mesh.members[self.who].signal(signal.SIGCONT)


def faults(wanted: Callable[[Fault], bool]) -> tuple[Fault, ...]:
    """Return every fault of everybody that is wanted; of what is there twice, only one falls ill."""
    return tuple(one for who in (*map(str, Part), *STORES) for how in How if wanted(one := Fault(who, how)))
