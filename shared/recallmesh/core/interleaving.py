"""Interleaving: several ranked lists as one, each list's first before any list's second (SPEC R23)."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from operator import itemgetter

from recallmesh.core.arm import ArmName, Hit

MEMORY_ID: Callable[[Hit], str] = itemgetter(0)


def ranks_of(hits: Sequence[Hit], cap: int = 0) -> dict[str, int]:
    """Return each memory's rank in a list, from 1; only the first ``cap`` hits count (0: all)."""
    counted = hits[:cap] if cap else hits
    # An arm gives each memory once, so this does, at C's speed; the lists of others may say one twice.
    ranks = dict(zip(map(MEMORY_ID, counted), count(1), strict=False))
    if len(ranks) == len(counted):
        return ranks
    ranks = {}
    for hit in counted:
        ranks.setdefault(hit.memory_id, len(ranks) + 1)
    return ranks


def interleave(
    ranks: Mapping[ArmName, Mapping[str, int]], divisors: Mapping[ArmName, float] | None = None
) -> list[str]:
    """Take each list's first, then each list's second, and so on, in the order of the arms given, without repeats.

    RRF averages away what one list alone holds first; a near twin of a fact is often just that. A divided rank counts
    as if it were that much higher: a divisor of 2 lets an arm put in two where the others put in one.
    """
    turns = sorted(
        (rank / (divisors.get(arm, 1.0) if divisors else 1.0), seat, memory_id)
        for seat, (arm, places) in enumerate(ranks.items())
        for memory_id, rank in places.items()
    )
    return list(dict.fromkeys(memory_id for _, _, memory_id in turns))
