"""What a person sees: colours and tables on a terminal, plain lines in a pipe."""

import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

# A memory may hold anything; sent to a terminal as it is, an escape sequence in it would be obeyed.
UNPRINTABLE = {code: "�" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}
GAP = 2
"""Spaces between columns, and before what belongs to the line above."""
FOLDED = 20
"""The least width at which a column that wraps can be read."""


class Screen(Console):
    """Standard output; a reader that has gone is told to the caller, who knows the exit code."""

    def on_broken_pipe(self) -> NoReturn:
        """Let the error through."""
        raise BrokenPipeError


def console() -> Console:
    """Return the console of standard output; in a pipe it writes plain text of any width."""
    return Screen(highlight=False, markup=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def printable(text: str) -> str:
    """Return a text without the characters that control a terminal."""
    return text.replace("\r\n", "\n").translate(UNPRINTABLE)


def one_line(text: str) -> str:
    """Return a text on one line, without tabs: a cell of a table."""
    return " ".join(printable(text).split())


def progress(unit: str) -> Progress:
    """Return a progress bar on standard error with rate and time left; silent where that is no terminal."""
    return _progress(MofNCompleteColumn(), TextColumn(f"{unit}  {{task.fields[rate]}}"))


def share_progress() -> Progress:
    """Return one that shows the share of the bytes that are done, and how many items they held."""
    return _progress(TaskProgressColumn(), TextColumn("{task.fields[items]} items  {task.fields[rate]}"))


def _progress(*columns: ProgressColumn) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *columns,
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )


def print_table(
    screen: Console, headings: Sequence[str], rows: Iterable[Sequence[str]], *, folding: frozenset[int] = frozenset()
) -> None:
    """Print rows: a table on a terminal, tab-separated lines with a heading in a pipe; ``folding`` columns may wrap.

    Where the terminal is too narrow for the columns, each row is a paragraph: an id that is cut cannot be copied.
    """
    if not screen.is_terminal:
        print_lines(screen, [headings, *rows] if any(headings) else rows)
        return
    rows = list(rows)
    if any(headings) and _width(headings, rows, folding) > screen.width:
        _print_paragraphs(screen, headings, rows)
        return
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold", show_header=any(headings))
    for place, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", no_wrap=place not in folding)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    screen.print(table)


def _width(headings: Sequence[str], rows: Sequence[Sequence[str]], folding: frozenset[int]) -> int:
    """Return how many cells of width the columns need to be readable."""
    needed = [max(map(cell_len, column)) for column in zip(headings, *rows, strict=True)]
    # The first is what the row is called by, which is copied: never wrapped if that can be helped.
    return sum(min(n, FOLDED) if i and i in folding else n for i, n in enumerate(needed)) + GAP * (len(needed) - 1)


def _print_paragraphs(screen: Console, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print each row as its first cell, and below it the others that are not empty, each with its heading."""
    for first, *others in rows:
        screen.print(Text(printable(first), style="bold", overflow="fold"))
        told = [
            Text.assemble((f"{heading} ".lstrip(), "dim"), one_line(cell))
            for heading, cell in zip(headings[1:], others, strict=True)
            if cell
        ]
        screen.print(Padding(Text(" · ", overflow="fold").join(told), (0, 0, 0, GAP)))


def print_lines(screen: Console, rows: Iterable[Sequence[str]]) -> None:
    """Print tab-separated lines; rich would expand the tabs, so they pass it by."""
    for row in rows:
        screen.file.write("\t".join(one_line(cell) for cell in row) + "\n")
