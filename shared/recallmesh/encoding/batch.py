"""Texts in batches of like length: what is padded is computed for nothing."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

R = TypeVar("R")

Batches = Sequence[tuple[str, ...]]


async def in_batches(
    compute: Callable[[Batches], Awaitable[Sequence[Sequence[R]]]], texts: Sequence[str], size: int
) -> tuple[R, ...]:
    """Return what is computed of each text, in order, from batches of at most so many.

    Equal calls have equal batches, and so equal answers, even where those in a batch feel each other in the last digit.
    """
    order = sorted(range(len(texts)), key=lambda place: (len(texts[place]), place))
    places = [order[at : at + size] for at in range(0, len(order), size)]
    found = await compute([tuple(texts[place] for place in batch) for batch in places])
    by_place = {
        place: one for batch, rows in zip(places, found, strict=True) for place, one in zip(batch, rows, strict=True)
    }
    return tuple(by_place[place] for place in range(len(texts)))
