"""Figures printed: a table on a terminal, tab-separated lines in a pipe."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_figures(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows whose first cell is a name and whose others are numbers."""
    if not sys.stdout.isatty():
        print("\n".join("\t".join(row) for row in (headings, *rows)))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table)
