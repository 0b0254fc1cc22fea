"""A mesh under load: what it answers in a second, how long callers wait, who gets what, and what is used up first.

Run by ``make bench-load``. Callers are processes of their own on the same machine (``bench/callers.py``): what they use
of it is told beside the figures. The mesh is one process (``recallmesh serve all``), or nine.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from deployment import Process, free_ports, open_nine, open_processes

from bench import corpus
from bench.callers import RERANKED, RETAIN, Group, Tally, Task
from bench.diagram import Panel, draw
from bench.results import write_result
from bench.table import print_figures
from bench.usage import pace_ms
from bench.watching import Watched
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.retain import RetainRequest
from recallmesh.mesh import open_assembly
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

LARGE, MODEST = "large", "modest"
MODEST_SHARE = 5
"""The other bank is so many times smaller."""
CHUNKS = BankConfig(retain=RetainTuning(mode=ExtractionMode.CHUNKS))
BATCH = 200
GREEDY, FEW = 120, 2
"""Callers of the one who takes all that he gets, and of the one beside him."""
PLAIN = "plain"
ALONE = 8
"""Up to so many callers are one process; more are two."""
PICTURES = Path(__file__).parents[1] / "docs" / "img"
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """A mesh that runs: where recall and retain are called, and its processes."""

    recall: str
    retain: str
    watched: Mapping[str, Watched]


@asynccontextmanager
async def open_one(folder: Path) -> AsyncIterator[Standing]:
    """Serve all in one process."""
    (port,) = free_ports(1)
    process = Process(("all",), folder / "data", folder / "all.log", metrics=port)
    async with open_processes({"all": process}):
        yield Standing(process.address, process.address, {"all": Watched(process.running.pid, port)})


@asynccontextmanager
async def open_nine_processes(folder: Path) -> AsyncIterator[Standing]:
    """Serve each part in a process of its own."""
    async with open_nine(folder, measured=True) as mesh:
        watched = {name: Watched(one.running.pid, one.metrics) for name, one in mesh.processes.items()}
        yield Standing(mesh.processes["recall"].address, mesh.processes["retain"].address, watched)


MESHES = {"one process": open_one, "nine processes": open_nine_processes}


async def fill(data: Path, size: int) -> None:
    """Retain both banks, by the packaged model."""
    async with open_assembly(load_settings(data=data), frozenset()) as assembly:
        admin, retainer = await assembly.admin(), await assembly.retainer()
        for name, count in ((LARGE, size), (MODEST, size // MODEST_SHARE)):
            bank, items = BankRef(name), list(corpus.items(count, corpus.load_vocabulary()))
            await admin.create_bank(bank, config=CHUNKS)
            for first in range(0, count, BATCH):
                await retainer.retain(RetainRequest(bank, tuple(items[first : first + BATCH])))
                print(f"\r{name}: {first + BATCH:,} of {count:,}", end="", file=sys.stderr)
            print(file=sys.stderr)


class Bench:
    """Measures one mesh, point after point."""

    def __init__(self, standing: Standing, words: argparse.Namespace) -> None:
        self._standing = standing
        self._words = words
        self._seed = 0

    def group(self, name: str, kind: str, clients: int, *, bank: str = LARGE) -> Group:
        """Return callers of the mesh."""
        size = self._words.size if bank == LARGE else self._words.size // MODEST_SHARE
        address = self._standing.retain if kind == RETAIN else self._standing.recall
        return Group(name, address, kind, bank, size, clients)

    async def point(self, *groups: Group) -> Figures:
        """Let these call for a while."""
        self._seed += 1
        parts = 1 if sum(group.clients for group in groups) <= ALONE else 2
        callers = [await _caller(self._task(groups, part, parts)) for part in range(parts)]
        for caller in callers:
            await _line(caller)
        for caller in callers:
            assert caller.stdin is not None
            caller.stdin.write(b"go\n")
        await asyncio.sleep(self._words.warm)
        for one in self._standing.watched.values():
            one.begin()
        helpers = {f"callers {number}": Watched(caller.pid, 0) for number, caller in enumerate(callers)}
        for one in helpers.values():
            one.begin()
        await asyncio.sleep(self._words.seconds)
        used = {name: one.end() for name, one in (*self._standing.watched.items(), *helpers.items())}
        tallies = {group.name: Tally() for group in groups}
        for caller in callers:
            for name, told in json.loads(await _line(caller)).items():
                tallies[name].add(Tally(**told))
            assert caller.stdin is not None
            caller.stdin.close()
            await caller.wait()
        return {
            "callers": {name: summary(tally, self._words.seconds) for name, tally in tallies.items()},
            "processes": used,
        }

    def _task(self, groups: Sequence[Group], part: int, parts: int) -> Task:
        shared = tuple(replace(each, clients=len(range(part, each.clients, parts))) for each in groups)
        return Task(tuple(each for each in shared if each.clients), self._words.warm, self._words.seconds, self._seed)

    async def measure(self) -> Figures:
        """Measure every scenario that is wanted."""
        words, found = self._words, Figures()
        for kind in [kind for kind in (PLAIN, RERANKED) if kind in words.kinds]:
            found[kind] = {str(n): await self._told(kind, self.group("recall", kind, n)) for n in words.clients}
        if "fair" in words.kinds:
            found["fair"] = await self._fair()
        if "mixed" in words.kinds:
            found["mixed"] = {}
            for n in [n for n in words.clients if n > 1]:
                writers = self.group("retain", RETAIN, n // 4 or 1)
                readers = self.group("recall", PLAIN, n - writers.clients)
                found["mixed"][str(n)] = await self._told("mixed", readers, writers)
        return found

    async def _fair(self) -> Figures:
        few = self.group("few", PLAIN, FEW, bank=MODEST)
        found = {"alone": await self._told("fair", few)}
        for kind in (PLAIN, RERANKED, RETAIN):
            greedy = self.group("greedy", kind, GREEDY)
            found[f"beside {kind}"] = await self._told(f"beside {kind}", greedy, few)
        few = replace(few, kind=RERANKED)
        found["alone, reranked"] = await self._told("fair, reranked", few)
        found["both reranked"] = await self._told("both reranked", self.group("greedy", RERANKED, GREEDY), few)
        return found

    async def _told(self, name: str, *groups: Group) -> Figures:
        """Measure a point, and say what came of it."""
        point = await self.point(*groups)
        for group in groups:
            print(f"{name:16} {group.clients:4} {group.name:8} {point['callers'][group.name]}", file=sys.stderr)
        print(f"{'':16} {point['processes']}", file=sys.stderr)
        return point


async def _caller(task: Task) -> asyncio.subprocess.Process:
    caller = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.callers"), stdin=-1, stdout=-1, limit=1 << 28
    )
    assert caller.stdin is not None
    caller.stdin.write(json.dumps(asdict(task)).encode() + b"\n")
    return caller


async def _line(caller: asyncio.subprocess.Process) -> bytes:
    assert caller.stdout is not None
    line = await caller.stdout.readline()
    assert line, "callers ended early"
    return line


def summary(tally: Tally, seconds: float) -> Figures:
    """Return what is told of callers."""
    walls, waits = sorted(tally.walls), sorted(tally.waits)
    found: Figures = {
        "answers/s": round(tally.answered / seconds, 2),
        "with all that was asked": round(tally.whole / max(1, tally.answered), 3),
        "p50 ms": _at(walls, 0.5),
        "p95 ms": _at(walls, 0.95),
        "p99 ms": _at(walls, 0.99),
        "p99 ms with refusals": _at(waits, 0.99),
    }
    if tally.refusals:
        found |= {
            "refused/s": round(len(tally.refusals) / seconds, 2),
            "refused after, p50 ms": _at(sorted(tally.refusals), 0.5),
            "told to wait, p50 ms": _at(sorted(tally.delays), 0.5),
        }
    return found | ({"failed": dict(tally.failed)} if tally.failed else {})


def _at(ordered: Sequence[float], share: float) -> float:
    return round(ordered[int(share * (len(ordered) - 1))], 1) if ordered else 0.0


def show(figures: Mapping[str, Figures]) -> None:
    """Print a line for all callers of each point."""
    rows = []
    for mesh, kinds in figures.items():
        for kind, points in kinds.items():
            for name, point in points.items():
                for group, told in point["callers"].items():
                    cells = [told[key] for key in ("answers/s", "p50 ms", "p95 ms", "p99 ms")]
                    rows.append((f"{mesh}, {kind}, {name}: {group}", *map(str, cells), str(told.get("refused/s", 0))))
    print_figures(("callers", "answers/s", "p50 ms", "p95 ms", "p99 ms", "refused/s"), rows)


def picture(figures: Mapping[str, Figures], path: Path) -> None:
    """Draw throughput and p99 against callers."""
    panels = []
    for title, key in (("answers a second", "answers/s"), ("p99, ms", "p99 ms")):
        lines = {
            f"{mesh}, {kind}": [(float(n), point["callers"]["recall"][key]) for n, point in kinds.get(kind, {}).items()]
            for mesh, kinds in figures.items()
            for kind in (PLAIN, RERANKED, "mixed")
        }
        panels.append(Panel(title, "callers at once", {name: line for name, line in lines.items() if line}))
    path.write_text(draw("Recall under load", panels), encoding="utf-8")


async def run(words: argparse.Namespace) -> None:
    """Fill, measure, print, draw and write down."""
    set_up_logging(level="error")
    setup: Figures = {key: getattr(words, key) for key in ("size", "seconds", "warm")} | {"pace_ms_before": pace_ms()}
    figures: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        filled = words.data or Path(name) / "filled"
        if not filled.exists():
            await fill(filled, words.size)
        for mesh in words.meshes:
            folder = Path(name) / mesh.replace(" ", "-")
            shutil.copytree(filled, folder / "data")
            async with MESHES[mesh](folder) as standing:
                figures[mesh] = await Bench(standing, words).measure()
    show(figures)
    setup["pace_ms_after"] = pace_ms()
    path = write_result(words.out, {"setup": setup, "figures": figures})
    picture(figures, PICTURES / f"{words.out}.svg")
    print(f"\nwritten to {path.name} in bench/results, drawn in docs/img")


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.load", description=__doc__)
    parser.add_argument("--size", type=int, default=10_000, metavar="N", help="memories in the bank that is asked")
    parser.add_argument("--clients", type=int, nargs="+", default=(1, 8, 32, 128), metavar="N", help="callers at once")
    parser.add_argument("--kinds", nargs="+", default=("plain", "reranked", "fair", "mixed"), metavar="KIND", help="…")
    parser.add_argument("--meshes", nargs="+", default=tuple(MESHES), choices=tuple(MESHES), help="which to measure")
    parser.add_argument("--seconds", type=float, default=10.0, metavar="S", help="how long each point counts")
    parser.add_argument("--warm", type=float, default=2.0, metavar="S", help="how long callers call before that")
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder that is filled once and used again")
    parser.add_argument("--out", default="load", metavar="NAME", help="name of the result file and the picture")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
