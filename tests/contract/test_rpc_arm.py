# ruff: noqa: ARG002 - fakes keep their port's names
"""An arm reached over the wire is the arm itself."""

import pytest
from loopback import open_loopback

from recallmesh.core.arm import Arm, ArmName, ArmQuery, Hit, Indexed, IndexEntry, Removal
from recallmesh.core.errors import InvalidArgument, PageTokenMismatch, StoreUnavailable, Unimplemented
from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.rpc.arm import RemoteArm, host_arms
from recallmesh.rpc.call import unary
from recallmesh.v1 import arm_service_pb2 as pb
from recallmesh.v1 import arm_service_pb2_grpc


class ShelfArm:
    """Keeps entries on a shelf and remembers what it was asked."""

    def __init__(self):
        self.shelf = {}
        self.asked = []
        self.batches = []
        self.ready = True

    async def search(self, query):
        self.asked.append(query)
        hits = [Hit(memory_id, len(text) / 10, text) for memory_id, text in sorted(self.shelf.items())]
        return tuple(hits[: query.limit])

    async def index(self, bank_uid, entries):
        self.batches.append(entries)
        self.shelf.update({entry.memory_id: entry.text for entry in entries})

    async def remove(self, bank_uid, removals):
        for removal in removals:
            self.shelf.pop(removal.memory_id, None)

    async def drop(self, bank_uid):
        self.shelf.clear()

    async def scan(self, bank_uid, page):
        ids = [memory_id for memory_id in sorted(self.shelf) if memory_id > page.after]
        rows = tuple(Indexed(memory_id, 1) for memory_id in ids[: page.size])
        return Page(rows, rows[-1].memory_id if len(ids) > page.size else "")

    async def check(self):
        if not self.ready:
            raise StoreUnavailable("the shelf fell down")


@pytest.fixture
def shelf():
    return ShelfArm()


@pytest.fixture
async def arm(shelf):
    async with open_loopback(host_arms({ArmName.KEYWORD: shelf, "fifth": ShelfArm()})) as channel:
        remote: Arm = RemoteArm(ArmName.KEYWORD, channel)
        remote.channel = channel
        yield remote


def entries(*texts):
    return tuple(IndexEntry(f"m{n:05}", 1, text, FactType.WORLD) for n, text in enumerate(texts))


async def test_a_search_over_the_wire_gives_what_the_arm_gives(arm, shelf):
    await arm.index("u1", entries("one", "three"))
    query = ArmQuery(
        "u1", "q", vector=(0.25, -0.5), tags=TagLeaf(frozenset({"a"}), TagMode.EXACT), limit=2, min_score=0.0
    )
    assert await arm.search(query) == await shelf.search(query)
    assert shelf.asked == [query, query]


async def test_removed_and_dropped_memories_are_gone(arm, shelf):
    await arm.index("u1", entries("one", "three", "four"))
    await arm.remove("u1", (Removal("m00001", 1),))
    assert list(shelf.shelf) == ["m00000", "m00002"]
    await arm.drop("u1")
    assert shelf.shelf == {}


async def test_a_large_batch_is_split_and_arrives_whole_and_in_order(arm, shelf):
    texts = ["x" * 1_000_000 for _ in range(6)]
    await arm.index("u1", entries(*texts))
    assert len(shelf.batches) > 1
    assert [entry.memory_id for batch in shelf.batches for entry in batch] == [f"m{n:05}" for n in range(6)]


async def test_an_entry_that_fits_no_message_is_refused_with_the_limit(arm, shelf):
    with pytest.raises(InvalidArgument, match=str(MESSAGE_BYTES)):
        await arm.index("u1", entries("x" * (MESSAGE_BYTES + 1)))
    assert shelf.batches == []


async def test_pages_follow_one_another_to_the_end(arm, shelf):
    await arm.index("u1", entries(*"abcde"))
    found, after = [], ""
    while True:
        page = await arm.scan("u1", PageRequest(2, after))
        found.extend(row.memory_id for row in page.rows)
        after = page.next_after
        if not after:
            break
    assert found == sorted(shelf.shelf)


async def listed(arm, **request):
    """Call as a caller of another language does, who goes on from page tokens."""
    stub = arm_service_pb2_grpc.ArmServiceStub(arm.channel)
    return await unary(stub.ListIndexed, lambda: pb.ListIndexedRequest(arm="keyword", **request), timeout_s=5)


async def test_a_page_token_of_another_bank_is_a_mismatch(arm):
    await arm.index("u1", entries(*"abc"))
    token = (await listed(arm, bank_uid="u1", page_size=1)).next_page_token
    assert len((await listed(arm, bank_uid="u1", page_size=1, page_token=token)).rows) == 1
    with pytest.raises(PageTokenMismatch):
        await listed(arm, bank_uid="u2", page_size=1, page_token=token)


@pytest.mark.parametrize("token", ["m00001", "é", "x" * 5000, "AAAA", "\x00"])
async def test_a_page_token_that_is_none_is_refused(arm, token):
    with pytest.raises(InvalidArgument, match="page_token"):
        await listed(arm, bank_uid="u1", page_size=1, page_token=token)


async def test_an_arm_that_is_not_hosted_is_unimplemented(arm):
    with pytest.raises(Unimplemented, match="fifth, keyword"):
        await RemoteArm(ArmName.GRAPH, arm.channel).search(ArmQuery("u1", "q"))


async def test_a_fifth_arm_joins_by_name(arm):
    assert await RemoteArm("fifth", arm.channel).search(ArmQuery("u1", "q")) == ()


async def test_a_search_without_a_bank_is_refused(arm):
    with pytest.raises(InvalidArgument, match="bank_uid"):
        await arm.search(ArmQuery("", "q"))


async def test_a_lone_surrogate_is_refused_before_it_is_sent(arm, shelf):
    with pytest.raises(InvalidArgument, match="Unicode"):
        await arm.search(ArmQuery("u1", "\ud800"))
    with pytest.raises(InvalidArgument, match="Unicode"):
        await arm.index("u1", entries("\ud800"))
    assert shelf.asked == []


async def test_a_number_too_large_for_its_field_is_refused(arm):
    with pytest.raises(InvalidArgument, match="too large"):
        await arm.search(ArmQuery("u1", "q", limit=2**40))
