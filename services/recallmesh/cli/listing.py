"""Lists of any length: read page by page, shown as a table on a terminal and as lines in a pipe."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from recallmesh.cli.screen import console, print_lines, print_table
from recallmesh.core.page import Page, PageRequest

T = TypeVar("T")
PAGE_ROWS = 500


async def every(read: Callable[[PageRequest], Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """Yield the rows of all pages."""
    after = ""
    while True:
        page = await read(PageRequest(PAGE_ROWS, after))
        for row in page.rows:
            yield row
        after = page.next_after
        if not after:
            return


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """How rows of a kind are shown: ``headings`` and a row's cells, or its JSON; ``folding`` columns may wrap.

    ``nothing`` is told on a terminal in the place of an empty table.
    """

    headings: Sequence[str]
    cells: Callable[[T], Sequence[str]]
    json: Callable[[T], str]
    folding: frozenset[int]
    nothing: str
    screen_headings: Sequence[str] = ()
    screen_cells: Callable[[T], Sequence[str]] | None = None
    """On a terminal, where those above are too many for its width."""

    async def show(self, rows: AsyncIterator[T], *, json: bool) -> None:
        """Print the rows; in a pipe each as it comes, so that a list may be longer than memory."""
        if json:
            async for row in rows:
                print(self.json(row))
            return
        screen = console()
        if screen.is_terminal:
            cells = self.screen_cells or self.cells
            found = [cells(row) async for row in rows]
            if found:
                print_table(screen, self.screen_headings or self.headings, found, folding=self.folding)
            else:
                print(self.nothing)
            return
        print_lines(screen, [self.headings])
        async for row in rows:
            print_lines(screen, [self.cells(row)])
