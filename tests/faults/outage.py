"""Servers are stopped, paused and killed while many write and ask: nothing is lost, and everybody is told what is away.

``make outages`` writes five thousand times; a few hundred are a test. The mesh is a process of its own on the real
stores that ``make servers`` started, with vectors of hashed words in the place of a model.
"""

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median

from deployment import until
from faults.soak import NOW, REF, WRITERS, Served, Tally, Writer, compare, insist, is_settled
from store_servers.fleet import Fleet
from stores import fleet, open_stores

from recallmesh.client import Client, open_client
from recallmesh.core.arm import ArmName
from recallmesh.core.deadline import within
from recallmesh.core.errors import MeshError
from recallmesh.core.recall import PartState, RecallRequest
from recallmesh.core.retain import DeliveryState, RetainItem, RetainRequest
from recallmesh.core.tuning import Budget, RecallTuning
from recallmesh.telemetry.log import set_up_logging

DEADLINE_S = 5.0
"""What whoever asks has time for."""
SLACK_S = 5.0
"""By how much an answer may be late on two cores that others keep busy too."""
BACK_S = 300.0
"""The most that may pass until recall is whole again: a store that starts compiles its first queries anew."""
NOTICED_S = 30.0
"""The most that may pass before recall and retain have said what is away."""
ARMS = {"opensearch": ArmName.KEYWORD, "neo4j": ArmName.GRAPH}
"""The arm that is away with a store; without the ledger's nothing is answered."""
AWAY = {PartState.UNAVAILABLE, PartState.TIMED_OUT, PartState.FAILED}


@dataclass(frozen=True)
class Outage:
    """One way in which a server can be away, and how it comes back."""

    store: str
    how: str

    async def begin(self, servers: Fleet) -> None:
        if self.how == "stopped":
            await asyncio.to_thread(servers.stop, [self.store], wipe=False)
        else:
            servers.signal(self.store, {"paused": signal.SIGSTOP, "killed": signal.SIGKILL}[self.how])

    async def end(self, servers: Fleet) -> None:
        if self.how == "paused":
            servers.signal(self.store, signal.SIGCONT)
        else:
            left_out = await asyncio.to_thread(servers.start, [self.store])
            assert not left_out, left_out


OUTAGES = tuple(Outage(store, how) for how in ("stopped", "paused", "killed") for store in (*ARMS, "postgres"))


@dataclass
class Asked:
    """How recall did: how long each answer took, in which states each arm was, and what was raised."""

    seconds: list[float] = field(default_factory=list)
    states: defaultdict[ArmName, Counter[PartState]] = field(default_factory=lambda: defaultdict(Counter))
    errors: Counter[str] = field(default_factory=Counter)
    unnamed: int = 0

    def add(self, other: "Asked") -> None:
        self.seconds += other.seconds
        self.errors += other.errors
        self.unnamed += other.unnamed
        for arm, counts in other.states.items():
            self.states[arm] += counts


@dataclass
class Asker:
    """Somebody who asks all the time."""

    faces: Client
    asked: Asked = field(default_factory=Asked)

    async def run(self) -> None:
        while True:
            await self.ask()
            await asyncio.sleep(0.1)

    async def ask(self) -> None:
        began = time.monotonic()
        request = RecallRequest(
            REF, "Who saw the harbour?", query_time=NOW, budget=Budget.LOW, tuning=RecallTuning(reranking=False)
        )
        try:
            with within(DEADLINE_S):
                answer = await self.faces.recaller.recall(request)
        except MeshError as error:
            self.asked.errors[type(error).__name__] += 1
        else:
            for report in answer.arms:
                self.asked.states[report.arm][report.state] += 1
                self.asked.unnamed += report.state in AWAY and not report.detail
        self.asked.seconds.append(time.monotonic() - began)


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    tally: Tally
    memories: int
    seconds: float
    asked: Asked
    back_s: dict[str, tuple[float, float]]

    def told(self) -> str:
        """Return the summary for people."""
        took = sorted(self.asked.seconds)
        states = (
            f"{arm} {', '.join(f'{count} {state}' for state, count in sorted(counts.items()))}"
            for arm, counts in sorted(self.asked.states.items())
        )
        lines = (
            f"{self.tally.retains} retains by {WRITERS} writers at once, in {self.seconds:.0f} s",
            f"{len(self.back_s)} outages, {self.tally.retried} calls tried again",
            f"{len(took)} recalls: p50 {median(took) * 1000:.0f} ms, the longest {took[-1]:.1f} s of {DEADLINE_S:.0f}",
            *(f"  {line}" for line in states),
            f"  refused: {dict(self.asked.errors) or 'none'}",
            *(
                f"back from {name}: recall whole after {whole:.1f} s, all delivered after {after:.1f} s"
                for name, (whole, after) in self.back_s.items()
            ),
            f"{self.memories} memories at the end",
            f"wrong: {len(self.tally.wrong) or 'nothing'}",
        )
        return "\n".join((*lines, *self.tally.wrong[:20]))


