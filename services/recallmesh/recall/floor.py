"""Floors on the scores that only the orchestrator knows."""

from collections.abc import Sequence

from recallmesh.core.tuning import MinScores
from recallmesh.recall.ranking import Row


def passing(rows: Sequence[Row], floors: MinScores) -> list[Row]:
    """Return the rows at or above both floors.

    The reranker's floor holds for what it scored and keeps out what it did not get to see. When it scored nothing at
    all, its floor cannot be meant: an absent model costs its contribution, not the answer.
    """
    if floors.reranker is None and floors.final is None:
        return list(rows)
    reranked = any(row.raw is not None for row in rows)
    return [
        row
        for row in rows
        if (floors.final is None or row.final >= floors.final)
        and (floors.reranker is None or not reranked or (row.raw is not None and row.relevance >= floors.reranker))
    ]
