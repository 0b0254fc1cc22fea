"""``recallmesh migrate``: bring every store that is a server, and the ledger, to the schema of this version."""

import argparse
import asyncio
import json
from dataclasses import asdict, dataclass
from functools import partial

from recallmesh.cli.address import folder
from recallmesh.cli.screen import console, print_table
from recallmesh.core.errors import MeshError
from recallmesh.mesh import open_assembly
from recallmesh.models import Role
from recallmesh.settings import load_settings
from recallmesh.stores import Store, info_of, stores_of
from recallmesh.telemetry.log import set_up_logging

UNDONE = 1
HEADINGS = ("part", "where", "before", "after", "")
NOTHING = "nothing to do"
NONE = "-"
"""Before: there was nothing."""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one store, in words; ``left``: it has not the schema of this version."""

    part: str
    where: str
    before: str
    after: str
    outcome: str
    left: bool = False

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        return (self.part, self.where, self.before or NONE, self.after or NONE, self.outcome)


async def run(words: argparse.Namespace) -> int:
    """Migrate, or with ``--check`` say what would be; 1 when something is left to do."""
    set_up_logging(level="error")
    settings = load_settings(data=folder(words.data))
    way = checked if words.check else migrated
    async with open_assembly(settings, frozenset()) as assembly:
        stores = [
            one
            for one in stores_of(settings, partial(info_of, assembly), following=partial(info_of, assembly, Role.NEXT))
            if one.migrate is not None
        ]
        done = await asyncio.gather(*(way(store) for store in stores))
    if words.json:
        print(json.dumps([asdict(one) for one in done], ensure_ascii=False))
    else:
        print_table(console(), HEADINGS, [one.cells for one in done], folding=frozenset({1, len(HEADINGS) - 1}))
    return UNDONE if any(one.left for one in done) else 0


async def migrated(store: Store) -> Done:
    """Migrate a store; one that cannot be does not keep the others from it."""
    if store.migrate is None:
        raise ValueError(f"{store.part} migrates itself")
    try:
        made = await store.migrate()
    except MeshError as error:
        where = (await store.inspect()).address
        return Done(store.part, where, "", "", error.message, left=True)
    outcome = NOTHING if made.before == made.after else "migrated" if made.before else "made"
    return Done(store.part, made.address, made.before, made.after, outcome)


async def checked(store: Store) -> Done:
    """Say what migrating a store would do."""
    seen = await store.inspect()
    if seen.schema == seen.wanted and seen.schema:
        return Done(store.part, seen.address, seen.schema, seen.wanted, NOTHING)
    if store.is_embedded:
        return Done(store.part, seen.address, seen.schema, seen.wanted, "migrates itself when it is opened")
    told = "; ".join(said.rstrip(".") for said in seen.advice)
    return Done(store.part, seen.address, seen.schema, seen.wanted, told, left=True)
