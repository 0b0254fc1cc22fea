"""The keyword arm over its embedded store."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from recallmesh.core.arm import Arm, ArmQuery, Indexed, IndexEntry, Removal
from recallmesh.core.memory import FactType, Mention
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.keyword.arm import KeywordArm
from recallmesh.keyword.embedded import open_embedded_keyword_store

BANK = "bank-1"


def entry(memory_id: str, text: str, **more) -> IndexEntry:
    return IndexEntry(memory_id, 1, text, more.pop("fact_type", FactType.WORLD), **more)


@pytest.fixture
async def arm(tmp_path) -> AsyncIterator[Arm]:
    async with open_embedded_keyword_store(tmp_path / "deep" / "keyword.db") as store:
        yield KeywordArm(store)


async def found(arm: Arm, text: str, **wanted) -> list[str]:
    return [hit.memory_id for hit in await arm.search(ArmQuery(BANK, text, **wanted))]


async def test_a_hit_says_which_words_it_shares_the_rarest_first(arm):
    await arm.index(
        BANK, (entry("m1", "They ran a charity race"), entry("m2", "A race"), entry("m3", "Races and more races"))
    )
    hits = await arm.search(ArmQuery(BANK, "When was the charity race?"))
    assert (hits[0].memory_id, hits[0].because) == ("m1", "charity, race")
    assert {hit.because for hit in hits[1:]} == {"race"}


async def test_at_most_four_words_are_shown(arm):
    await arm.index(BANK, (entry("m1", "one two three four five six"),))
    (hit,) = await arm.search(ArmQuery(BANK, "one two three four five six"))
    assert len(hit.because.split(", ")) == 4


async def test_entities_tags_and_dates_are_found_as_words(arm):
    mention = Mention("e1", "Caroline Berg", "person", aliases=("Caro",))
    await arm.index(
        BANK,
        (
            entry("m1", "She moved", mentions=(mention,)),
            entry("m2", "It rained", tags=("topic:weather",)),
            entry("m3", "They met", mentioned=datetime(2023, 5, 8, tzinfo=UTC)),
        ),
    )
    assert await found(arm, "Caro") == ["m1"]
    assert await found(arm, "weather") == ["m2"]
    assert await found(arm, "on 8 May 2023") == ["m3"]


async def test_types_tags_floor_and_limit_reach_the_store(arm):
    await arm.index(
        BANK,
        (
            entry("m1", "harbour", tags=("a",)),
            entry("m2", "harbour", fact_type=FactType.OBSERVATION, tags=("a",)),
            entry("m3", "harbour"),
        ),
    )
    assert await found(arm, "harbour", fact_types=(FactType.OBSERVATION,)) == ["m2"]
    assert await found(arm, "harbour", tags=TagLeaf(mode=TagMode.EXACT)) == ["m3"]
    assert await found(arm, "harbour", limit=1) == ["m1", "m2"]
    assert await found(arm, "harbour", min_score=100.0) == []


async def test_removal_drop_scan_and_check_reach_the_store(arm):
    await arm.index(BANK, (entry("m1", "harbour"), entry("m2", "harbour")))
    await arm.remove(BANK, (Removal("m1", 1),))
    assert (await arm.scan(BANK, PageRequest())).rows == (Indexed("m2", 1),)
    assert await found(arm, "harbour") == ["m2"]
    await arm.drop(BANK)
    assert await found(arm, "harbour") == []
    await arm.check()


async def test_dates_are_put_into_the_arms_language(tmp_path):
    async with open_embedded_keyword_store(tmp_path / "keyword.db", language="german") as store:
        arm = KeywordArm(store, language="german")
        await arm.index(BANK, (entry("m1", "Sie trafen sich", mentioned=datetime(2023, 5, 8, tzinfo=UTC)),))
        assert await found(arm, "im Mai") == ["m1"]
