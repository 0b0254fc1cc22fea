"""``recallmesh events``: what happened in a bank, listed or as it happens."""

import argparse
import asyncio
import sys

from rich.console import Console

from recallmesh.cli.address import address_of
from recallmesh.cli.listing import every
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import console, one_line, print_lines, print_table
from recallmesh.core.admin import Admin
from recallmesh.core.bank import BankRef
from recallmesh.core.defense import SecurityEvent
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.event import Event, EventFilter, EventKind
from recallmesh.rpc.text import decision_json, event_json

HEADINGS = ("event", "time", "kind", "what")
DECISIONS = ("time", "detector", "action", "severity", "what", "document", "receipt")
RETRY_S = 1.0
"""Pause before a watch that broke off is taken up again."""


async def run(words: argparse.Namespace) -> int:
    """List, or watch until interrupted."""
    kinds = tuple(EventKind(kind) for kind in words.kinds)
    async with open_place(words) as faces:
        if words.security:
            await _decisions(words, faces.admin)
        elif words.follow:
            await _follow(words, faces.admin, kinds)
        else:
            await _list(words, faces.admin, kinds)
    return 0


async def _list(words: argparse.Namespace, admin: Admin, kinds: tuple[EventKind, ...]) -> None:
    ref, wanted = BankRef(words.bank), EventFilter(kinds)
    found = every(lambda page: admin.list_events(ref, wanted, page))
    shown = [event async for event in found if event.id > words.after]
    if words.json:
        for event in shown:
            print(event_json(event))
    elif shown or not sys.stdout.isatty():
        print_table(console(), HEADINGS, [_row(event) for event in shown], folding=frozenset({3}))
    else:
        print(f"nothing happened in bank {words.bank} that is still kept")


async def _follow(words: argparse.Namespace, admin: Admin, kinds: tuple[EventKind, ...]) -> None:
    screen, after = console(), words.after
    while True:
        try:
            async for event in admin.watch_events(BankRef(words.bank), kinds, after):
                after = event.id
                _show(event, screen, json=words.json)
        except StoreUnavailable as error:
            # A server that restarts loses no event, if it is asked for what followed the last one.
            if not address_of(words) or not after:
                raise
            print(f"recallmesh: {error.message}; going on after {after}", file=sys.stderr)
            await asyncio.sleep(RETRY_S)


def _show(event: Event, screen: Console, *, json: bool) -> None:
    if json:
        print(event_json(event), flush=True)
    else:
        print_lines(screen, [_row(event)])
        screen.file.flush()


async def _decisions(words: argparse.Namespace, admin: Admin) -> None:
    ref = BankRef(words.bank)
    found = [decision async for decision in every(lambda page: admin.list_security_events(ref, page))]
    if words.json:
        for decision in found:
            print(decision_json(decision))
    elif found or not sys.stdout.isatty():
        print_table(console(), DECISIONS, [_decision(one) for one in found], folding=frozenset({4, 5, 6}))
    else:
        print(f"memory defense decided nothing in bank {words.bank}")


def _row(event: Event) -> tuple[str, ...]:
    return event.id, f"{event.time:%Y-%m-%d %H:%M:%S}", event.kind.value, one_line(_said(event))


def _said(event: Event) -> str:
    if event.security is not None:
        violation = event.security.violation
        return f"{violation.action}: {violation.message}"
    count = event.memory_count
    made = f"{count} {'memory' if count == 1 else 'memories'}" if count else "no memory: nothing of it can be recalled"
    documents = len(event.document_ids)
    of = f"of {event.document_ids[0]}" if documents == 1 else f"of {documents} documents"
    return f"{made} {of}" if documents else made


def _decision(one: SecurityEvent) -> tuple[str, ...]:
    violation = one.violation
    return (
        f"{one.time:%Y-%m-%d %H:%M:%S}",
        violation.detector,
        violation.action,
        violation.severity,
        violation.message,
        one.document_id,
        one.receipt_uri,
    )
