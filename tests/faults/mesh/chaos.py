"""Each process and store of a mesh is killed, paused, slowed and cut off in turn, while many ask and write.

``make chaos`` does all of it and prints a table; three of it are a test. It needs root, for networks of its own.
"""

import argparse
import asyncio
import math
import os
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deployment import until
from faults.mesh.fault import LEDGER, Fault, How, faults
from faults.mesh.load import Asked, Askers, Writing
from faults.mesh.network import why_not
from faults.mesh.topology import Mesh, open_mesh
from faults.outage import say
from faults.soak import REF, Served, Tally, Writer, compare, insist, is_settled
from store_servers.fleet import Fleet
from stores import fleet

from recallmesh.telemetry.log import set_up_logging

WANTED = 0.999
"""Which part of the questions is answered in time, at least."""
WRITERS = 2
STREAK = 8
"""So many answers one after the other by everybody, the cross-encoder among them: then a fault is over."""
BACK_S = 300.0
"""The most that may pass until everybody answers again: a store that starts compiles its first queries anew."""


@dataclass(frozen=True)
class Pace:
    """How much is asked, for how long, and how soon it must be answered, seconds.

    A fault lasts ``hold_s``; what was killed is started again after a third of it. Nothing happens for as long in the
    beginning, which the others are compared with.
    """

    hold_s: float = 6.0
    every_s: float = 0.2
    deadline_s: float = 5.0


@dataclass(frozen=True)
class Row:
    """What the askers saw of one fault, from its beginning until everybody was found again; seconds."""

    fault: str
    asked: Sequence[Asked]
    recovered_s: float

    @property
    def available(self) -> float:
        return sum(one.is_available for one in self.asked) / max(1, len(self.asked))

    def told(self) -> str:
        """Return the row for people."""
        took = sorted(one.seconds for one in self.asked) or [0.0]
        p50, p99 = (took[min(len(took) - 1, math.ceil(len(took) * part))] for part in (0.5, 0.99))
        away = Counter(name for one in self.asked for name in one.away)
        errors = Counter(one.error.partition(":")[0] for one in self.asked if one.error)
        said = ", ".join(f"{name} {count}" for name, count in sorted((away + errors).items()))
        return (
            f"| {self.fault} | {len(self.asked)} | {self.available:.2%} | {p50 * 1000:.0f} | {p99 * 1000:.0f} | "
            f"{self.recovered_s:.1f} | {said or '—'} |"
        )


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    rows: Sequence[Row]
    tally: Tally
    memories: int
    seconds: float
    load: float

    @property
    def counted(self) -> list[Asked]:
        """The questions that had to be answered: all but those that the ledger was away for."""
        return [one for row in self.rows if not row.fault.startswith(LEDGER) for one in row.asked]

    def told(self) -> str:
        """Return the summary for people."""
        counted = self.counted
        there = sum(one.is_available for one in counted)
        head = "| fault | asked | available | p50, ms | p99, ms | over after, s | away or refused |\n"
        lines = (
            head + "|---|--:|--:|--:|--:|--:|---|",
            *(row.told() for row in self.rows),
            f"{there} of {len(counted)} recalls, {there / len(counted):.3%}, were available; the ledger apart",
            f"{self.tally.retains} retains, {self.tally.retried} tried again; {self.memories} memories at the end",
            f"{self.seconds:.0f} s; the machine's load was {self.load:.1f} on {os.cpu_count()} cores",
            f"wrong: {len(self.tally.wrong) or 'nothing'}",
        )
        return "\n".join((*lines, *self.tally.wrong[:20]))


