"""``recallmesh repair``: mend every index from the ledger."""

import argparse
import sys

from recallmesh.cli import everywhere
from recallmesh.cli.indexes import HEADINGS, banks_of, differing, rows_of
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import console, print_table, printable, progress
from recallmesh.core.admin import Admin
from recallmesh.core.bank import BankRef
from recallmesh.core.operation import Operation, OperationState
from recallmesh.rpc.text import comparisons_json

NOT_MENDED = 1


async def run(words: argparse.Namespace) -> int:
    """Mend bank after bank, and show how the indexes compare then; 1 when one could not be mended."""
    if words.all_banks:
        return await everywhere.repair(words)
    async with open_place(words) as faces:
        refs = await banks_of(words, faces.admin)
        failed = [ref.bank_id for ref in refs if not await _mended(ref, faces.admin)]
        found = {ref.bank_id: await faces.admin.verify_bank(ref) for ref in refs}
    if words.json:
        print(comparisons_json(found))
    else:
        print_table(console(), HEADINGS, rows_of(found), folding=frozenset({len(HEADINGS) - 1}))
    return NOT_MENDED if failed or any(differing(arms) for arms in found.values()) else 0


async def _mended(ref: BankRef, admin: Admin) -> bool:
    """Repair a bank's indexes, with a bar meanwhile; tells whether it went well. Interrupted, it goes on later."""
    begun = await admin.repair_bank(ref)
    with progress("memories") as bar:
        task = bar.add_task(f"mending {printable(ref.bank_id)}", total=begun.total or None, rate="")
        last: Operation = begun
        async for last in admin.watch_operation(ref, begun.id):
            bar.update(task, completed=last.done, total=last.total or None)
    if last.state is OperationState.SUCCEEDED:
        return True
    why = printable(last.error) or f"it was {last.state}"
    print(f"recallmesh: {printable(ref.bank_id)} could not be mended: {why}", file=sys.stderr)
    return False
