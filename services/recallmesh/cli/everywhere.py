"""``recallmesh verify --all-banks`` and ``repair --all-banks``: jobs over a whole mesh, for schedulers."""

import argparse
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import structlog

from recallmesh import parts
from recallmesh.cli.address import folder
from recallmesh.cli.indexes import HEADINGS, rows_of
from recallmesh.cli.screen import console, print_lines, printable, progress
from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.bank import Bank
from recallmesh.core.time import system_clock
from recallmesh.mesh import Assembly, open_assembly
from recallmesh.retain.repair import Repairer
from recallmesh.settings import Settings, load_settings
from recallmesh.telemetry.log import set_up_logging
from recallmesh.upkeep import Looked, Pace, mend_every, verify_every

ILL = 1

Look = Callable[[Assembly], AsyncIterator[Looked]]
"""Looks at every bank of a mesh."""

_log = structlog.get_logger("recallmesh.upkeep")


@dataclass(slots=True)
class Total:
    """What a job came to; ``ill`` says of each bank that is not well what is wrong."""

    banks: int = 0
    memories: int = 0
    rows: int = 0
    ill: list[str] = field(default_factory=list)

    def count(self, one: Looked) -> None:
        """Count one bank more."""
        self.banks += 1
        self.memories += one.memories
        self.rows += one.rows
        if not one.is_well:
            wrong = one.error or ", ".join(arm.arm.value for arm in one.arms if not arm.is_equal)
            self.ill.append(f"{printable(one.bank.ref.tenant)}/{printable(one.bank.ref.bank_id)}: {wrong}")


async def verify(words: argparse.Namespace) -> int:
    """Verify every bank of every tenant; a row or a line of JSON a bank, and a line for the log at the end."""

    async def looked(assembly: Assembly) -> AsyncIterator[Looked]:
        async for one in verify_every(await assembly.ledger(), await _indexes_of(assembly), Pace(words.at_most)):
            yield one

    return await _told(words, "verify.finished", looked)


async def repair(words: argparse.Namespace) -> int:
    """Mend every bank of every tenant; as ``verify`` says it."""

    async def looked(assembly: Assembly) -> AsyncIterator[Looked]:
        async for one in _mending(assembly, words.at_most):
            yield one

    return await _told(words, "repair.finished", looked)


async def mended(settings: Settings, *, at_most: float = 0.0) -> Total:
    """Mend every bank of the mesh of these settings, with a bar meanwhile."""
    total = Total()
    async with open_assembly(settings, frozenset()) as assembly:
        async for one in _mending(assembly, at_most):
            total.count(one)
    return total


async def _indexes_of(assembly: Assembly) -> dict[ArmName, Arm]:
    return {name: await assembly.arm(name) for name in parts.INDEXING_ARMS}


async def _mending(assembly: Assembly, at_most: float) -> AsyncIterator[Looked]:
    ledger, arms = await assembly.ledger(), await _indexes_of(assembly)
    repairer = Repairer(ledger, arms, await assembly.embedder(), now=system_clock)
    begun, seen = time.monotonic(), dict[str, int]()
    with progress("memories") as bar:
        task = bar.add_task("mending", total=None, rate="")

        def tell(bank: Bank, done: int, total: int) -> None:
            seen[bank.uid] = done
            rate = f"{sum(seen.values()) / max(time.monotonic() - begun, 1e-6):,.0f}/s"
            bar.update(
                task, description=f"mending {printable(bank.ref.bank_id)}", completed=done, total=total, rate=rate
            )

        async for one in mend_every(ledger, arms, repairer, Pace(at_most), tell):
            yield one


async def _told(words: argparse.Namespace, event: str, looked: Look) -> int:
    settings = load_settings(data=folder(words.data))
    set_up_logging(level=settings.log_level, as_json=True if words.json else None)
    begun, total, screen = time.monotonic(), Total(), console()
    if not words.json:
        print_lines(screen, [("tenant", *HEADINGS)])
    async with open_assembly(settings, frozenset()) as assembly:
        async for one in looked(assembly):
            total.count(one)
            if words.json:
                print(json.dumps(_plain(one), ensure_ascii=False), flush=True)
            else:
                print_lines(screen, _rows(one))
    _log.info(
        event,
        banks=total.banks,
        memories=total.memories,
        mended=total.rows,
        ill=len(total.ill),
        seconds=round(time.monotonic() - begun, 1),
    )
    return ILL if total.ill else 0


def _rows(one: Looked) -> list[tuple[str, ...]]:
    ref = one.bank.ref
    if one.error:
        return [(ref.tenant, ref.bank_id, *("" for _ in HEADINGS[2:]), one.error)]
    return [(ref.tenant, *row) for row in rows_of({ref.bank_id: one.arms})]


def _plain(one: Looked) -> dict[str, Any]:
    ref = one.bank.ref
    arms = [asdict(arm) | {"arm": arm.arm.value} for arm in one.arms]
    said = {"tenant": ref.tenant, "bank": ref.bank_id, "well": one.is_well, "memories": one.memories}
    return said | {"mended": one.rows, "error": one.error, "arms": arms}
