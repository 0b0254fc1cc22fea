"""What the encoders cost: ways to run the cross-encoder, recalls by how much is read, and what asking again saves."""

import argparse
import asyncio
from pathlib import Path
from typing import Any

from bench.locomo import DEFAULT_DATA, load_conversations
from bench.quality_plot import draw
from bench.reading import measure_again, measure_reading
from bench.results import write_result
from bench.runs import measure_runs
from bench.table import print_figures
from bench.usage import pace_ms
from recallmesh.telemetry.log import set_up_logging

PICTURE = Path(__file__).parents[1] / "docs" / "img" / "reading.svg"


async def run(words: argparse.Namespace) -> None:
    """Measure what was asked for, print it and write it down."""
    set_up_logging(level="warning")
    conversations = load_conversations(Path(words.data), tuple(words.conversations))
    found: dict[str, Any] = {"pace_ms": pace_ms()}
    if "runs" in words.only:
        found["runs"] = measure_runs(conversations[0])
        show(found["runs"]["ways"], "way")
    if "reading" in words.only:
        found["reading"] = await measure_reading(
            conversations, questions=words.questions, timed=words.timed, pairs=words.pairs
        )
        show(found["reading"], "read")
    if "again" in words.only:
        found["again"] = await measure_again(conversations[0], questions=words.timed)
        show(found["again"], "asked")
    setup = {"conversations": [each.name for each in conversations], "questions": words.questions, "timed": words.timed}
    path = write_result(words.name, {"setup": setup, **found})
    print(f"\nwritten to {path.name} in bench/results")
    if "reading" in found and words.picture:
        PICTURE.write_text(draw(found["reading"]), encoding="utf-8")


def show(table: dict[str, dict[str, float]], heading: str) -> None:
    """Print figures by name."""
    columns = list(next(iter(table.values())))
    print()
    print_figures(
        (heading, *columns), [(name, *(f"{row[column]:g}" for column in columns)) for name, row in table.items()]
    )


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.encoders", description=__doc__)
    parser.add_argument("--data", default=DEFAULT_DATA, help="folder with conv-*.jsonl and questions-*.jsonl")
    parser.add_argument("--conversations", nargs="*", default=(), metavar="N", help="only these, say 26 30")
    parser.add_argument("--questions", type=int, default=200, metavar="N", help="how many are judged")
    parser.add_argument("--timed", type=int, default=20, metavar="N", help="how many of them are timed")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="keeps what the cross-encoder said from run to run")
    parser.add_argument("--only", nargs="*", default=("runs", "reading", "again"), metavar="PART", help="these parts")
    parser.add_argument("--picture", action="store_true", help="draw docs/img/reading.svg")
    parser.add_argument("--name", default="encoders", help="name of the result file")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
