"""What an ordered answer of nearest neighbours is, whichever Qdrant gave it: scores, floors, ties."""

from recallmesh.core.vectors import VectorQuery

DIGITS = 6
"""Scores are rounded to what a 32-bit cosine can mean, so that equal vectors have equal scores in every segment."""
SLACK = 10.0**-DIGITS
EF_MIN, EF_MAX = 64, 1000
"""How many neighbours HNSW follows: the number asked for, within these."""
TIES_MIN, TIES_MAX, TIES_PER_HIT = 1024, 8192, 32
"""How far a search is widened to order ties at its end by id: so many for each hit asked for, within these; beyond, the
store's own order decides. Reading 8,192 of 12,000 equal vectors takes 50 ms, 1,024 of them 5 ms."""
WIDER = 4
"""By how much a search that ends in a tie is widened, each time."""
FLOAT_BYTES = 4


def score_of(cosine: float) -> float:
    """Return a cosine as far as 32 bits can mean it."""
    return round(cosine, DIGITS)


def store_floor(query: VectorQuery) -> float | None:
    """Return the floor to give the store: a little lower, since what it compares is not rounded."""
    return None if query.min_score is None else query.min_score - SLACK


def breadth(limit: int) -> int:
    """Return how many neighbours HNSW is to follow for so many hits."""
    return min(max(limit, EF_MIN), EF_MAX)


def widest(query: VectorQuery) -> int:
    """Return how many hits a search that ends in a tie may be widened to."""
    return min(max(query.limit * TIES_PER_HIT, TIES_MIN), TIES_MAX)


def full_scan_kilobytes(points: int, dimensions: int) -> int:
    """Return the size of so many vectors in the unit of Qdrant's thresholds; fewer are compared one by one, exactly."""
    return max(1, points * dimensions * FLOAT_BYTES // 1024)
