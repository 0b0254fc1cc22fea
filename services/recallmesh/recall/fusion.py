"""Fusing the arms' ranked lists into one order by reciprocal ranks."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum

from recallmesh.core.arm import ArmName

K = 60  # Cormack et al. 2009: damps the head so that no single first place decides


@dataclass(frozen=True, slots=True)
class Fused:
    """Memory ids, best first, with the sum of 1/(k + rank) that ordered them."""

    order: list[str]
    scores: dict[str, float]


def fuse(
    ranks: Mapping[ArmName, Mapping[str, int]], *, k: int = K, divisors: Mapping[ArmName, float] | None = None
) -> Fused:
    """Fuse by reciprocal ranks, all arms with equal weight; a divided rank counts as if it were that much higher.

    Equal sums are ordered by the best single rank, then by memory id.
    """
    terms: dict[str, list[float]] = {}
    for arm, places in ranks.items():
        divisor = divisors.get(arm, 1.0) if divisors else 1.0
        for memory_id, rank in places.items():
            term = 1.0 / (k + (rank if divisor == 1.0 else rank / divisor))
            known = terms.get(memory_id)
            if known is None:
                terms[memory_id] = [term]
            else:
                known.append(term)
    scores: dict[str, float] = {}
    rows: list[tuple[float, float, str]] = []
    for memory_id, part in terms.items():
        if len(part) == 1:
            total = best = part[0]
        else:
            # fsum rounds once: the same ranks in other arms give the same sum, so a tie is a tie.
            total, best = fsum(part), max(part)
        scores[memory_id] = total
        rows.append((-total, -best, memory_id))
    rows.sort()
    return Fused([row[2] for row in rows], scores)
