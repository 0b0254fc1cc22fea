"""The pause of a worker that found nothing to do."""

import asyncio


async def pause(woken: asyncio.Event, seconds: float) -> None:
    """Wait until woken, but no longer than that."""
    try:
        async with asyncio.timeout(seconds):
            await woken.wait()
    except TimeoutError:
        return
