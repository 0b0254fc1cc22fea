"""Which memories' texts are alike: the semantic links of a batch."""

from collections.abc import Mapping, Sequence

import numpy as np

from recallmesh.core.arm import IndexEntry
from recallmesh.core.vectors import VectorHit
from recallmesh.graph.score import semantic_weight
from recallmesh.graph.store import Alike


def batch_cosines(entries: Sequence[IndexEntry], threshold: float) -> dict[str, dict[str, float]]:
    """Return, for each entry with a vector, the cosine to each other one that is at least the threshold."""
    held = [entry for entry in entries if entry.vector is not None]
    if len(held) < 2:  # noqa: PLR2004
        return {}
    rows = np.asarray([entry.vector for entry in held], dtype=np.float32)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -1.0)
    found: dict[str, dict[str, float]] = {}
    for one, other in zip(*np.nonzero(cosines >= threshold), strict=True):
        if held[one].memory_id != held[other].memory_id:
            found.setdefault(held[one].memory_id, {})[held[other].memory_id] = float(cosines[one, other])
    return found


def alike(
    memory_id: str, batch: Mapping[str, float], stored: Sequence[VectorHit], *, threshold: float, most: int
) -> tuple[Alike, ...]:
    """Return the nearest memories of the batch and of what is stored, nearest first, at most so many."""
    cosines = {hit.memory_id: hit.score for hit in stored if hit.score >= threshold} | dict(batch)
    cosines.pop(memory_id, None)
    nearest = sorted(cosines, key=lambda other: (-cosines[other], other))[:most]
    return tuple(Alike(other, semantic_weight(cosines[other], threshold)) for other in nearest)
