"""What a retain returned for is found at once, by each arm alone (case 45)."""

from datetime import timedelta

import pytest
from deployment import NOW

from recallmesh.core.arm import ArmName
from recallmesh.core.retain import RetainItem
from recallmesh.core.time import Window

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

PEOPLE = ("Ida Brandt", "Rune Iversen", "Samira Holm", "Tiago Lopes", "Wen Zhou")
THINGS = ("a parcel", "the blue bicycle", "two tickets", "his umbrella", "a broken lamp", "the spare key", "old maps")


async def test_each_arm_alone_finds_what_was_just_retained(mesh, diary):
    rounds = 100 if mesh.in_process else 20
    missing = []
    for number in range(rounds):
        who, what = PEOPLE[number % len(PEOPLE)], THINGS[number % len(THINGS)]
        moment = NOW - timedelta(days=number)
        text = f"{who} left {what} with the tag KX-{4000 + number} at gate {number}."
        answer = await diary.retain(RetainItem((text,), time=moment), mode=None)
        (wanted,) = answer.items[0].memory_ids
        for arm in ArmName:
            window = Window(moment, moment) if arm is ArmName.TEMPORAL else None
            found = await diary.ask(text, arm, reranking=False, window=window, limit=5)
            if wanted not in [one.memory.id for one in found.memories]:
                missing.append((number, arm))
    assert missing == []
