"""What the ledger's transactions cost on SQLite and on PostgreSQL, taken in turns in one run.

The ledger alone: writes of one and of twenty memories with their outbox, settled as a retain does; reads of 300
memories by id, as a recall does; and writers at once, of one bank and of one each.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from uuid import uuid4

from bench.clock import Clock
from bench.results import write_result
from bench.table import print_figures
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.document import Chunk, Document
from recallmesh.core.ledger import Ledger
from recallmesh.core.memory import FactType, Memory, Mention
from recallmesh.core.retain import UpdateMode
from recallmesh.core.write import ChunkWrite, DocumentWrite, NewEntity, Write
from recallmesh.ledger import migrate_ledger, open_ledger

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ARMS = (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH)
PEOPLE = tuple(NewEntity(f"p{n}", f"Person {n}", f"person {n}", "person") for n in range(50))
WORDS = ("harbour", "mill", "bakery", "bridge", "island", "winter", "letter", "garden", "engine", "market", "violin")
READ = 300
AT_ONCE = 8
BATCH = 500


@dataclass(frozen=True)
class Side:
    """A ledger that is measured, and the memories of its bank."""

    ledger: Ledger
    bank: Bank
    held: list[str]
    chance: random.Random

    async def write(self, count: int, bank: Bank | None = None) -> None:
        """Write a document of so many memories and settle its outbox."""
        entities, memories = set(), []
        for _ in range(count):
            named = self.chance.sample(PEOPLE, 3)
            entities.update(named)
            text = " ".join(self.chance.choices(WORDS, k=20))
            mentions = tuple(Mention(one.id, one.name, one.kind) for one in named)
            memory = Memory(str(uuid4()), text, FactType.WORLD, NOW, mentions=mentions, tokens=20, tags=("bench",))
            memories.append(memory)
        chunks = tuple(ChunkWrite(Chunk(str(uuid4()), "", 0, one.text, 20, uuid4().hex), (one,)) for one in memories)
        document = DocumentWrite(Document(str(uuid4()), NOW, NOW), UpdateMode.REPLACE, chunks)
        write = Write((bank or self.bank).uid, (document,), tuple(entities), ARMS, NOW)
        commit = await self.ledger.commit(write)
        own = await self.ledger.own_outbox(commit.write_id)
        await self.ledger.settle_outbox(tuple(row.seq for row in own))
        if bank is None:
            self.held.extend(one.id for one in commit.added)

    async def read(self) -> None:
        """Read memories of chance by their ids."""
        found = await self.ledger.read(self.bank.uid, tuple(self.chance.sample(self.held, READ)))
        assert len(found) == READ


async def new_bank(ledger: Ledger) -> Bank:
    return await ledger.create_bank(Bank(BankRef(f"bench-{uuid4().hex}"), str(uuid4()), NOW))


async def crowd(side: Side, banks: Sequence[Bank], calls: int) -> float:
    """Have writers at work at once, each in its bank; returns writes a second."""
    left = iter(range(calls))

    async def work(bank: Bank) -> None:
        for _ in left:
            await side.write(1, bank)

    began = perf_counter()
    await asyncio.gather(*(work(bank) for bank in banks))
    return calls / (perf_counter() - began)


async def measure(sides: dict[str, Side], calls: int) -> dict[str, dict[str, float]]:
    """Time each kind of call, the sides in turns, so that a busy machine is as busy for both."""
    clocks = {name: {kind: Clock() for kind in ("write 1", "write 20", f"read {READ}")} for name in sides}
    for _ in range(calls):
        for name, side in sides.items():
            for kind, call in (
                ("write 1", side.write(1)),
                ("write 20", side.write(20)),
                (f"read {READ}", side.read()),
            ):
                with clocks[name][kind].taking():
                    await call
    found: dict[str, dict[str, float]] = {}
    for name, side in sides.items():
        found[name] = {}
        for kind, clock in clocks[name].items():
            found[name] |= {
                f"{kind}, p50 ms": clock.p50,
                f"{kind}, p95 ms": clock.p95,
                f"{kind}, CPU ms": clock.cpu_each,
            }
        one, own = await new_bank(side.ledger), [await new_bank(side.ledger) for _ in range(AT_ONCE)]
        found[name][f"{AT_ONCE} writers of one bank, writes/s"] = await crowd(side, [one] * AT_ONCE, calls)
        found[name][f"{AT_ONCE} writers of a bank each, writes/s"] = await crowd(side, own, calls)
        for bank in (one, *own):
            await side.ledger.delete_bank(bank.ref, (), NOW)
    return found


async def run(postgres: str, size: int, calls: int) -> None:
    """Fill a bank on both and measure."""
    await migrate_ledger(postgres)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sides: dict[str, Side] = {}
        for name, url in (("SQLite", f"sqlite:///{folder}/ledger.db"), ("PostgreSQL", postgres)):
            ledger = await stack.enter_async_context(open_ledger(url))
            side = sides[name] = Side(ledger, await new_bank(ledger), [], random.Random(size))
            stack.push_async_callback(ledger.delete_bank, side.bank.ref, (), NOW)
            while len(side.held) < size:
                await side.write(BATCH)
        found = await measure(sides, calls)
    rows = [(figure, *(f"{found[name][figure]:.2f}" for name in found)) for figure in found["SQLite"]]
    print_figures(("", *found), rows)
    write_result("ledgers", {"memories": size, "calls": calls, "figures": found})


def main() -> None:
    """Run the bench from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", required=True, metavar="URL", help="a database; tables and a bank are made in it")
    parser.add_argument("--size", type=int, default=5_000, metavar="N", help="memories of the bank")
    parser.add_argument("--calls", type=int, default=200, metavar="N", help="timed calls of each kind")
    given = parser.parse_args()
    asyncio.run(run(given.postgres, given.size, given.calls))


if __name__ == "__main__":
    main()
