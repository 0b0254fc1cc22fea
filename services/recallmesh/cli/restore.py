"""``recallmesh restore``: an empty ledger filled from a backup, and its indexes made."""

import argparse
import asyncio
import sys
import time
from pathlib import Path
from typing import IO

from recallmesh.cli.address import folder, place_of
from recallmesh.cli.backup import show
from recallmesh.cli.everywhere import mended
from recallmesh.cli.screen import progress
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.folder import make_private
from recallmesh.ledger import read_contents, restore_ledger
from recallmesh.settings import Settings, load_settings
from recallmesh.telemetry.log import set_up_logging

UNMADE = 1


async def run(words: argparse.Namespace) -> int:
    """Restore; 1 when an index could not be made."""
    set_up_logging(level="error")
    with _opened(words.file) as file:
        if words.check:
            show(await asyncio.to_thread(read_contents, file), words)
            return 0
        settings = load_settings(data=folder(words.data))
        await _restored(words, settings, file)
    if words.no_repair:
        print(f"the indexes are to be made: recallmesh repair --all-banks{place_of(words)}", file=sys.stderr)
        return 0
    begun = time.monotonic()
    total = await mended(settings, at_most=words.at_most)
    took = time.monotonic() - begun
    print(
        f"made the indexes of {total.memories:,} memories in {took:,.1f} s, {total.memories / max(took, 1e-6):,.0f}/s",
        file=sys.stderr,
    )
    for one in total.ill:
        print(f"recallmesh: {one}\n  to go on: recallmesh repair --all-banks{place_of(words)}", file=sys.stderr)
    return UNMADE if total.ill else 0


def _opened(name: str) -> IO[bytes]:
    try:
        return Path(name).expanduser().open("rb")
    except OSError as error:
        raise InvalidArgument(FieldViolation("FILE", f"{name} cannot be read: {error.strerror}")) from error


async def _restored(words: argparse.Namespace, settings: Settings, file: IO[bytes]) -> None:
    begun = time.monotonic()
    if settings.ledger.url is None:
        make_private(settings.data)
    with progress("rows") as bar:
        task = bar.add_task("restoring", total=None, rate="")

        def tell(done: int, total: int) -> None:
            rate = done / max(time.monotonic() - begun, 1e-6)
            bar.update(task, completed=done, total=total, rate=f"{rate:,.0f}/s")

        show(await restore_ledger(settings.ledger_url, file, tell=tell), words)
