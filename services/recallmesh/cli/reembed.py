"""``recallmesh reembed``: a change of the embedding model without a gap."""

import argparse
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from recallmesh import changeover, parts
from recallmesh.changeover import NONE_BEGUN, Filling
from recallmesh.cli.address import check_address, folder
from recallmesh.cli.screen import console, print_table, printable, progress
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import Bank
from recallmesh.core.comparison import IndexComparison
from recallmesh.core.errors import FieldViolation, InvalidArgument, NotReady
from recallmesh.core.models import Model, ModelUse
from recallmesh.core.time import system_clock
from recallmesh.mesh import Assembly, open_assembly
from recallmesh.models import Role
from recallmesh.settings import Settings, load_settings
from recallmesh.telemetry.log import set_up_logging
from recallmesh.upkeep import Pace, verify_every

LACKING = 1
HEADINGS = ("model", "fingerprint", "is", "ledger", "vectors", "missing", "extra", "stale", "since")
NO_NEXT = "is not set: there is no second model"

_log = structlog.get_logger("recallmesh.reembed")


@dataclass(frozen=True, slots=True)
class Standing:
    """A model, what it is to the mesh, and how its vectors compare with the ledger; absent where they are not here."""

    model: Model
    part: str
    compared: IndexComparison | None


async def run(words: argparse.Namespace) -> int:
    """Take one step."""
    settings = placed(load_settings(data=folder(words.data)), words)
    set_up_logging(level="warning", as_json=True if words.json else None)
    async with open_assembly(settings, frozenset()) as assembly:
        return await STEPS[words.step](assembly, words)


def placed(settings: Settings, words: argparse.Namespace) -> Settings:
    """Return the settings with the process that ``--server`` names in the place of those that it stands for."""
    if not words.server:
        return settings
    check_address(words.server, words)
    there: dict[str, Any] = {"address": words.server}
    own = (settings.semantic.model_copy(update=there), settings.embedder.model_copy(update=there))
    return settings.model_copy(update={"semantic": own[0], "embedder": own[1]})


async def start(assembly: Assembly, words: argparse.Namespace) -> int:
    """Have the next model written beside the one in use."""
    if Role.NEXT not in assembly.roles:
        raise InvalidArgument(FieldViolation("RECALLMESH_EMBEDDER__NEXT", NO_NEXT))
    models = {role: await _model(assembly, role) for role in assembly.roles}
    use = await changeover.begin(await assembly.ledger(), models[Role.MAIN], models[Role.NEXT], system_clock)
    _tell(use, words)
    return 0


async def fill(assembly: Assembly, words: argparse.Namespace) -> int:
    """Make the vectors that the model beside lacks."""
    use = await (await assembly.ledger()).model_use()
    if use is None or use.beside is None:
        raise NotReady(NONE_BEGUN)
    await _filled(assembly, await _role(assembly, use.beside), words)
    _tell(use, words)
    return 0


async def switch(assembly: Assembly, words: argparse.Namespace) -> int:
    """Fill what came meanwhile, have that model answer, and look again for what was settled in between."""
    role = Role.MAIN if words.back else Role.NEXT
    if role not in assembly.roles:
        raise InvalidArgument(FieldViolation("RECALLMESH_EMBEDDER__NEXT", NO_NEXT))
    ledger, to = await assembly.ledger(), await _model(assembly, role)
    use = await ledger.model_use()
    if use is None or not use.knows(to.fingerprint):
        raise NotReady(NONE_BEGUN)
    await _filled(assembly, role, words)
    use = await changeover.switch(ledger, to, system_clock)
    await _filled(assembly, role, words)
    _tell(use, words)
    return 0


async def drop(assembly: Assembly, words: argparse.Namespace) -> int:
    """Write the model that does not answer no more, and take its vectors away."""
    ledger = await assembly.ledger()
    use = await changeover.droppable(ledger, system_clock)
    if use.beside is not None:
        own = assembly.settings.semantic
        if own.address and own.qdrant_url is None:
            where = f"the semantic service's, at {own.address}: delete them there"
        else:
            where = await parts.remove_vectors(assembly.settings, use.beside)
        print(f"vectors of {printable(use.beside.name)}: {where}", file=sys.stderr)
        use = await changeover.drop(ledger, use)
    _tell(use, words)
    return 0


