"""``recallmesh verify``: hold every index against the ledger."""

import argparse
import sys

from recallmesh.cli import everywhere
from recallmesh.cli.indexes import HEADINGS, banks_of, differing, remedy, rows_of
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import console, print_table
from recallmesh.rpc.text import comparisons_json

DIFFER = 1


async def run(words: argparse.Namespace) -> int:
    """Compare, and show what came out; 1 when an index does not hold what the ledger shows."""
    if words.all_banks:
        return await everywhere.verify(words)
    async with open_place(words) as faces:
        refs = await banks_of(words, faces.admin)
        found = {ref.bank_id: await faces.admin.verify_bank(ref) for ref in refs}
    wrong = [bank for bank, arms in found.items() if differing(arms)]
    if words.json:
        print(comparisons_json(found))
    else:
        print_table(console(), HEADINGS, rows_of(found), folding=frozenset({len(HEADINGS) - 1}))
    for bank in wrong:
        print(
            f"recallmesh: the indexes of {bank} differ from the ledger\n  to mend them: {remedy(words, bank)}",
            file=sys.stderr,
        )
    return DIFFER if wrong else 0
