"""Asking before something is gone for good."""

import argparse
import sys

DECLINED = 1
NOBODY = 2
"""Deleting without --yes where nobody can be asked is a mistake of use."""


def refused(words: argparse.Namespace, what: str, *, also: str = "") -> int:
    """Ask whether ``what`` is to be deleted, and ``also`` goes; returns 0, or the exit code of a no."""
    if words.yes:
        return 0
    if not sys.stdin.isatty():
        print(f"recallmesh: nobody can be asked here\n  to delete {what} for good, say --yes", file=sys.stderr)
        return NOBODY
    if _agreed(f"delete {what}{also}? [y/N] "):
        return 0
    print("nothing was deleted")
    return DECLINED


def several(ids: list[str], kind: str, kinds: str) -> str:
    """Name what is to be deleted: one by its id, more by their number."""
    return f"{kind} {ids[0]}" if len(ids) == 1 else f"{len(ids)} {kinds}"


def _agreed(question: str) -> bool:
    try:
        return input(question).strip().lower() in {"y", "yes"}
    except EOFError:
        print()
        return False
