"""``recallmesh bank``: create, list, show, set up, consolidate and delete banks."""

import argparse
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

from recallmesh.cli.address import place_of
from recallmesh.cli.consent import refused
from recallmesh.cli.effective import print_effective
from recallmesh.cli.indexes import differing, remedy, sentence
from recallmesh.cli.keys import BANK_KEYS, changed, own, read
from recallmesh.cli.labels import apart, own_labels, relabelled
from recallmesh.cli.moving import export_bank, import_bank
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import console, print_table, printable
from recallmesh.cli.tally import count
from recallmesh.client import Client
from recallmesh.core.admin import Admin
from recallmesh.core.bank import DEFAULT_TENANT, Bank, BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.errors import MeshError
from recallmesh.core.operation import OperationState
from recallmesh.core.page import PageRequest
from recallmesh.core.tuning import RecallTuning
from recallmesh.rpc.text import bank_json, banks_json, effective_json, operation_json, stats_json


async def run(words: argparse.Namespace) -> int:
    """Do the one thing that was asked for."""
    actions: dict[str, Callable[[argparse.Namespace, Admin], Awaitable[None]]] = {
        "create": _create,
        "list": _list,
        "show": _show,
        "set": _set,
        "export": export_bank,
        "import": import_bank,
        "consolidate": _consolidate,
        "delete": _delete,
    }
    if words.action == "delete":
        if not words.yes and sys.stdin.isatty():
            # Closed again before anybody is asked: a person may take their time, and a folder has one process.
            async with open_place(words) as faces:
                await faces.admin.get_bank(BankRef(words.bank))
        if code := refused(words, f"bank {words.bank}", also=" and all it holds"):
            return code
    if words.action in {"create", "set"}:
        words.labels, pairs = apart(words.pairs)
        words.values = read(pairs, BANK_KEYS)
    async with open_place(words) as faces:
        if words.action == "show" and words.effective:
            await _show_effective(words, faces)
        else:
            await actions[words.action](words, faces.admin)
    return 0


async def _create(words: argparse.Namespace, banks: Admin) -> None:
    config = BankConfig(retain=RetainTuning(mode=ExtractionMode(words.mode))) if words.mode else BankConfig()
    name, config = _changed(words, words.name, config)
    bank = await banks.create_bank(BankRef(words.bank), name=name, config=config)
    print(bank_json(bank) if words.json else f"created bank {bank.ref.bank_id}")


async def _list(words: argparse.Namespace, banks: Admin) -> None:
    found: list[Bank] = []
    after = ""
    while True:
        page = await banks.list_banks(DEFAULT_TENANT, PageRequest(size=1000, after=after))
        found.extend(page.rows)
        after = page.next_after
        if not after:
            break
    if words.json:
        print(banks_json(found))
        return
    if not found and sys.stdout.isatty():
        print(f"no banks yet; make one: recallmesh bank create diary{place_of(words)}")
        return
    rows = [
        (bank.ref.bank_id, bank.name, f"{bank.created:%Y-%m-%d %H:%M}", bank.config.retain.mode.value) for bank in found
    ]
    print_table(console(), ("bank", "name", "created", "extraction"), rows, folding=frozenset({1}))


async def _show(words: argparse.Namespace, banks: Admin) -> None:
    bank = await banks.get_bank(BankRef(words.bank))
    stats = await banks.bank_stats(bank.ref)
    if words.json:
        print(stats_json(bank, stats))
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in stats.memories_by_type)
    said = [*own(bank.config), *own_labels(bank.config.labels)]
    wrong = differing(await banks.verify_bank(bank.ref, glance=True))
    rows = [
        ("bank", bank.ref.bank_id),
        ("name", bank.name),
        ("created", f"{bank.created:%Y-%m-%d %H:%M}"),
        ("extraction", bank.config.retain.mode.value),
        ("memories", f"{stats.memories}{f' ({kinds})' if kinds else ''}"),
        ("documents", f"{stats.documents} in {count(stats.chunks, 'chunk')}"),
        ("entities", str(stats.entities)),
        ("tags", str(stats.tags)),
        ("not yet indexed", str(stats.pending)),
        ("indexes", "; ".join(map(sentence, wrong)) or "hold what the ledger shows, in a sample"),
        ("of its own", " ".join(said) or "nothing: all is as the service has it"),
    ]
    print_table(console(), ("", ""), rows, folding=frozenset({1}))
    if wrong:
        print(
            f"recallmesh: an index differs from the ledger\n  to mend it: {remedy(words, bank.ref.bank_id)}",
            file=sys.stderr,
        )


async def _show_effective(words: argparse.Namespace, faces: Client) -> None:
    """Show what is in force: of retain the bank tells it, of recall the service that ranks."""
    bank = await faces.admin.get_bank(BankRef(words.bank))
    effective = await faces.recaller.resolve_tuning(bank.ref, RecallTuning())
    if words.json:
        print(effective_json(bank, effective))
    else:
        print_effective(console(), effective, bank.config)


async def _set(words: argparse.Namespace, banks: Admin) -> None:
    bank = await banks.get_bank(BankRef(words.bank))
    name, config = _changed(words, bank.name, bank.config)
    # The version: what another has set meanwhile is not undone.
    bank = await banks.update_bank(bank.ref, name=name, config=config, version=bank.version)
    if words.json:
        print(bank_json(bank))
        return
    said = " ".join((*own(bank.config), *own_labels(bank.config.labels)))
    nothing = f"bank {words.bank} has nothing of its own: all is as the service has it"
    print(f"bank {words.bank} has of its own: {printable(said)}" if said else nothing)


def _changed(words: argparse.Namespace, name: str, config: BankConfig) -> tuple[str, BankConfig]:
    """Return the name and configuration that the command line makes of these."""
    change = changed(words.values, name, config)
    return change.name, replace(change.config, labels=relabelled(words.labels, config.labels))


async def _consolidate(words: argparse.Namespace, admin: Admin) -> None:
    ref = BankRef(words.bank)
    operation = await admin.consolidate(ref)
    if not words.no_wait:
        async for seen in admin.watch_operation(ref, operation.id):
            operation = seen
        if operation.state is not OperationState.SUCCEEDED:
            why = f": {operation.error}" if operation.error else ""
            raise MeshError(f"operation {operation.id} is {operation.state}{why}")
    if words.json:
        print(operation_json(operation))
    elif words.no_wait:
        print(f"operation {operation.id} is {operation.state}")
    else:
        written = count(len(operation.memory_ids), "observation")
        print(f"{count(operation.done, 'new fact')} looked at, {written} written")


async def _delete(words: argparse.Namespace, banks: Admin) -> None:
    await banks.delete_bank(BankRef(words.bank))
    if not words.json:
        print(f"deleted bank {words.bank}")
