"""Tags say who may see what, in every mode, through every arm and every list (SPEC R20, case 29 in small)."""

import pytest
import pytest_asyncio
from deployment import NOW

from recallmesh.core.arm import ArmName
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot, TagOr, passes
from recallmesh.core.time import Window

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

TAGGED = {
    "The first lantern hangs in the yard.": (),
    "The second lantern hangs in the barn.": ("farm",),
    "The third lantern hangs in the chapel.": ("church",),
    "The fourth lantern hangs in the vicarage.": ("farm", "church"),
    "The fifth lantern hangs in the mill.": ("farm", "church", "mill"),
}


def leaf(mode, *tags):
    return TagLeaf(frozenset(tags), mode)


TESTS = {
    **{f"{mode} of farm and church": leaf(mode, "farm", "church") for mode in TagMode},
    **{f"{mode} of mill": leaf(mode, "mill") for mode in TagMode},
    "exactly nothing": leaf(TagMode.EXACT),
    "farm and not church": TagAnd((leaf(TagMode.ANY_STRICT, "farm"), TagNot(leaf(TagMode.ANY_STRICT, "church")))),
    "mill or untagged": TagOr((leaf(TagMode.ANY_STRICT, "mill"), leaf(TagMode.EXACT))),
    "nothing at all": TagOr(()),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tagged(mesh):
    diary = await mesh.diary()
    for text, tags in TAGGED.items():
        await diary.keep(text, tags=tags)
    return diary


@pytest.mark.parametrize("name", TESTS)
async def test_every_arm_shows_what_passes_and_nothing_else(tagged, name):
    test = TESTS[name]
    wanted = sorted(text for text, tags in TAGGED.items() if passes(test, tags))
    for arm in ArmName:
        window = Window(NOW, NOW) if arm is ArmName.TEMPORAL else None
        assert sorted(await tagged.texts("lantern hangs", arm, tags=test, window=window)) == wanted, arm
    answer = await tagged.ask("Where does a lantern hang?", tags=test, chunk_tokens=5000, source_tokens=500, trace=True)
    assert sorted(one.memory.text for one in answer.memories) == wanted
    assert sorted(one.chunk.text for one in answer.chunks) == wanted
    assert sorted(memory.text for memory in await tagged.memories(MemoryFilter(tags=test))) == wanted
    hidden = [text for text in TAGGED if text not in wanted]
    assert [text for text in hidden if text in repr(answer)] == []
