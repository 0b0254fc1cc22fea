"""How far a shard looks to order equal vectors."""

from uuid import UUID

from recallmesh.core.arm import IndexEntry
from recallmesh.core.memory import FactType
from recallmesh.core.vectors import VectorQuery
from recallmesh.vectors.edge import create_shard
from recallmesh.vectors.nearest import TIES_MIN
from recallmesh.vectors.payload import point_of

EQUAL = 1200


class Watched:
    """An edge shard that notes how many points each search read."""

    def __init__(self, shard):
        self.read = []
        self._shard = shard
        self.retrieve, self.close = shard.retrieve, shard.close

    def query_batch(self, request):
        found = self._shard.query_batch(request)
        self.read += [len(points) for points in found]
        return found


def test_the_more_hits_are_asked_for_the_further_ties_are_ordered(tmp_path):
    shard = create_shard(tmp_path / "shard", 2, index_from=20_000)
    entries = [IndexEntry(str(UUID(int=n)), 1, "t", FactType.WORLD, vector=(1.0, 0.0)) for n in range(EQUAL)]
    shard.upsert([point_of("b1", entry, 2) for entry in entries])
    watched = shard._shard = Watched(shard._shard)
    ((ids, *_),) = shard.search([VectorQuery("b1", (1.0, 0.0), limit=10)])
    assert len(ids) == 10
    assert max(watched.read) == TIES_MIN
    ((ids, *_),) = shard.search([VectorQuery("b1", (1.0, 0.0), limit=300)])
    assert ids == [entry.memory_id for entry in entries[:300]]
    assert max(watched.read) == EQUAL
    shard.close()
