"""One bank filled from stop to stop; at each, a copy of its folder is laid aside to be measured."""

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, process_time

from bench.filling import build_graphs, open_filling, patient, take_snapshot
from bench.growing import Growing
from bench.hashed import HashedEmbedder
from bench.rows import fill_arms
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.errors import BankExists
from recallmesh.core.retain import DeliveryState, RetainAnswer, RetainRequest
from recallmesh.mesh import Assembly

BANK = BankRef("growth")
CHUNKS = BankConfig(retain=RetainTuning(mode=ExtractionMode.CHUNKS))
CALL = 1_000
LOOK_S = 0.2


class Progress:
    """Says how far a load is, and how long the rest will take at the pace since it began."""

    def __init__(self, name: str, done: int, whole: int) -> None:
        """Begin with so much done."""
        self._name, self._begun, self._whole = name, done, whole
        self._clock = monotonic()

    def tell(self, done: int) -> None:
        """Say it, on one line."""
        pace = (done - self._begun) / (monotonic() - self._clock)
        left = (self._whole - done) / pace / 60 if pace else 0
        line = f"{self._name}: {done:,} of {self._whole:,}, {pace:,.0f}/s, {left:,.0f} min left"
        end = "\r" if sys.stderr.isatty() else "\n"
        print(line, end=end, file=sys.stderr, flush=True)


def laid_aside(folder: Path, size: int) -> Path:
    """Return where the copy of a size lies."""
    return folder / f"{size}"


async def fill_steps(folder: Path, sizes: Sequence[int], growing: Growing, *, by_rows: bool = False) -> None:
    """Fill on from where the folder is, by retain or by rows, and lay a copy aside at each size that is reached."""
    for size in sorted(sizes):
        if not laid_aside(folder, size).exists():
            if by_rows:
                await fill_arms(patient(folder / "now"), size, growing, Progress("rows", 0, size).tell)
            else:
                await _fill_to(folder, size, sizes[-1], growing)
            await asyncio.to_thread(take_snapshot, folder / "now", laid_aside(folder, size))


async def build(folder: Path, size: int) -> None:
    """Build the graphs of a size's copy, once."""
    note = laid_aside(folder, size) / "built.json"
    if note.exists():
        return
    info = await HashedEmbedder().info()
    cpu, wall = await asyncio.to_thread(build_graphs, patient(laid_aside(folder, size)), info)
    note.write_text(json.dumps({"cpu_s": cpu, "wall_s": wall}), encoding="utf-8")


async def _fill_to(folder: Path, size: int, whole: int, growing: Growing) -> None:
    note = folder / "filled.json"
    known = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    done, cpu_s = int(known.get("items", 0)), float(known.get("cpu_s", 0.0))
    progress = Progress("filling", done, whole)
    async with open_filling(patient(folder / "now"), HashedEmbedder()) as assembly:
        admin, retainer = await assembly.admin(), await assembly.retainer()
        with suppress(BankExists):
            await admin.create_bank(BANK, config=CHUNKS)
        while done < size:
            first, after, cpu = done, min(done + CALL, size), process_time()
            items = await asyncio.to_thread(tuple, growing.items(first, after))
            answer = await retainer.retain(RetainRequest(BANK, items, request_id=f"fill-{first}-{after}"))
            expect_stored(answer)
            done, cpu_s = after, cpu_s + process_time() - cpu
            write_note(note, {"items": done, "cpu_s": cpu_s})
            progress.tell(done)
        await settled(assembly, BANK)


def expect_stored(answer: RetainAnswer) -> None:
    """Go no further where an arm lacks something: what is measured must be all there."""
    silent = [one for one in answer.deliveries if one.state is not DeliveryState.STORED]
    if silent and not answer.replayed:
        raise RuntimeError(f"not stored: {silent}")


def write_note(note: Path, told: object) -> None:
    """Write how far a load is: the old note or the new one, whenever it is stopped."""
    partial = note.with_suffix(".part")
    partial.write_text(json.dumps(told), encoding="utf-8")
    partial.replace(note)


async def settled(assembly: Assembly, bank: BankRef) -> None:
    """Return when every arm has what the bank was told."""
    admin = await assembly.admin()
    while (await admin.bank_stats(bank)).pending:  # noqa: ASYNC110 -- the ledger may be another process's
        await asyncio.sleep(LOOK_S)
