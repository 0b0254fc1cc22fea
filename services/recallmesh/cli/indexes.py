"""What the commands about indexes share: which banks, and how comparisons are said."""

import argparse
from collections.abc import Iterable, Mapping

from recallmesh.cli.address import place_of
from recallmesh.cli.index_words import EVERY
from recallmesh.core.admin import Banks
from recallmesh.core.bank import DEFAULT_TENANT, BankRef
from recallmesh.core.comparison import IndexComparison
from recallmesh.core.page import PageRequest

Comparisons = Mapping[str, tuple[IndexComparison, ...]]
"""Each bank's indexes, by the bank's id."""

HEADINGS = ("bank", "arm", "ledger", "index", "missing", "extra", "stale", "on the way", "")
EQUAL = "equal"
DIFFERS = "differs"


async def banks_of(words: argparse.Namespace, banks: Banks) -> list[BankRef]:
    """Return the bank that was named, or every bank, by id; raises ``BankNotFound``."""
    if words.bank != EVERY:
        return [(await banks.get_bank(BankRef(words.bank))).ref]
    found: list[BankRef] = []
    page = await banks.list_banks(DEFAULT_TENANT, PageRequest(size=1000))
    found += (bank.ref for bank in page.rows)
    while page.next_after:
        page = await banks.list_banks(DEFAULT_TENANT, PageRequest(size=1000, after=page.next_after))
        found += (bank.ref for bank in page.rows)
    return found


def rows_of(found: Comparisons) -> list[tuple[str, ...]]:
    """Return the table of comparisons."""
    return [
        (
            bank,
            one.arm.value,
            *map(str, (one.shown, one.indexed, one.missing, one.extra, one.stale, one.pending)),
            one.error or (EQUAL if one.is_equal else DIFFERS),
        )
        for bank, arms in found.items()
        for one in arms
    ]


def differing(arms: Iterable[IndexComparison]) -> list[IndexComparison]:
    """Return those that do not hold what the ledger shows."""
    return [one for one in arms if not one.is_equal]


def remedy(words: argparse.Namespace, bank: str) -> str:
    """Return the command that mends a bank's indexes."""
    return f"recallmesh repair --bank {bank}{place_of(words)}"


def sentence(one: IndexComparison) -> str:
    """Say in a few words what a glance saw of an index."""
    if one.error:
        return f"{one.arm}: {one.error}"
    wrong = [(one.missing, "missing"), (one.stale, "stale"), (one.extra, "too many")]
    return (
        f"{one.arm}: {', '.join(f'{count} {word}' for count, word in wrong if count)} of {max(one.shown, one.indexed)}"
    )
