# ruff: noqa: ARG002 - fakes keep their port's names
"""What goes over the wire between recall and the other parts: ids and scores, told with their bytes and their time."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from loopback import open_loopback

from recallmesh.core.arm import ArmName, ArmQuery, Hit
from recallmesh.core.encoder import RerankerInfo
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit
from recallmesh.recall.stopwatch import Stopwatch
from recallmesh.rpc.arm import RemoteArm, host_arms
from recallmesh.rpc.codec.arm import hits_to_pb, search_to_pb
from recallmesh.rpc.codec.vectors import vector_hits_to_pb
from recallmesh.rpc.request import INSIDE_KEY
from recallmesh.rpc.reranker import RemoteReranker, host_reranker
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.observed import ObservedArm, ObservedReranker
from recallmesh.v1 import arm_service_pb2, arm_service_pb2_grpc, reranker_service_pb2, vector_service_pb2

HITS = tuple(Hit(str(UUID(int=number)), 1 / (number + 1)) for number in range(600))
NOW = datetime(2026, 8, 19, tzinfo=UTC)
WEEK = Window(NOW, NOW + timedelta(days=7))
QUERY = ArmQuery("u", "what did Mira say", vector=(0.1,) * 384)


class Ready:
    """An arm that has its hits at hand."""

    def __init__(self, *hits):
        self.hits = hits

    async def search(self, query):
        return self.hits

    async def scan(self, bank_uid, page):
        return Page((), "")

    async def check(self):
        pass


class Even:
    """A reranker that likes all texts as much."""

    async def info(self):
        return RerankerInfo("even", "even", 512, logits=True)

    async def rerank(self, query, texts):
        return (1.0,) * len(texts)

    async def check(self):
        pass


def watched(channel):
    return ObservedArm(
        RemoteArm(ArmName.KEYWORD, channel), name=ArmName.KEYWORD, timeout_s=5, metrics=Metrics(), at="there"
    )


async def test_a_hop_says_the_very_bytes_of_its_messages_and_how_long_the_part_worked():
    watch = Stopwatch()
    async with open_loopback(host_arms({"keyword": Ready(*HITS)})) as channel:
        with watch.noting():
            await watched(channel).search(QUERY)
    [hop] = watch.hops()
    assert hop.sent == search_to_pb("keyword", QUERY).ByteSize()
    assert hop.received == hits_to_pb(HITS).ByteSize()
    assert hop.inside.total_seconds() > 0
    assert hop.wire.total_seconds() > 0


async def test_a_hop_of_several_messages_is_their_sum():
    watch, texts = Stopwatch(), ("x" * (MESSAGE_BYTES // 3),) * 5
    async with open_loopback(host_reranker(Even())) as channel:
        remote = ObservedReranker(RemoteReranker(channel), timeout_s=20, metrics=Metrics(), at="there")
        with watch.noting():
            assert len(await remote.rerank("q", texts)) == 5
    [hop] = watch.hops()
    assert hop.sent > 5 * len(texts[0]) > MESSAGE_BYTES
    assert hop.received > 5 * 4


async def test_how_long_a_part_worked_is_told_to_the_meshs_own_processes_with_the_calls_id():
    async with open_loopback(host_arms({"keyword": Ready()})) as channel:
        call = arm_service_pb2_grpc.ArmServiceStub(channel).Search(
            search_to_pb("keyword", QUERY), metadata=(("x-request-id", "mine"),)
        )
        await call
        told = dict(await call.trailing_metadata())
    assert told["x-request-id"] == "mine"
    assert int(told[INSIDE_KEY]) > 0


async def test_a_request_above_the_limit_is_refused_before_it_is_sent():
    watch = Stopwatch()
    async with open_loopback(host_arms({"keyword": Ready()})) as channel:
        with watch.noting(), pytest.raises(InvalidArgument, match=str(MESSAGE_BYTES)):
            await watched(channel).search(ArmQuery("u", "x" * (MESSAGE_BYTES + 1)))
    assert [(hop.sent, hop.reason) for hop in watch.hops()] == [(0, "INVALID_ARGUMENT")]


def test_between_arms_and_recall_go_ids_and_scores_and_no_text():
    fields = {field.name for field in arm_service_pb2.SearchResponse.DESCRIPTOR.fields}
    assert fields == {"memory_ids", "scores", "because", "context_cosines"}
    near = {field.name for field in vector_service_pb2.VectorHits.DESCRIPTOR.fields}
    assert near == {"memory_ids", "scores", "fact_types", "starts", "ends"}
    assert {field.name for field in reranker_service_pb2.RerankResponse.DESCRIPTOR.fields} == {"scores"}


BYTES = [
    (hits_to_pb(HITS), 46),  # 36 of an id, 2 that say so, 8 of a score
    (hits_to_pb(tuple(hit._replace(context_cosine=0.5) for hit in HITS)), 54),
    (vector_hits_to_pb(tuple(VectorHit(hit.memory_id, hit.score, FactType.WORLD) for hit in HITS)), 47),
    (
        vector_hits_to_pb(tuple(VectorHit(hit.memory_id, hit.score, FactType.WORLD, WEEK) for hit in HITS)),
        63,
    ),
]


@pytest.mark.parametrize(("message", "most"), BYTES)
def test_a_hit_is_no_more_than_so_many_bytes(message, most):
    assert message.ByteSize() <= most * len(HITS) + 16
