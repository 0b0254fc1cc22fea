"""What grows with a bank: one is filled from stop to stop, and at each a process of its own looks what it costs.

Every arm by itself, whole recalls, retains, memory and disk. Hashed words take the embedder's place: a model's time
does not depend on the bank, and would hide what does. What is filled, built or looked at is not done again, so that a
run that was stopped goes on; ``--folder`` says where all of it lies.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import corpus
from bench.growing import Growing
from bench.plot import draw_lines
from bench.results import write_result
from bench.steps import build, fill_steps, laid_aside
from bench.table import print_figures
from bench.usage import pace_ms
from recallmesh.core.arm import ArmName
from recallmesh.telemetry.log import set_up_logging

SIZES = (1_000, 10_000, 100_000)
BASE = 10_000
"""The size that growth is told from: a smaller bank has not as much as is asked for."""
ASKED = 4.0
"""How many times as long an arm may take (p95) at a million memories as at the base."""
PICTURES = Path(__file__).parents[1] / "docs" / "img"
Figures = dict[str, dict[str, float]]


def probed(folder: Path, size: int, words: argparse.Namespace) -> dict[str, float]:
    """Look at a size, in a process of its own, unless that was done."""
    note = folder / f"{size}.json"
    if words.again or not note.exists():
        command = [sys.executable, "-m", "bench.probing", str(laid_aside(folder, size)), str(size)]
        command += ["--questions", str(words.questions), "--writes", str(words.writes)]
        command += ["--by-rows"] if words.by_rows else []
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        note.write_text(done.stdout, encoding="utf-8")
    found: dict[str, float] = json.loads(note.read_text(encoding="utf-8"))
    return found


def run(words: argparse.Namespace, folder: Path) -> None:
    """Fill, build, look, print and write down."""
    growing, sizes = Growing(corpus.load_vocabulary()), sorted(words.sizes)
    folder.mkdir(parents=True, exist_ok=True)
    figures: Figures = {}
    for number, size in enumerate(sizes, 1):
        if "fill" in words.do:
            asyncio.run(fill_steps(folder, sizes[:number], growing, by_rows=words.by_rows))
        if "build" in words.do:
            asyncio.run(build(folder, size))
        if "probe" in words.do:
            figures[str(size)] = probed(folder, size, words)
            print(f"{size:,} memories done", file=sys.stderr)
    if figures:
        tell(figures, words)


def tell(figures: Figures, words: argparse.Namespace) -> None:
    """Print a line a figure and a column a size, write the result, and draw it."""
    base = str(BASE) if str(BASE) in figures else next(iter(figures))
    first = figures[base]
    last = list(figures.values())[-1]
    rows = [
        (
            name,
            *(f"{each.get(name, 0):,.3g}" for each in figures.values()),
            f"{last[name] / first[name]:.2f}" if first.get(name) else "",
        )
        for name in last
    ]
    print_figures(("figure", *(f"{int(size):,}" for size in figures), f"last / {int(base):,}"), rows)
    grown = {name: last[f"{name} arm, p95 ms"] / first[f"{name} arm, p95 ms"] for name in ArmName}
    for name, times in grown.items():
        print(f"{name} arm: p95 grows {times:.2f} times{'' if times <= ASKED else f', more than {ASKED:g}'}")
    setup = {
        "by": "rows" if words.by_rows else "retain",
        "questions": words.questions,
        "embedder": "hashed words",
        "mode": "chunks",
        "pace_ms": pace_ms(),
    }
    grown_by = {name.value: round(times, 2) for name, times in grown.items()}
    written = write_result(words.out, {"setup": setup, "arms' p95, last to base": grown_by, "figures": figures})
    print(f"\nwritten to {written.name} in bench/results")
    if words.draw:
        draw(figures, words.out, PICTURES)


def draw(figures: Figures, name: str, folder: Path) -> None:
    """Draw what was measured."""
    timed = {
        **{arm.value: f"{arm} arm, p95 ms" for arm in ArmName},
        "recall": "recall, p95 ms",
        "retain of one": "retain one, p95 ms",
    }
    draw_lines(
        folder / f"{name}-times.svg",
        "p95 of a call, in milliseconds",
        lines(figures, timed),
        across="memories in the bank",
        up="ms",
    )
    for kind, of in (("disk", "disk, MiB: "), ("memory", "memory, MiB: ")):
        known = [one for one in next(iter(figures.values())) if one.startswith(of) and not one.endswith("resident")]
        named = {one.removeprefix(of).removesuffix(", anonymous"): one for one in known}
        draw_lines(
            folder / f"{name}-{kind}.svg",
            f"{kind}, in MiB",
            lines(figures, named),
            across="memories in the bank",
            up="MiB",
        )


def lines(figures: Figures, named: Mapping[str, str]) -> dict[str, Sequence[tuple[float, float]]]:
    """Return each figure as points over the sizes; what is nowhere above zero is left out."""
    found = {
        name: [(float(size), each[figure]) for size, each in figures.items() if each.get(figure, 0) > 0]
        for name, figure in named.items()
    }
    return {name: points for name, points in found.items() if points}


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.growth", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="sizes of the bank to stop at")
    parser.add_argument("--questions", type=int, default=200, metavar="N", help="timed questions at each size")
    parser.add_argument("--writes", type=int, default=30, metavar="N", help="timed retains of one memory at each size")
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where the banks lie, and stay (default: a temporary one)"
    )
    parser.add_argument("--do", nargs="+", default=("fill", "build", "probe"), choices=("fill", "build", "probe"))
    parser.add_argument("--by-rows", action="store_true", help="fill the arms' tables alone, and ask the arms alone")
    parser.add_argument("--again", action="store_true", help="look again at what was looked at")
    parser.add_argument("--draw", action="store_true", help="draw the pictures of docs/growth.md anew")
    parser.add_argument("--out", default="growth", metavar="NAME", help="name of the result file")
    words = parser.parse_args()
    set_up_logging(level="warning")
    if words.folder is not None:
        run(words, words.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        run(words, Path(folder))


if __name__ == "__main__":
    main()