async def run(data: Path, servers: Fleet, *, retains: int, outages: Sequence[Outage], seed: int) -> Outcome:
    """Write until there were so many retains, taking ``servers`` away meanwhile; then compare."""
    began, tally = time.monotonic(), Tally()
    shared: dict[str, list[str]] = defaultdict(list)
    async with (
        open_stores(servers.address) as environment,
        _open_served(data, environment) as served,
        open_client(f"127.0.0.1:{served.port}") as faces,
    ):
        await faces.admin.create_bank(REF)
        writers = [Writer(one, faces, served, tally, random.Random(f"{seed}-{one}"), shared) for one in range(WRITERS)]
        asker = Asker(faces)
        asking = asyncio.create_task(asker.run())
        writing = asyncio.gather(*(_write(writer, tally, retains) for writer in writers))
        delivered = {}
        for number, outage in enumerate(outages, 1):
            await _written(tally, number * retains // (len(outages) + 1))
            delivered[f"{outage.store} {outage.how}"] = await _suffer(outage, servers, faces, served, asker, tally)
        await writing
        await until(lambda: insist(lambda: _is_even(faces), served, tally), 300)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        said = {document: texts for writer in writers for document, texts in writer.said.items()}
        memories = await compare(faces, served, said | shared, tally)
    if asker.asked.unnamed:
        tally.wrong.append(f"{asker.asked.unnamed} arms were away and nothing said why")
    if late := [took for took in asker.asked.seconds if took > DEADLINE_S + SLACK_S]:
        tally.wrong.append(f"{len(late)} recalls were late, the longest after {max(late):.1f} s")
    return Outcome(tally, memories, time.monotonic() - began, asker.asked, delivered)


async def _suffer(
    outage: Outage, servers: Fleet, faces: Client, served: Served, asker: Asker, tally: Tally
) -> tuple[float, float]:
    """Take a server away until recall and retain say so; returns how long recall and deliveries took afterwards."""
    arm = ARMS.get(outage.store)
    before = Counter(asker.asked.errors), {name: Counter(counts) for name, counts in asker.asked.states.items()}
    say(f"{tally.retains} retains; {outage.store} is {outage.how}")
    await outage.begin(servers)
    try:
        told = partial(_is_told, arm, asker, before)
        await until(told, NOTICED_S)
        if arm is not None:
            await until(lambda: insist(lambda: _is_pending(faces, arm), served, tally), NOTICED_S)
    except TimeoutError:
        tally.wrong.append(f"{outage.store} {outage.how}: nobody said so in {NOTICED_S:.0f} s")
    finally:
        await outage.end(servers)
    say(f"{tally.retains} retains; {outage.store} is back")
    began = time.monotonic()
    back = Asked()
    asker.asked, before_all = back, asker.asked
    try:
        await until(lambda: _is_whole(back), BACK_S)
    except TimeoutError:
        tally.wrong.append(f"{outage.store} {outage.how}: recall was not whole {BACK_S:.0f} s after its return")
    whole = time.monotonic() - began
    await until(lambda: insist(lambda: _is_delivered(faces), served, tally), 300)
    before_all.add(back)
    asker.asked = before_all
    return whole, time.monotonic() - began


async def _is_told(arm: ArmName | None, asker: Asker, before: tuple[Counter, dict[ArmName, Counter]]) -> bool:
    """Tell whether recall has named the arm since then, and answered by the others; without a ledger, refused."""
    errors, states = before
    if arm is None:
        return bool(asker.asked.errors - errors)
    new = {name: counts - states.get(name, Counter()) for name, counts in asker.asked.states.items()}
    away = any(new[arm][state] for state in AWAY)
    return away and all(new[name][PartState.OK] for name in (ArmName.SEMANTIC, *ARMS.values()) if name is not arm)


async def _is_whole(asked: Asked) -> bool:
    """Tell whether every arm answers again."""
    return all(asked.states[arm][PartState.OK] for arm in (ArmName.SEMANTIC, *ARMS.values()))


async def _is_pending(faces: Client, arm: ArmName) -> bool:
    """Retain something, and tell whether the answer says that this arm has it not, and the others have."""
    item = RetainItem(("The lighthouse keeper counts the ships.",), time=NOW, document_id=f"told-{time.monotonic_ns()}")
    answer = await faces.retainer.retain(RetainRequest(REF, (item,)))
    states = {one.arm: one.state for one in answer.deliveries}
    await faces.admin.delete_document(REF, item.document_id)
    return states.pop(arm) is DeliveryState.PENDING and set(states.values()) == {DeliveryState.STORED}


async def _is_delivered(faces: Client) -> bool:
    """Tell whether what was pending when the server came back is delivered; what is written meanwhile may not be."""
    stats = await faces.admin.bank_stats(REF)
    return stats.pending <= WRITERS * 4


async def _is_even(faces: Client) -> bool:
    """Tell whether nothing is under way; what a call left when it was cut off waits until its lease is over."""
    return await is_settled(faces) and not any(one.pending for one in await faces.admin.verify_bank(REF))


async def _written(tally: Tally, count: int) -> None:
    async def enough() -> bool:
        return tally.retains >= count

    await until(enough, 3600)


async def _write(writer: Writer, tally: Tally, retains: int) -> None:
    while tally.retains < retains:
        await writer.write()


@asynccontextmanager
async def _open_served(data: Path, environment: dict[str, str]) -> AsyncIterator[Served]:
    served = Served(data, environment=environment)
    try:
        await served.start(timedelta())
        yield served
    finally:
        await served.close()


def say(line: str) -> None:
    """Tell whoever waits."""
    sys.stderr.write(f"{line}\n")


def main() -> int:
    """Run what ``make outages`` asks for; 1 when something was lost, doubled, late or differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--retains", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    words = parser.parse_args()
    set_up_logging(level="error")
    with tempfile.TemporaryDirectory() as folder:
        outcome = asyncio.run(run(Path(folder), fleet(), retains=words.retains, outages=OUTAGES, seed=words.seed))
    sys.stdout.write(outcome.told() + "\n")
    return int(bool(outcome.tally.wrong))


if __name__ == "__main__":
    sys.exit(main())
