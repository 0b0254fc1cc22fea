"""Vectors as the ports have them: of unit length, in 32 bits."""

import math
from array import array
from collections.abc import Iterable, Sequence

from recallmesh.core.arm import Vector
from recallmesh.core.errors import StoreUnavailable


def unit(values: Sequence[float]) -> Vector:
    """Return a vector of unit length in this one's direction, its numbers as the wire and the indexes hold them.

    Raises:
        StoreUnavailable: it has none.

    """
    length = math.hypot(*values)
    if not length or not math.isfinite(length):
        raise StoreUnavailable("the model made a vector without a direction")
    return tuple(array("f", [value / length for value in values]))


def units(rows: Iterable[Sequence[float]]) -> tuple[Vector, ...]:
    """Return each vector's direction; pure computing."""
    return tuple(unit(row) for row in rows)
