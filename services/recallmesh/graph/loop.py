"""An event loop in a thread of its own, for a store that waits on sockets and computes in between."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from recallmesh.core.errors import StoreUnavailable

CLOSE_S = 5.0
"""The most seconds that work in hand gets to end when the loop is closed."""
_T = TypeVar("_T")


class OwnLoop:
    """Runs coroutines beside the caller's event loop, which computing in them does not hold up.

    To cancel a call cancels its work, which gets the caller's context variables. No thread waits for a socket.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use a loop that an ``open_own_loop`` runs and closes."""
        self._loop = loop
        self._closed = False

    async def run(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Do the work in the loop, and return what it returns.

        Raises:
            StoreUnavailable: the loop is closed.

        """
        if self._closed:
            raise StoreUnavailable("the graph store is closed")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), self._loop))

    async def close(self) -> None:
        """Take no more work, and cancel what there is."""
        self._closed = True
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_end(), self._loop))


@asynccontextmanager
async def open_own_loop(label: str) -> AsyncIterator[OwnLoop]:
    """Start a loop in a thread of this name; at the end what still runs in it is cancelled."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=label, daemon=True)
    thread.start()
    own = OwnLoop(loop)
    try:
        yield own
    finally:
        await own.close()
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join)
        loop.close()


async def _end() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=CLOSE_S)
    # Its threads look up the names of hosts.
    await asyncio.get_running_loop().shutdown_default_executor()
