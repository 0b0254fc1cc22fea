"""Watching an operation: a bar on a terminal, and what became of it."""

import argparse
import asyncio
import shlex
import sys
from collections.abc import Callable

from recallmesh.cli.address import place_of
from recallmesh.cli.screen import printable, progress
from recallmesh.core.admin import Operations
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import MeshError
from recallmesh.core.operation import FINISHED, Operation, OperationState

FAILED = 1


def about(words: argparse.Namespace, operation_id: str, action: str = "watch") -> str:
    """Return the command that does something with an operation."""
    return f"recallmesh operation {action} --bank {shlex.quote(words.bank)} {operation_id}{place_of(words)}"


async def watched(
    words: argparse.Namespace,
    operations: Operations,
    begun: Operation,
    label: str,
    each: Callable[[Operation], None] = lambda _: None,
) -> Operation:
    """Return the operation once it is finished, with a bar meanwhile; ``each`` hears of every change.

    Interrupted, the work is not: it is told how to see to it again.
    """
    last = begun
    try:
        with progress("") as bar:
            task = bar.add_task(printable(label), total=None, rate="")
            async for last in operations.watch_operation(BankRef(words.bank), begun.id):
                bar.update(task, completed=last.done, total=last.total or None)
                each(last)
    except (asyncio.CancelledError, MeshError):
        if last.state not in FINISHED:
            print(f"recallmesh: operation {last.id} goes on, or will\n  {about(words, last.id)}", file=sys.stderr)
        raise
    return last


def outcome(words: argparse.Namespace, operation: Operation) -> int:
    """Say on standard error why an operation did not succeed; returns the exit code."""
    if operation.state is OperationState.SUCCEEDED:
        return 0
    why = f": {printable(operation.error)}" if operation.error else ""
    print(f"recallmesh: operation {operation.id} {said_state(operation)}{why}", file=sys.stderr)
    print(f"  to try it again: {about(words, operation.id, 'retry')}", file=sys.stderr)
    return FAILED


def said_state(operation: Operation) -> str:
    """Say how an operation ended."""
    return "was cancelled" if operation.state is OperationState.CANCELLED else operation.state.value
