"""The three strategies on one small graph, where each has an order of its own; and the scores of all on any graph."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallmesh.core.memory import FactType
from recallmesh.graph.activation import DECAY, activate
from recallmesh.graph.expansion import expand, score_reached
from recallmesh.graph.neighbourhood import Neighbourhood, Seeds, reach, two_hops
from recallmesh.graph.score import entity_score, graph_score
from recallmesh.graph.seeding import NEAR, SEED_FLOOR
from recallmesh.graph.store import Edge, LinkKind
from recallmesh.graph.walks import K, walk

SEMANTIC, CAUSAL, TEMPORAL = LinkKind.SEMANTIC, LinkKind.CAUSAL, LinkKind.TEMPORAL


def edge(source, target, kind=SEMANTIC, weight=1.0, *, from_cause=False):
    return Edge(source, target, FactType.WORLD, kind, weight, from_cause)


def graph(*edges, near=None, names=None, shared=None, origins=None, base=0.0):
    """Make a neighbourhood of edges; ``near`` are the cosines of the seeds, of which all are origins unless told."""
    near, names = near or {}, names or {}
    everyone = {*near, *names, *(shared or {}), *(e.target_id for e in edges)}
    seeds = Seeds(
        dict.fromkeys((*near, *names), FactType.WORLD), near, names, dict.fromkeys(FactType, base if near else 0.0)
    )
    return Neighbourhood(
        seeds=seeds,
        origins=dict.fromkeys(near, 1.0) if origins is None else origins,
        edges=edges,
        shared={m: frozenset(held) for m, held in (shared or {}).items()},
        types=dict.fromkeys(everyone, FactType.WORLD),
        labels={},
        rarities={},
        spread=0.0,
    )


def rows(ranking):
    return {memory_id: -score for score, memory_id in ranking.rows}


def ids(ranking):
    return [memory_id for _, memory_id in ranking.rows]


# One graph: a near seed S and a far one T. S is like A, both S and T are like B, C caused S, D is like A (two hops), E
# shares two entities, and H shares one and is like one of T's. T is like many more.
CROWD = [f"t{n}" for n in range(6)]
SMALL = graph(
    edge("S", "A", weight=0.95),
    edge("S", "B", weight=0.8),
    edge("T", "B", weight=0.8),
    edge("S", "C", CAUSAL, weight=0.9, from_cause=True),
    edge("A", "D", weight=0.9),
    *(edge("T", name, weight=0.75) for name in CROWD),
    near={"S": 0.9, "T": 0.5},
    base=0.5,
    shared={"E": {"e1", "e2"}, "D": {"e1"}},
)


def test_link_expansion_puts_the_seeds_first_and_then_adds_up_what_ties_each_memory():
    seeds, reached = expand(SMALL)
    assert rows(seeds) == pytest.approx({"S": SEED_FLOOR + 0.9, "T": SEED_FLOOR + 0.5})
    assert rows(reached) == pytest.approx(
        {
            "D": math.tanh(0.5) + 0.95 * 0.9,
            "A": 0.95,
            "C": 0.9,
            "B": 0.8,  # of two links of one kind the best counts
            "E": math.tanh(1.0),
            **dict.fromkeys(CROWD, 0.75),
        },
        abs=1e-6,
    )
    assert ids(reached) == ["D", "A", "C", "B", "E", *CROWD]


def test_spreading_activation_favours_what_several_seeds_reach_and_thins_out_at_busy_ones():
    order, found = ids(activate(SMALL)), rows(activate(SMALL))
    # S holds 1, T next to nothing; each gives half of the weight, divided by the root of its links.
    assert found["A"] == pytest.approx(DECAY * 0.95 / math.sqrt(3), abs=1e-5)
    assert found["B"] == pytest.approx(DECAY * 0.8 / math.sqrt(3), abs=1e-5)
    assert found["D"] == pytest.approx(DECAY * 0.9 * found["A"] + DECAY * entity_score(1), abs=1e-5)
    assert order.index("B") < order.index("t0")
    assert order[0] == "S"
    both = rows(
        activate(graph(edge("S", "B"), edge("T", "B"), edge("S", "A"), edge("T", "C"), near={"S": 0.9, "T": 0.9}))
    )
    assert both["B"] == pytest.approx(both["A"] + both["C"])


def test_walks_give_every_pattern_a_vote():
    found = rows(walk(SMALL))
    # Each is the first of its kind: seeds, what is like them, what they caused, what shares entities with them.
    assert found["S"] == found["C"] == found["E"] == found["A"] == pytest.approx(1 / (K + 1))
    assert found["D"] == pytest.approx(1 / (K + 1) + 1 / (K + 2))
    assert found["B"] == pytest.approx(1 / (K + 2))
    assert ids(walk(SMALL))[0] == "D"


def test_the_three_orders_differ():
    seeds, reached = expand(SMALL)
    orders = [[*ids(seeds), *ids(reached)], ids(activate(SMALL)), ids(walk(SMALL))]
    assert all(one != other for place, one in enumerate(orders) for other in orders[:place])
    assert all(sorted(order) == sorted(SMALL.types) for order in orders)


def test_without_vectors_all_start_from_what_is_named():
    around = graph(edge("S", "A", weight=0.9), names={"S": ("e1",)}, origins={"S": entity_score(1)})
    seeds, reached = expand(around)
    assert seeds.rows == []
    assert rows(reached) == pytest.approx({"S": entity_score(1), "A": 0.9 * entity_score(1)})
    assert ids(activate(around)) == ["S", "A"]
    # Each is the first of one pattern.
    assert rows(walk(around)) == pytest.approx({"S": 1 / (K + 1), "A": 1 / (K + 1)})


def test_every_memory_says_why_it_is_there():
    seeds, reached = expand(SMALL)
    assert [
        ranking.because(m) if m in ranking.told else ranking.plain for ranking, m in ((seeds, "S"), (reached, "C"))
    ] == [
        NEAR,
        "caused by S",
    ]
    for strategy in (activate, walk):
        ranking = strategy(SMALL)
        said = {m: ranking.because(m) if m in ranking.told else ranking.plain for m in ids(ranking)}
        assert said["S"] == NEAR
        assert said["D"] == "shares e1 with the seeds; like A"


# Links


def test_a_second_hop_counts_as_the_product_of_both_and_a_third_is_not_made():
    around = graph(edge("S", "A", weight=0.8), edge("A", "B", weight=0.9), edge("B", "C", weight=1.0), near={"S": 0.9})
    found = two_hops(around.edges, around.origins)
    assert {m: r.weight(SEMANTIC) for m, r in found.items()} == pytest.approx({"A": 0.8, "B": 0.72})


def test_a_second_hop_of_another_kind_keeps_its_kind_and_the_better_way_counts():
    found = two_hops((edge("S", "A", CAUSAL, 0.5), edge("A", "B", weight=0.8), edge("S", "B", weight=0.7)), {"S": 1.0})
    assert found["B"].weight(SEMANTIC) == pytest.approx(0.7)
    assert found["B"].weight(CAUSAL) == 0.0
    assert found["B"].phrase == "like S"


def test_what_lies_beside_is_followed_once():
    found = two_hops((edge("S", "A", TEMPORAL), edge("A", "B", TEMPORAL), edge("A", "C", weight=0.9)), {"S": 1.0})
    assert set(found) == {"A"}


def test_causes_are_followed_both_ways_and_said_apart():
    found = reach((edge("S", "effect", CAUSAL, from_cause=True), edge("S", "cause", CAUSAL)), {"S": 1.0})
    assert found["effect"].phrase == "caused by S"
    assert found["cause"].phrase == "cause of S"


def test_a_circle_of_links_ends():
    circle = graph(edge("S", "A", weight=0.9), edge("A", "S", weight=0.9), near={"S": 0.9})
    for strategy in (lambda around: expand(around)[1], activate, walk):
        assert all(math.isfinite(score) for score, _ in strategy(circle).rows)
    assert rows(expand(circle)[1]) == pytest.approx({"A": 0.9})


# Scores

NAMES = [f"m{n}" for n in range(8)]
weights = st.floats(0.7, 1.0) | st.floats(0.0, 1.0)
edges = st.lists(
    st.builds(
        edge,
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.sampled_from(LinkKind),
        weights,
        from_cause=st.booleans(),
    ),
    max_size=30,
)
shares = st.dictionaries(st.sampled_from(NAMES), st.sets(st.sampled_from(["e1", "e2", "e3"])))
nearness = st.dictionaries(st.sampled_from(NAMES[:4]), st.floats(-1, 1))


@given(edges, shares, nearness)
def test_whatever_the_graph_scores_stay_in_their_ranges_and_ranks_are_total(held, shared, near):
    around = graph(*held, shared=shared, near=near, base=min(near.values(), default=0.0))
    seeds, reached = expand(around)
    assert all(SEED_FLOOR <= -score <= SEED_FLOOR + 1 for score, _ in seeds.rows)
    assert all(0 < -score <= 3 for score, _ in reached.rows)
    assert not set(ids(seeds)) & set(ids(reached))
    assert all(0 < -score <= 3 for score, _ in activate(around).rows)
    for ranking in (seeds, reached, activate(around), walk(around)):
        assert ranking.rows == sorted(ranking.rows)
        assert len(set(ids(ranking))) == len(ranking.rows)


@given(st.integers(0, 50), st.just(0.0) | st.floats(0.7, 1), st.floats(0, 1))
def test_the_graph_score_is_what_the_three_ties_add_up_to(shared, semantic, causal):
    score = graph_score(shared, semantic, causal)
    assert score == pytest.approx(math.tanh(0.5 * shared) + semantic + causal, abs=1e-9)
    assert 0 <= score <= 3
    assert graph_score(shared + 1, semantic, causal) >= score


@given(edges, shares)
def test_what_is_reached_scores_the_sum_of_its_entities_and_its_best_link_of_each_kind(held, shared):
    direct = tuple(e for e in held if e.source_id == "m0" and e.target_id != "m0")
    around = graph(*direct, shared=shared, near={"m0": 0.9})
    expected = {}
    for name in set(around.types) - {"m0"}:
        best = {
            kind: max((e.weight for e in direct if e.target_id == name and e.kind is kind), default=0.0)
            for kind in LinkKind
        }
        expected[name] = graph_score(len(shared.get(name, ())), best[SEMANTIC], best[CAUSAL])
    found = rows(score_reached(around, leave_out={"m0"}))
    assert found == pytest.approx({name: score for name, score in expected.items() if score > 0}, abs=1e-6)
