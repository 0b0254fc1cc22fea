# ruff: noqa: T201 - a programme that tells how it goes
"""``make fuzz``: many thousands of made-up calls of every method of each service; none may end as a fault of ours.

Prints the seed. The same seed makes the same calls again; ``--only N`` makes the N-th call of a service alone.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from random import Random

from fuzz.arena import SERVICES, Arena, Asked, open_arena
from fuzz.grammar import smaller

from recallmesh.telemetry.log import set_up_logging

AT_ONCE = 8
SHOWN = 5
"""How many faults of a service are told in full."""


async def storm(arena: Arena, service: str, numbers: range, seed: int) -> dict[str, tuple[int, Asked]]:
    """Make the calls of these numbers; returns the first call of each fault, by the fault."""
    found: dict[str, tuple[int, Asked]] = {}
    left = iter(numbers)

    async def one_after_the_other() -> None:
        for number in left:
            asked = arena.ask(Random(f"{seed}:{service}:{number}"), service)
            if fault := await arena.fault_of(asked):
                found.setdefault(f"{asked.path}: {fault}"[:200], (number, asked))

    await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))
    return found


async def smallest(arena: Arena, asked: Asked) -> Asked:
    """Leave out of a call what its fault does not need."""
    if not await arena.fault_of(asked):
        return asked  # it needs what was there at that moment
    going = True
    while going:
        going = False
        for at, message in enumerate(asked.messages):
            for less in smaller(message):
                messages = (*asked.messages[:at], less, *asked.messages[at + 1 :])
                fewer = replace(asked, messages=messages, bodies=tuple(one.SerializeToString() for one in messages))
                if await arena.fault_of(fewer):
                    asked, going = fewer, True
                    break
            if going:
                break
    return asked


async def run(words: argparse.Namespace) -> int:
    """Storm each service in a mesh of its own; 1 if any call ended as a fault of ours."""
    set_up_logging(level="error")
    wrong = False
    for service in words.services or SERVICES:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            async with open_arena(Path(folder)) as arena:
                numbers = range(words.only, words.only + 1) if words.only is not None else range(words.calls)
                found = await storm(arena, service, numbers, words.seed)
                took = time.monotonic() - began
                for fault, (number, asked) in list(found.items())[:SHOWN]:
                    print(f"call {number} of {service}, seed {words.seed}: {fault}")
                    print((await smallest(arena, asked)).told(), flush=True)
                for trouble in (troubles := await arena.trouble()):
                    print(f"after {service}, seed {words.seed}: {trouble}")
                wrong = wrong or bool(found) or bool(troubles)
        codes = ", ".join(f"{code} {count}" for code, count in sorted(arena.codes.items()))
        print(f"{service}: {len(numbers)} calls in {took:.0f} s, {len(found)} faults; {codes}", flush=True)
    return int(wrong)


def main() -> int:
    """Read the words, storm, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "services", nargs="*", metavar="SERVICE", help="such as recallmesh.v1.BankService (default: all)"
    )
    parser.add_argument("--calls", type=int, default=20_000, metavar="N", help="calls a service (default: 20,000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--only", type=int, metavar="N", help="the N-th call alone")
    words = parser.parse_args()
    print(f"seed {words.seed}")
    return asyncio.run(run(words))


if __name__ == "__main__":
    sys.exit(main())
