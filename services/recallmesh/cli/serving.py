"""``recallmesh serve``: run the mesh, or parts of it."""

import argparse
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from recallmesh.cli.address import folder
from recallmesh.doorway import open_door, serve_door
from recallmesh.mesh import ALL_PARTS, Part
from recallmesh.serve import serve
from recallmesh.settings import Settings, load_settings
from recallmesh.telemetry.log import set_up_logging
from recallmesh.telemetry.metrics import Metrics

CALLED = frozenset({Part.BANK, Part.RECALL, Part.RETAIN})
"""The parts that the command line calls."""
ALL = "all"
DOOR = "door"
"""The JSON door: no part, since nothing in the mesh calls it."""


def hosted_parts(words: list[str], settings: Settings) -> frozenset[Part]:
    """Return the parts to run here: those named; ``all`` are those without an address elsewhere."""
    named = frozenset(Part(word) for word in words if word not in (ALL, DOOR))
    if ALL in words:
        named |= frozenset(part for part in ALL_PARTS if getattr(settings, part.value).address is None)
    return named


def hint(address: str, hosted: frozenset[Part]) -> str:
    """Say how to stop, and what to try where what the command line calls is here."""
    tried = f"try: recallmesh bank list --server {address}      " if hosted >= CALLED else ""
    return f"  {tried}stop: Ctrl-C"


def door_hint(listens: str) -> str:
    """Say how to stop, and what to try with a door alone."""
    return f"  try: curl {listens}/recallmesh.v1.BankService/ListBanks      stop: Ctrl-C"


async def run(words: argparse.Namespace) -> int:
    """Serve until told to stop."""
    settings = load_settings(data=folder(words.data))
    hosted = hosted_parts(words.parts, settings)
    set_up_logging(level=settings.log_level)
    if words.listen:
        settings = _listening(settings, words.listen, of="serve" if hosted else DOOR)
    if not hosted:
        await serve_door(settings, _door_started)
        return 0
    doors: list[str] = []

    def started(address: str) -> None:
        names = ALL if hosted == ALL_PARTS else " ".join(sorted(hosted))
        for listens in doors:
            print(f"recallmesh opens its door on {listens}", flush=True)
        print(f"recallmesh serves {names} on {address}", flush=True)
        if sys.stdout.isatty():
            print(hint(address, hosted), flush=True)

    @asynccontextmanager
    async def behind(address: str, metrics: Metrics) -> AsyncIterator[None]:
        async with open_door(settings, metrics, hosted, address) as listens:
            doors.append(listens)
            yield

    await serve(settings, hosted, started, behind=behind if DOOR in words.parts else None)
    return 0


def _door_started(listens: str) -> None:
    print(f"recallmesh opens its door on {listens}", flush=True)
    if sys.stdout.isatty():
        print(door_hint(listens), flush=True)


def _listening(settings: Settings, listen: str, *, of: str) -> Settings:
    """Return the settings with another address to listen on, of the server or of the door."""
    return settings.model_copy(update={of: getattr(settings, of).model_copy(update={"listen": listen})})