async def status(assembly: Assembly, words: argparse.Namespace) -> int:
    """Show both models; 1 when the one beside lacks something."""
    ledger = await assembly.ledger()
    use = await ledger.model_use()
    if use is None:
        use = ModelUse(await _model(assembly, Role.MAIN), system_clock())
    standings = [Standing(use.in_use, "in use", await _compared(assembly, use.in_use))]
    if use.beside is not None:
        standings.append(Standing(use.beside, "beside", await _compared(assembly, use.beside)))
    if words.json:
        print(json.dumps([_plain(one) | {"since": use.since.isoformat()} for one in standings]))
    else:
        rows = [_cells(one, use) for one in standings]
        print_table(console(), HEADINGS, rows, folding=frozenset({1, len(HEADINGS) - 1}))
    return LACKING if any(one.compared is not None and not one.compared.is_equal for one in standings[1:]) else 0


STEPS: Mapping[str, Callable[[Assembly, argparse.Namespace], Awaitable[int]]] = {
    "start": start,
    "fill": fill,
    "status": status,
    "switch": switch,
    "drop": drop,
}


async def _model(assembly: Assembly, role: Role) -> Model:
    info = await (await assembly.embedder(role)).info()
    return Model(info.fingerprint, info.name, info.dimensions)


async def _role(assembly: Assembly, model: Model) -> Role:
    return await (await assembly.known_models()).role_of(model.fingerprint)


async def _filled(assembly: Assembly, role: Role, words: argparse.Namespace) -> None:
    ledger = await assembly.ledger()
    filling = Filling(await assembly.arm(ArmName.SEMANTIC, role), await assembly.embedder(role))
    begun, rows, seen = time.monotonic(), 0, dict[str, int]()
    with progress("memories") as bar:
        task = bar.add_task("filling", total=None, rate="")

        def tell(bank: Bank, done: int, total: int) -> None:
            seen[bank.uid] = done
            rate = f"{sum(seen.values()) / max(time.monotonic() - begun, 1e-6):,.0f}/s"
            bar.update(
                task, description=f"filling {printable(bank.ref.bank_id)}", completed=done, total=total, rate=rate
            )

        async for one in changeover.fill(ledger, filling, system_clock, Pace(words.at_most), tell):
            rows += one.rows
            seen[one.bank.uid] = one.memories
    took = time.monotonic() - begun
    print(
        f"filled {rows:,} of {sum(seen.values()):,} memories in {took:,.1f} s, {rows / max(took, 1e-6):,.0f}/s",
        file=sys.stderr,
    )


async def _compared(assembly: Assembly, model: Model) -> IndexComparison | None:
    role = await (await assembly.known_models()).find(model.fingerprint)
    if role is None:
        return None
    total = IndexComparison(ArmName.SEMANTIC)
    arms = {ArmName.SEMANTIC: await assembly.arm(ArmName.SEMANTIC, role)}
    async for one in verify_every(await assembly.ledger(), arms, Pace()):
        [found] = one.arms or (IndexComparison(ArmName.SEMANTIC, error=one.error),)
        total = replace(
            total,
            shown=total.shown + found.shown,
            indexed=total.indexed + found.indexed,
            missing=total.missing + found.missing,
            extra=total.extra + found.extra,
            stale=total.stale + found.stale,
            pending=total.pending + found.pending,
            error=total.error or found.error,
        )
    return total


def _tell(use: ModelUse, words: argparse.Namespace) -> None:
    """Say which models there are now."""
    if words.json:
        said = {"in_use": use.in_use.fingerprint, "beside": use.beside.fingerprint if use.beside else None}
        print(json.dumps(said | {"since": use.since.isoformat()}))
        return
    print(f"in use: {_named(use.in_use)}")
    if use.beside is not None:
        print(f"beside: {_named(use.beside)}")


def _named(model: Model) -> str:
    return f"{printable(model.name)} ({printable(model.fingerprint)}, {model.dimensions} dimensions)"


def _cells(one: Standing, use: ModelUse) -> tuple[str, ...]:
    found = one.compared
    counts: tuple[object, ...] = ("",) * 5
    if found is not None:
        counts = (found.shown, found.indexed, found.missing, found.extra, found.stale)
    return (one.model.name, one.model.fingerprint, one.part, *map(str, counts), use.since.isoformat(timespec="seconds"))


def _plain(one: Standing) -> dict[str, Any]:
    found = one.compared
    said: dict[str, Any] = {"model": one.model.name, "fingerprint": one.model.fingerprint, "is": one.part}
    if found is None:
        return said | {"error": "this process does not have it"}
    counts = {"shown": found.shown, "indexed": found.indexed, "missing": found.missing, "extra": found.extra}
    return said | counts | {"stale": found.stale, "pending": found.pending, "error": found.error}
