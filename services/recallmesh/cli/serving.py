"""``recallmesh serve``: run the mesh, or parts of it."""

import argparse
import sys

from recallmesh.cli.address import folder
from recallmesh.mesh import ALL_PARTS, Part
from recallmesh.serve import serve
from recallmesh.settings import Settings, load_settings
from recallmesh.telemetry.log import set_up_logging

CALLED = frozenset({Part.BANK, Part.RECALL, Part.RETAIN})
"""The parts that the command line calls."""


def hosted_parts(words: list[str], settings: Settings) -> frozenset[Part]:
    """Return the parts to run here: those named; ``all`` are those without an address elsewhere."""
    named = frozenset(Part(word) for word in words if word != "all")
    if "all" in words:
        named |= frozenset(part for part in ALL_PARTS if getattr(settings, part.value).address is None)
    return named


def hint(address: str, hosted: frozenset[Part]) -> str:
    """Say how to stop, and what to try where what the command line calls is here."""
    tried = f"try: recallmesh bank list --server {address}      " if hosted >= CALLED else ""
    return f"  {tried}stop: Ctrl-C"


async def run(words: argparse.Namespace) -> int:
    """Serve until told to stop."""
    settings = load_settings(data=folder(words.data))
    if words.listen:
        settings = settings.model_copy(update={"serve": settings.serve.model_copy(update={"listen": words.listen})})
    set_up_logging(level=settings.log_level)
    hosted = hosted_parts(words.parts, settings)

    def started(address: str) -> None:
        names = "all" if hosted == ALL_PARTS else " ".join(sorted(hosted))
        print(f"recallmesh serves {names} on {address}", flush=True)
        if sys.stdout.isatty():
            print(hint(address, hosted), flush=True)

    await serve(settings, hosted, started)
    return 0