async def run(folder: Path, servers: Fleet, *, suffered: Sequence[Fault], pace: Pace, seed: int) -> Outcome:
    """Let these faults come and go, one after the other; then compare what is there with what was acknowledged."""
    began, tally, load = time.monotonic(), Tally(), []
    shared: dict[str, list[str]] = defaultdict(list)
    async with open_mesh(folder, servers) as mesh:
        served = Served(folder)
        served.ready.set()
        await mesh.faces.admin.create_bank(REF)
        writers = [
            Writer(one, mesh.faces, served, tally, random.Random(f"{seed}-{one}"), shared) for one in range(WRITERS)
        ]
        for writer in writers:
            for _ in range(10):
                await writer.write()
        askers, writing = Askers(mesh.faces, random.Random(seed), pace.every_s, pace.deadline_s), Writing(writers)
        asking, busy = asyncio.create_task(askers.run()), asyncio.create_task(writing.run())
        await _is_calm(askers, time.monotonic())
        mark = time.monotonic()
        await asyncio.sleep(pace.hold_s)
        rows = [Row("none", [one for one in askers.seen if one.began >= mark], 0)]
        say(rows[0].told())
        for fault in suffered:
            rows.append(await _suffer(fault, mesh, askers, tally, pace.hold_s))
            load.append(os.getloadavg()[0])
            say(rows[-1].told())
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        writing.stopping.set()
        await busy
        await until(lambda: insist(lambda: is_settled(mesh.faces), served, tally), BACK_S)
        said = {document: texts for writer in writers for document, texts in writer.said.items()}
        memories = await compare(mesh.faces, served, said | shared, tally)
    outcome = Outcome(rows, tally, memories, time.monotonic() - began, sum(load) / len(load))
    _judge(outcome)
    return outcome


async def _suffer(fault: Fault, mesh: Mesh, askers: Askers, tally: Tally, hold_s: float) -> Row:
    """Let one fault begin and end, and wait until it is over."""
    mark = time.monotonic()
    await fault.begin(mesh)
    await asyncio.sleep(hold_s / 3 if fault.how is How.KILLED else hold_s)
    ended = time.monotonic()
    await fault.end(mesh)
    try:
        over = await _is_calm(askers, ended)
    except TimeoutError:
        tally.wrong.append(f"{fault}: recall was not whole {BACK_S:.0f} s later")
        over = time.monotonic()
    await mesh.is_back(fault.who)
    return Row(str(fault), [one for one in askers.seen if _ends(one) > mark], over - ended)


def _ends(one: Asked) -> float:
    return one.began + one.seconds


async def _is_calm(askers: Askers, since: float) -> float:
    """Wait until everybody answers again; returns when that began."""

    async def calm() -> float:
        last = [one for one in askers.seen[-STREAK:] if one.began >= since]
        if len(last) == STREAK and all(one.is_whole for one in last) and any(one.read for one in last):
            return min(map(_ends, last))
        return 0

    return await until(calm, BACK_S)


def _judge(outcome: Outcome) -> None:
    """Add what is wrong of what was seen to what is wrong of what was kept."""
    wrong = outcome.tally.wrong
    counted = outcome.counted
    missed = [one for one in counted if not one.is_available]
    if len(missed) > (1 - WANTED) * len(counted):
        told = Counter(one.error or ("unnamed" if one.unnamed else "late") for one in missed)
        wrong.append(f"{len(missed)} of {len(counted)} recalls were not available: {dict(told)}")
    if late := [one.seconds for row in outcome.rows for one in row.asked if one.is_late]:
        wrong.append(f"{len(late)} recalls were late, the longest after {max(late):.1f} s")


def main() -> int:
    """Run what ``make chaos`` asks for; 1 when too little was answered, or anything was lost, doubled or differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="faults whose name holds this, such as keyword or 'graph slow'")
    parser.add_argument("--hold", type=float, default=Pace().hold_s, help="seconds that a fault lasts")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--keep", type=Path, help="a folder for what the processes say")
    words = parser.parse_args()
    if reason := why_not():
        say(f"no chaos: {reason}")
        return 2
    set_up_logging(level="error")
    wanted = faults(lambda fault: any(part in str(fault) for part in words.only.split(",")))
    with tempfile.TemporaryDirectory() as folder:
        place = words.keep or Path(folder)
        outcome = asyncio.run(run(place, fleet(), suffered=wanted, pace=Pace(words.hold), seed=words.seed))
    sys.stdout.write(outcome.told() + "\n")
    return int(bool(outcome.tally.wrong))


if __name__ == "__main__":
    sys.exit(main())
