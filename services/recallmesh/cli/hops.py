"""The calls that a recall made of other parts, as a person reads them: what each took, and what the wire had of it."""

from collections.abc import Iterator
from datetime import timedelta

from rich.console import Console
from rich.table import Table
from rich.text import Text

from recallmesh.cli.screen import print_lines, printable
from recallmesh.core.hop import Hop

MS = timedelta(milliseconds=1)
PLAIN_BYTES = 10_000
"""Up to here bytes are counted one by one."""
HEADINGS = ("hop", "method", "place", "start ms", "ms", "inside ms", "sent", "received", "failure")


def print_hops(screen: Console, hops: tuple[Hop, ...]) -> None:
    """Print a line for each call, by when it began; in a pipe with plain numbers, empty where they are not known."""
    if not hops:
        return
    if not screen.is_terminal:
        screen.print()
        print_lines(screen, [HEADINGS, *map(_plain, hops)])
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "left", "left", "right", "left", "right", "right"):
        table.add_column(justify="right" if justify == "right" else "left", no_wrap=True)
    table.add_column(overflow="fold")
    for place, hop in enumerate(hops):
        table.add_row(f"{'' if place else 'hops':<7}", *(Text(cell) for cell in _cells(hop)))
    screen.print(table)


def size(count: int) -> str:
    """Write so many bytes."""
    return f"{count} B" if count < PLAIN_BYTES else f"{count / 1000:.1f} kB"


def where(hop: Hop) -> str:
    """Say how much of the time the wire had; where that is not known or is nothing, where the part is."""
    if not hop.there:
        return "here"
    return "there" if hop.wire is None else f"wire {hop.wire / MS:.1f} ms"


def _cells(hop: Hop) -> Iterator[str]:
    yield printable(hop.part)
    yield printable(hop.method)
    yield f"{hop.duration / MS:.1f} ms"
    yield where(hop)
    yield "?" if hop.sent is None else f"{size(hop.sent)} out"
    yield "?" if hop.received is None else f"{size(hop.received)} in"
    yield printable(hop.reason)


def _plain(hop: Hop) -> tuple[str, ...]:
    return (
        hop.part,
        hop.method,
        "there" if hop.there else "here",
        f"{hop.start / MS:.1f}",
        f"{hop.duration / MS:.1f}",
        "" if hop.inside is None else f"{hop.inside / MS:.1f}",
        "" if hop.sent is None else str(hop.sent),
        "" if hop.received is None else str(hop.received),
        hop.reason,
    )
