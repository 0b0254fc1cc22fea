"""All rows of a list that comes in pages."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

from recallmesh.core.page import PAGE_SIZE_DEFAULT, Page, PageRequest

Row = TypeVar("Row")


async def rows(
    read: Callable[[PageRequest], Awaitable[Page[Row]]], *, page_size: int = PAGE_SIZE_DEFAULT
) -> AsyncGenerator[Row, None]:
    """Yield the rows of all pages; ``read`` is such as ``partial(mesh.admin.list_documents, bank.ref)``."""
    page = await read(PageRequest(page_size))
    while True:
        for row in page.rows:
            yield row
        if not page.next_after:
            return
        page = await read(PageRequest(page_size, page.next_after))
