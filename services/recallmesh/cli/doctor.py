"""``recallmesh doctor``: every store and service in one table, with what is wrong and what to do."""

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial

from recallmesh import parts
from recallmesh.cli.address import address_of, check_address, folder, tls_of
from recallmesh.cli.diagnosis import HEADINGS, Counted, Lag, Row, lags_of, service_row, store_row
from recallmesh.cli.guarding import guard_rows
from recallmesh.cli.reaching import troubles_of
from recallmesh.cli.screen import console, print_table
from recallmesh.cli.serving import CALLED
from recallmesh.core.errors import MeshError
from recallmesh.core.store import Inspection
from recallmesh.core.time import system_clock
from recallmesh.mesh import Part, open_assembly
from recallmesh.models import Role
from recallmesh.settings import Settings, load_settings
from recallmesh.stores import LEDGER, Store, info_of, stores_of
from recallmesh.telemetry.log import set_up_logging
from recallmesh.telemetry.metrics import Metrics

ILL = 1
ARMS = tuple(arm.value for arm in parts.INDEXING_ARMS)


async def run(words: argparse.Namespace) -> int:
    """Look at everything, and show it; 1 when something is wrong."""
    set_up_logging(level="error")
    settings = load_settings(data=folder(words.data))
    address = address_of(words)
    if address:
        check_address(address, words)
    named = dict.fromkeys(sorted(CALLED), address) if address else {}
    placed = {part: at for part, at in _placed(settings).items() if part not in named}
    async with open_assembly(settings, frozenset()) as assembly:
        stores = stores_of(
            settings,
            partial(info_of, assembly),
            following=partial(info_of, assembly, Role.NEXT),
            embedded=not address,
        )
        rows = await _store_rows(settings, stores)
    for places, tls in ((placed, settings.tls.calling), (named, tls_of(words))):
        rows += [service_row(part, places[part], told) for part, told in (await troubles_of(places, tls)).items()]
    if not address:
        rows += await asyncio.to_thread(lambda: list(guard_rows(settings.auth, system_clock())))
    if words.json:
        print(json.dumps([asdict(row) for row in rows], ensure_ascii=False))
    else:
        print_table(console(), HEADINGS, [row.cells for row in rows], folding=frozenset({2, len(HEADINGS) - 1}))
    return ILL if any(row.advice for row in rows) else 0


def _placed(settings: Settings) -> dict[Part, str]:
    """Return the parts that the settings say are elsewhere, with their addresses."""
    found = {part: getattr(settings, part.value).address for part in Part}
    return {part: address for part, address in found.items() if address}


async def _store_rows(settings: Settings, stores: Sequence[Store]) -> list[Row]:
    """Look at the stores; at the ledger before and after the others, since more may be retained meanwhile."""
    ledger = next((store for store in stores if store.part == LEDGER), None)
    others = [store for store in stores if store is not ledger]
    before = await ledger.inspect() if ledger else None
    seen = await asyncio.gather(*(store.inspect() for store in others))
    after = await ledger.inspect() if ledger and before and before.version else before
    lags = await _lags(settings, after)
    counted = _counted(before, after)
    rows = [store_row(LEDGER, after)] if after else []
    for store, one in zip(others, seen, strict=True):
        rows.append(store_row(store.part, one, lag=lags.get(store.part), counted=counted))
    return rows


def _counted(before: Inspection | None, after: Inspection | None) -> Counted | None:
    if before is None or after is None or before.memories is None or after.memories is None:
        return None
    return Counted(before.memories, after.memories)


async def _lags(settings: Settings, seen: Inspection | None) -> Mapping[str, Lag]:
    """Ask the ledger what waits for the arms; opened only if that changes nothing of it."""
    if seen is None or not seen.schema or seen.schema != seen.wanted:
        return {}
    try:
        async with parts.open_ledger_here(settings, Metrics()) as ledger:
            waiting = await ledger.outbox_lag(system_clock())
    except MeshError:
        return {}  # it went away since it was looked at, which is told the next time
    return lags_of(tuple((arm.value, changes, oldest) for arm, changes, oldest in waiting), ARMS)
