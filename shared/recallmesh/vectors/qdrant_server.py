"""What the vector index asks of a Qdrant server, in plain values: a port, so that only the adapter knows the client."""

from collections.abc import Sequence
from typing import Protocol

from recallmesh.vectors.qdrant_collection import Found
from recallmesh.vectors.qdrant_point import Mapped
from recallmesh.vectors.qdrant_query import Near


class VectorServer(Protocol):
    """A server that keeps collections of points. Every call raises mesh errors only.

    Raises:
        StoreUnavailable: it does not answer in time, or failed.
        NotReady: the collection is not there, or the credential is refused.
        Overloaded: it asks to be left alone for a while.

    """

    async def version(self) -> str:
        """Return the server's version."""
        ...

    async def names(self) -> tuple[str, ...]:
        """List the collections."""
        ...

    async def find(self, name: str) -> Found | None:
        """Return a collection as it is; nothing where there is none."""
        ...

    async def count(self, name: str, condition: Mapped) -> int:
        """Count the points that fulfil a condition."""
        ...

    async def create(self, creation: Mapped) -> None:
        """Make a collection; one that is there already, made meanwhile by another process, is no error."""
        ...

    async def index(self, indexing: Mapped) -> None:
        """Index a field, in place of what indexed it before; returns when it is done."""
        ...

    async def describe(self, metadata: Mapped) -> None:
        """Add to what a collection says of itself."""
        ...

    async def remove(self, name: str) -> None:
        """Take a collection away with all it holds; one that is not there is no error."""
        ...

    async def query(self, name: str, questions: Sequence[Mapped]) -> list[list[Near]]:
        """Answer questions, each nearest first."""
        ...

    async def update(self, name: str, operations: Sequence[Mapped]) -> None:
        """Change points, in this order; returns when every search sees the changes."""
        ...

    async def delete(self, name: str, condition: Mapped, *, wait: bool = True) -> None:
        """Take out all points that fulfil a condition; ``wait``: returns when no search finds them."""
        ...

    async def scroll(self, name: str, condition: Mapped, start: str | None, limit: int) -> list[tuple[str, int]]:
        """List points with their orders, in the order of their names, from one on (absent: from the first)."""
        ...
