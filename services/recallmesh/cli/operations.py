"""``recallmesh operation``: see, watch, cancel and retry a bank's work."""

import argparse

from recallmesh.cli.listing import Listing, every
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import console, print_lines, print_table
from recallmesh.cli.watching import about, outcome, said_state, watched
from recallmesh.core.admin import Admin
from recallmesh.core.bank import BankRef
from recallmesh.core.operation import Operation, OperationState
from recallmesh.rpc.text import operation_json

HEADINGS = ("operation", "kind", "state", "done", "tries", "created", "updated", "error")
ERROR = len(HEADINGS) - 1


async def run(words: argparse.Namespace) -> int:
    """Do the one thing that was asked for."""
    actions = {"list": _list, "show": _show, "watch": _watch, "cancel": _cancel, "retry": _retry}
    async with open_place(words) as faces:
        return await actions[words.action](words, faces.admin)


async def _list(words: argparse.Namespace, admin: Admin) -> int:
    ref, states = BankRef(words.bank), tuple(map(OperationState, words.states))
    nothing = f"no such operations in bank {words.bank}"
    listing: Listing[Operation] = Listing(HEADINGS, _cells, operation_json, frozenset({ERROR}), nothing)
    await listing.show(every(lambda page: admin.list_operations(ref, page, states)), json=words.json)
    return 0


def _cells(one: Operation) -> tuple[str, ...]:
    done = f"{one.done} of {one.total}"
    times = (f"{time:%Y-%m-%d %H:%M:%S}" for time in (one.created, one.updated))
    return one.id, one.kind.value, one.state.value, done, str(one.attempts), *times, one.error


async def _show(words: argparse.Namespace, admin: Admin) -> int:
    found = await admin.get_operation(BankRef(words.bank), words.id)
    if words.json:
        print(operation_json(found))
        return 0
    rows = list(zip(HEADINGS, _cells(found), strict=True))
    rows += [("memory", memory_id) for memory_id in found.memory_ids]
    print_table(console(), ("", ""), rows, folding=frozenset({1}))
    return 0


async def _watch(words: argparse.Namespace, admin: Admin) -> int:
    begun, screen = await admin.get_operation(BankRef(words.bank), words.id), console()

    def show(one: Operation) -> None:
        if words.json:
            print(operation_json(one), flush=True)
        elif not screen.is_terminal:
            print_lines(screen, [_cells(one)])
            screen.file.flush()

    if not words.json and not screen.is_terminal:
        print_lines(screen, [HEADINGS])
    done = await watched(words, admin, begun, f"operation {words.id}", show)
    code = outcome(words, done)
    if not code and not words.json and screen.is_terminal:
        made = len(done.memory_ids)
        print(f"operation {done.id} succeeded: {made} {'memory' if made == 1 else 'memories'}")
    return code


async def _cancel(words: argparse.Namespace, admin: Admin) -> int:
    found = await admin.cancel_operation(BankRef(words.bank), words.id)
    if words.json:
        print(operation_json(found))
    elif found.state is OperationState.RUNNING:
        print(f"operation {found.id} stops at its next step\n  see: {about(words, found.id)}")
    else:
        print(f"operation {found.id} {said_state(found)}")
    return 0


async def _retry(words: argparse.Namespace, admin: Admin) -> int:
    found = await admin.retry_operation(BankRef(words.bank), words.id)
    if words.json:
        print(operation_json(found))
    elif found.state is OperationState.PENDING:
        print(f"operation {found.id} is in the queue again\n  see: {about(words, found.id)}")
    else:
        print(f"operation {found.id} is {found.state}: only what failed or was cancelled is tried again")
    return 0
