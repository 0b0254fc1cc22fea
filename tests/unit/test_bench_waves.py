"""The bench that tells every setting of the waves from one run."""

from unit.recall_fakes import memory

from bench.waves import Asked, Setting, asked_of, figures, outcome
from recallmesh.core.recall import Outcome, Scores, TraceCandidate

MEMORIES = tuple(memory(number) for number in range(40))
FALLING = tuple(-float(number) for number in range(30))


def asked(*evidence: int, raw: tuple[float, ...] = FALLING) -> Asked:
    return Asked(MEMORIES, raw, (0.0,) * len(raw), frozenset(MEMORIES[number].id for number in evidence))


def test_at_once_the_cap_is_read_and_what_lies_beyond_follows() -> None:
    one = outcome(asked(5, 35), Setting(30))
    assert (one.read, one.recall_10, one.recall_20, one.reciprocal) == (30, 0.5, 0.5, 1 / 6)
    assert one.share == 30 / 40


def test_waves_end_where_it_is_sure() -> None:
    assert outcome(asked(5), Setting(30, 4, 2)).read == 8
    assert outcome(asked(5), Setting(30, 4, 2, margin=20.0)).read == 28
    assert outcome(asked(5), Setting(30, 4, 0, max_tokens=50)).read == 12


def test_what_was_not_read_keeps_its_fused_place() -> None:
    late = (*FALLING[:20], 9.0, *FALLING[21:])
    assert outcome(asked(20, raw=late), Setting(30)).reciprocal == 1.0
    assert outcome(asked(20, raw=late), Setting(30, 4, 2)).reciprocal == 1 / 21


def test_a_trace_tells_what_was_known_beside_the_reading() -> None:
    scores = Scores(0.1, 0.5, 0.5, reranker_raw=1.5, fusion_prior=0.5, recency_boost=1.1)
    rows = [
        TraceCandidate("b", "", Outcome.PACKED, 2, scores=Scores(0.1, 0.1, 0.1), tokens=4),
        TraceCandidate("a", "", Outcome.PACKED, 1, scores=scores, tokens=3, reranked=True),
        TraceCandidate("c", "", Outcome.TAG, 3),
    ]
    found = asked_of(rows, frozenset("a"))
    assert [(each.id, each.tokens) for each in found.memories] == [("a", 3), ("b", 4)]
    assert found.raw == (1.5,)
    assert len(found.known) == 1
    assert abs(found.known[0] - (-0.693147 + 2 * 0.0953102)) < 1e-6


def test_the_figures_of_a_setting_are_means_but_for_the_tenth_that_reads_most() -> None:
    rows = [outcome(asked(5), Setting(cap)) for cap in (10, 20, 30)]
    assert figures(rows)[0] == 20
    assert figures(rows)[1] >= 30
    assert figures(rows[:1])[1] == 10
