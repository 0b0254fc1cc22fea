"""``recallmesh webhook``: addresses that a bank's events are posted to."""

import argparse
import base64
import secrets
import sys
from datetime import timedelta
from pathlib import Path

from recallmesh.cli.listing import every
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import console, print_table
from recallmesh.core.admin import Admin
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.event import POST_TIMEOUT, EventKind, Webhook, WebhookDraft
from recallmesh.core.signature import SECRET_PREFIX
from recallmesh.rpc.text import webhook_json, webhooks_json

KEY_BYTES = 32
"""Of a secret made here: as much as SHA-256 can use."""
HEADINGS = ("webhook", "address", "kinds", "last event", "state")


async def run(words: argparse.Namespace) -> int:
    """Do the one thing that was asked for."""
    actions = {"add": _add, "list": _list, "remove": _remove}
    if words.action == "add":
        words.secret = _secret(words.secret_file)
    async with open_place(words) as faces:
        await actions[words.action](words, faces.admin)
    return 0


async def _add(words: argparse.Namespace, admin: Admin) -> None:
    timeout = POST_TIMEOUT if words.timeout is None else timedelta(seconds=words.timeout)
    kinds = tuple(EventKind(kind) for kind in words.kinds)
    made = await admin.create_webhook(BankRef(words.bank), WebhookDraft(words.url, words.secret, kinds, timeout))
    if words.json:
        print(webhook_json(made))
    else:
        print(f"webhook {made.id} posts to {made.url}")
    if not words.secret_file:
        # Not into the JSON, which may be kept: it is shown once, to whoever sits there.
        print(f"its secret, which is not shown again: {words.secret}", file=sys.stderr if words.json else sys.stdout)


async def _list(words: argparse.Namespace, admin: Admin) -> None:
    ref = BankRef(words.bank)
    found = [one async for one in every(lambda page: admin.list_webhooks(ref, page))]
    if words.json:
        print(webhooks_json(found))
    elif found or not sys.stdout.isatty():
        print_table(console(), HEADINGS, [_row(one) for one in found], folding=frozenset({1, 2, 4}))
    else:
        print(f"no webhooks; add one: recallmesh webhook add --bank {words.bank} https://…")


async def _remove(words: argparse.Namespace, admin: Admin) -> None:
    await admin.delete_webhook(BankRef(words.bank), words.webhook)
    if not words.json:
        print(f"nothing is posted for webhook {words.webhook} any more")


def _row(one: Webhook) -> tuple[str, ...]:
    return one.id, one.url, ", ".join(one.kinds) or "all", one.last_event_id or "-", _state(one)


def _state(one: Webhook) -> str:
    if one.gave_up is not None:
        return f"given up {one.gave_up:%Y-%m-%d %H:%M} after {one.failed_attempts} tries: {one.error}"
    if one.failed_attempts:
        return f"tried {one.failed_attempts} times in vain: {one.error}"
    return "served"


def _secret(file: str | None) -> str:
    """Read the secret, or make one; never a word on the command line, which others see.

    Raises:
        InvalidArgument: the file cannot be read.

    """
    if not file:
        return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
    try:
        return (sys.stdin.read() if file == "-" else Path(file).expanduser().read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is no text"
        raise InvalidArgument(FieldViolation("--secret-file", f"{file}: {why}")) from error
