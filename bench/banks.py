"""Very many small banks: ten thousand of a hundred memories, asked at random by a process that just opened them.

Run by ``python -m bench.banks``: what a bank takes of memory and disk, what a recall costs in one that nobody asked yet
and in one that somebody did, what a start, a retain and a verification of all of them take.
"""

import argparse
import asyncio
import json
import random
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from bench import corpus
from bench.capacity import sizes
from bench.clock import Clock
from bench.filling import open_filling, patient
from bench.growing import Growing, texts_of
from bench.hashed import HashedEmbedder
from bench.probing import opened, timed
from bench.recalling import PLAIN
from bench.results import write_result
from bench.steps import CHUNKS, Progress, write_note
from bench.table import print_figures
from bench.usage import children, pace_ms, resident_mib
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import BankExists
from recallmesh.core.recall import RecallRequest
from recallmesh.core.retain import RetainRequest
from recallmesh.mesh import Assembly, open_assembly
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

BANKS = 10_000
MEMORIES = 100
OPENED = 2_000
"""Banks that are asked, to see what an open one takes."""
VERIFIED = 200
KIB = 1024
Figures = dict[str, float]


def bank_of(number: int) -> BankRef:
    """Return the bank of a number."""
    return BankRef(f"bank-{number:06}")


def growing_of(number: int, vocabulary: corpus.Vocabulary) -> Growing:
    """Return what makes its memories."""
    return Growing(vocabulary, seed=number + 1)


async def fill(folder: Path, banks: int) -> None:
    """Make the banks that are not there yet, each in one call."""
    vocabulary, note = corpus.load_vocabulary(), folder / "filled.json"
    done = json.loads(note.read_text(encoding="utf-8")) if note.exists() else 0
    if done >= banks:
        return
    progress = Progress("banks", done, banks)
    async with open_filling(patient(folder / "now"), HashedEmbedder()) as assembly:
        admin, retainer = await assembly.admin(), await assembly.retainer()
        for number in range(done, banks):
            bank = bank_of(number)
            with suppress(BankExists):  # made just before a run was stopped
                await admin.create_bank(bank, config=CHUNKS)
            items = tuple(growing_of(number, vocabulary).items(0, MEMORIES))
            await retainer.retain(RetainRequest(bank, items, request_id="fill"))
            if not (number + 1) % 100:
                write_note(note, number + 1)
                progress.tell(number + 1)
        write_note(note, banks)


def questions(banks: Sequence[int], which: int) -> list[RecallRequest]:
    """Return a question to each of the banks; ``which`` makes others."""
    vocabulary = corpus.load_vocabulary()
    return [
        replace(
            corpus.questions(texts_of(growing_of(bank, vocabulary).document(which)), 2, bank_of(bank))[1], tuning=PLAIN
        )
        for bank in banks
    ]


async def ask(assembly: Assembly, asked: Sequence[RecallRequest]) -> Clock:
    """Ask one after the other."""
    recaller, clock = await assembly.recaller(), Clock()
    for request in asked:
        with clock.taking():
            await recaller.recall(request)
    return clock


async def probe(folder: Path, banks: int, count: int) -> Figures:
    """Look at the banks in every way."""
    chance = random.Random(banks)
    chosen = chance.sample(range(1, banks), min(banks - 1, max(OPENED, count)))
    first, rest = chosen[:count], chosen[count:]
    found: Figures = {"pace, ms": pace_ms()}
    async with open_assembly(load_settings(data=folder), frozenset(), embedder=HashedEmbedder()) as assembly:
        found |= await opened(assembly, questions([0], 0)[0])
        before = held()
        found |= timed("recall in a bank never asked", await ask(assembly, questions(first, 0)))
        found |= timed("recall in a bank asked before", await ask(assembly, questions(first, 1)))
        await ask(assembly, questions(rest, 0))
        after = held()
        found |= {
            f"memory of an open bank, KiB: {part}": (after[part] - before[part]) * KIB / len(chosen) for part in after
        }
        found |= {f"memory, MiB: {part}": each for part, each in after.items()}
        found |= timed("retain of one in a random bank", await write(assembly, first))
        found |= await verify(assembly, first[:VERIFIED])
    return found | {f"disk of a bank, KiB: {store}": each / KIB / banks for store, each in sizes(folder).items()}


async def write(assembly: Assembly, banks: Sequence[int]) -> Clock:
    """Retain a memory in each of the banks."""
    retainer, clock, vocabulary = await assembly.retainer(), Clock(), corpus.load_vocabulary()
    for bank in banks:
        item = replace(growing_of(bank, vocabulary).document(1_000)[0], document_id="")
        with clock.taking():
            await retainer.retain(RetainRequest(bank_of(bank), (item,)))
    return clock


async def verify(assembly: Assembly, banks: Sequence[int]) -> Figures:
    """Compare every index of these banks with the ledger."""
    admin, began, wrong = await assembly.admin(), perf_counter(), 0
    for bank in banks:
        wrong += sum(not one.is_equal for one in await admin.verify_bank(bank_of(bank)))
    return {"verify a bank, ms": 1000 * (perf_counter() - began) / len(banks), "indexes that differ": wrong}


def held() -> Figures:
    """Return the memory of this process and of the vectors' worker that is no page of a file, in MiB."""
    return {"process": resident_mib()["anonymous"], "vectors' worker": resident_mib(children()[0])["anonymous"]}


def run(words: argparse.Namespace, folder: Path) -> None:
    """Fill, look, print and write down."""
    folder.mkdir(parents=True, exist_ok=True)
    if "fill" in words.do:
        asyncio.run(fill(folder, words.banks))
    if "probe" not in words.do:
        return
    found = asyncio.run(probe(folder / "now", words.banks, words.questions))
    print_figures(("figure", f"{words.banks:,} banks"), [(name, f"{each:,.3g}") for name, each in found.items()])
    setup = {"banks": words.banks, "memories": MEMORIES, "questions": words.questions, "embedder": "hashed words"}
    print(f"\nwritten to {write_result(words.out, {'setup': setup, 'figures': found}).name} in bench/results")


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.banks", description=__doc__)
    parser.add_argument("--banks", type=int, default=BANKS, metavar="N", help="banks (default: 10000)")
    parser.add_argument("--questions", type=int, default=300, metavar="N", help="banks asked and timed")
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where they lie, and stay (default: a temporary one)"
    )
    parser.add_argument("--do", nargs="+", default=("fill", "probe"), choices=("fill", "probe"))
    parser.add_argument("--out", default="banks", metavar="NAME", help="name of the result file")
    words = parser.parse_args()
    set_up_logging(level="error")
    if words.folder is not None:
        run(words, words.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        run(words, Path(folder))


if __name__ == "__main__":
    main()
