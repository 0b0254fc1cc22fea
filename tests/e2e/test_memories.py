"""Memories are hidden, restored and edited, and every arm follows."""

import pytest
from deployment import NOW, until

from recallmesh.core.arm import ArmName
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import MemoryState
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.time import Window

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

TEXT = "Wen Zhou plants the quince beside the cistern."
CHANGED = "Wen Zhou plants the medlar beside the cistern."


async def found_by(diary, memory_id, query, **request):
    arms = set()
    for arm in ArmName:
        window = Window(NOW, NOW) if arm is ArmName.TEMPORAL else None
        answer = await diary.ask(query, arm, reranking=False, window=window, **request)
        if memory_id in [one.memory.id for one in answer.memories]:
            arms.add(arm)
    return arms


async def test_an_invalidated_memory_is_hidden_until_it_is_restored(mesh, diary):
    admin = mesh.faces.admin
    (memory_id,) = await diary.keep(TEXT, tags=("garden",))
    for _ in range(2):
        assert (await admin.invalidate_memory(diary.ref, memory_id)).state is MemoryState.INVALIDATED
    assert await found_by(diary, memory_id, TEXT) == set()
    assert "quince" not in repr(await diary.ask(TEXT, trace=True))
    assert (await admin.get_memory(diary.ref, memory_id)).text == TEXT
    hidden = await diary.memories(MemoryFilter(states=(MemoryState.INVALIDATED,)))
    assert [memory.id for memory in hidden] == [memory_id]
    for _ in range(2):
        assert (await admin.restore_memory(diary.ref, memory_id)).state is MemoryState.ACTIVE

    async def everywhere():
        return await found_by(diary, memory_id, TEXT) == set(ArmName)

    await until(everywhere)


async def test_an_edited_memory_is_found_by_its_new_words_alone(mesh, diary):
    (memory_id,) = await diary.keep(TEXT)
    edited = await mesh.faces.admin.edit_memory(diary.ref, memory_id, MemoryEdit(text=CHANGED))
    assert (edited.text, edited.tokens > 5) == (CHANGED, True)

    async def found():
        return await diary.words("medlar")

    assert await until(found) == [CHANGED]
    assert await diary.words("quince") == []
    assert await found_by(diary, memory_id, CHANGED) == set(ArmName)


async def test_an_edited_tag_filters_at_once_and_everywhere(mesh, diary):
    (memory_id,) = await diary.keep(TEXT, tags=("garden",))
    await mesh.faces.admin.edit_memory(diary.ref, memory_id, MemoryEdit(tags=("secret",)))
    garden, secret = (TagLeaf(frozenset({tag}), TagMode.ANY_STRICT) for tag in ("garden", "secret"))
    assert await found_by(diary, memory_id, TEXT, tags=garden) == set()

    async def followed():
        return await found_by(diary, memory_id, TEXT, tags=secret) == set(ArmName)

    await until(followed)


@pytest.mark.parametrize(
    "edit",
    [
        MemoryEdit(text=" \n\u200b"),
        MemoryEdit(text="x" * 1_100_000),
        MemoryEdit(tags=("a" * 40_000,)),
        MemoryEdit(text="\ud83d"),
    ],
    ids=["blank", "too long", "a long tag", "half a character"],
)
async def test_an_edit_that_a_retain_would_refuse_is_refused(mesh, diary, edit):
    (memory_id,) = await diary.keep(TEXT)
    with pytest.raises(InvalidArgument):
        await mesh.faces.admin.edit_memory(diary.ref, memory_id, edit)
    assert (await mesh.faces.admin.get_memory(diary.ref, memory_id)).text == TEXT
