"""The semantic arm, over the embedded vectors' port."""

import pytest

from recallmesh.core.arm import ArmQuery, Hit, IndexEntry, Removal
from recallmesh.core.memory import FactType
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import TagLeaf, TagMode, passes
from recallmesh.core.vectors import VectorField, VectorHit, VectorQuery
from recallmesh.semantic.arm import SemanticArm
from recallmesh.semantic.settings import SemanticSettings

NORTH = (1.0, 0.0)


class NotedVectors:
    """A vector index that answers from a list and notes every call."""

    def __init__(self, *hits: VectorHit) -> None:
        self.hits = hits
        self.calls: list[tuple[object, ...]] = []

    async def search(self, queries: tuple[VectorQuery, ...]):
        self.calls.append(("search", queries))
        return tuple(tuple(hit for hit in self.hits if hit.fact_type in query.fact_types) for query in queries)

    async def upsert(self, bank_uid, entries):
        self.calls.append(("upsert", bank_uid, entries))

    async def delete(self, bank_uid, removals):
        self.calls.append(("delete", bank_uid, removals))

    async def drop(self, bank_uid):
        self.calls.append(("drop", bank_uid))

    async def scan(self, bank_uid, page):
        self.calls.append(("scan", bank_uid, page))

    async def check(self):
        self.calls.append(("check",))


async def test_types_are_asked_each_for_itself_in_one_batch() -> None:
    vectors = NotedVectors()
    tags = TagLeaf(frozenset({"a"}), TagMode.EXACT)
    asked = ArmQuery("b1", "who", vector=NORTH, tags=tags, limit=7, min_score=0.25)
    await SemanticArm(vectors).search(asked)
    ((_, queries),) = vectors.calls
    assert [query.fact_types for query in queries] == [(fact_type,) for fact_type in FactType]
    assert {(q.bank_uid, q.vector, q.tags, q.limit, q.min_score, q.field) for q in queries} == {
        ("b1", NORTH, tags, 7, 0.25, VectorField.TEXT)
    }
    assert passes(queries[0].tags, ("a",))


async def test_a_type_asked_twice_is_searched_once() -> None:
    vectors = NotedVectors(VectorHit("m1", 0.5, FactType.WORLD))
    asked = ArmQuery("b1", "who", vector=NORTH, fact_types=(FactType.WORLD, FactType.WORLD))
    assert await SemanticArm(vectors).search(asked) == (Hit("m1", 0.5),)


async def test_hits_of_all_types_are_merged_best_first_and_ties_by_id() -> None:
    vectors = NotedVectors(
        VectorHit("c", 0.9, FactType.WORLD),
        VectorHit("b", 0.5, FactType.WORLD),
        VectorHit("d", 0.95, FactType.OBSERVATION),
        VectorHit("a", 0.5, FactType.EXPERIENCE),
    )
    hits = await SemanticArm(vectors).search(ArmQuery("b1", "who", vector=NORTH))
    assert hits == (Hit("d", 0.95), Hit("c", 0.9), Hit("a", 0.5), Hit("b", 0.5))


@pytest.mark.parametrize("lacking", [ArmQuery("b1", "who"), ArmQuery("b1", "who", vector=NORTH, fact_types=())])
async def test_without_a_vector_or_a_type_there_are_no_hits(lacking: ArmQuery) -> None:
    vectors = NotedVectors(VectorHit("m1", 0.5, FactType.WORLD))
    assert await SemanticArm(vectors).search(lacking) == ()
    assert vectors.calls == []


async def test_writes_lists_and_checks_go_to_the_vectors() -> None:
    vectors = NotedVectors()
    arm = SemanticArm(vectors)
    entries, removals = (IndexEntry("m1", 1, "t", FactType.WORLD, vector=NORTH),), (Removal("m1", 2),)
    await arm.index("b1", entries)
    await arm.remove("b1", removals)
    await arm.drop("b1")
    await arm.scan("b1", PageRequest(size=3))
    await arm.check()
    assert vectors.calls == [
        ("upsert", "b1", entries),
        ("delete", "b1", removals),
        ("drop", "b1"),
        ("scan", "b1", PageRequest(size=3)),
        ("check",),
    ]


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="extra"):
        SemanticSettings(pth="x")
