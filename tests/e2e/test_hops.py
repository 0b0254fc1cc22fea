"""A trace tells of every call of recall where it went, and what of it went over a wire."""

import pytest

ELSEWHERE = ("embedder", "semantic", "keyword", "graph", "reranker")
ALONE = ("one_process", "one_server")

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(180)]


async def test_every_call_is_told_with_its_bytes_and_in_one_process_there_are_none(mesh, diary):
    await diary.keep("The heron nests on the weir.", "Otters use the weir as a slide.")
    answer = await diary.ask("Who nests on the weir?", reranking=True, trace=True)
    hops = answer.trace.hops
    assert {"embedder", "semantic", "keyword", "graph", "reranker", "ledger"} <= {hop.part for hop in hops}
    assert [hop.start for hop in hops] == sorted(hop.start for hop in hops)
    assert not any(hop.reason for hop in hops)
    parts = [hop for hop in hops if hop.part in ELSEWHERE]
    if mesh.kind in ALONE:
        assert not any(hop.there for hop in parts)
        assert {(hop.sent, hop.received) for hop in parts} == {(0, 0)}
        assert all(hop.inside == hop.duration for hop in parts)
    else:
        assert all(hop.there and hop.received for hop in parts)  # what asks a model what it is, says nothing
        assert all(hop.sent for hop in parts if hop.method != "info")
        assert all(hop.inside <= hop.duration and hop.wire for hop in parts)


async def test_without_a_trace_there_are_no_hops_and_the_answer_is_the_same(diary):
    await diary.keep("The heron nests on the weir.")
    plain = await diary.ask("Who nests on the weir?", reranking=False)
    traced = await diary.ask("Who nests on the weir?", reranking=False, trace=True)
    assert plain.trace is None
    assert [one.memory for one in plain.memories] == [one.memory for one in traced.memories]
