"""The bench that tells where each point comes from."""

from dataclasses import fields

import pytest

from bench.ablation import ABLATION, BARE, COMPARED, WAVES, WHOLE, Trial, compared, interval
from bench.measure import Quality
from bench.remembering import RememberingReranker
from recallmesh.core.arm import ArmName
from recallmesh.core.tuning import RecallTuning
from recallmesh.recall.standing import Factors, Priors


def trial(share: float, read: int = 100) -> Trial:
    return Trial(Quality(*[share] * len(fields(Quality))), read)


def test_every_arm_prior_and_boost_is_taken_out_once():
    assert {f"no {arm} arm" for arm in ArmName} <= ABLATION.keys()
    assert {f"no {name} prior" for name in Priors._fields} <= ABLATION.keys()
    # LoCoMo has no observations and favours no arm: nothing to measure.
    assert set(Factors._fields) == {"recency", "temporal", "proof", "strategy"}
    assert ABLATION["no reranker"].reranking is False
    assert len({repr(tuning) for tuning in (*ABLATION.values(), *WAVES.values())}) == len(ABLATION) + len(WAVES)
    assert RecallTuning() not in (*ABLATION.values(), *WAVES.values())


def test_the_reading_alone_has_nothing_beside_it():
    weights = [name for name in (one.name for one in fields(RecallTuning)) if name.endswith("_weight")]
    assert {getattr(BARE, name) for name in weights} == {0.0}


def test_a_setting_is_compared_question_by_question():
    table = compared({WHOLE: [trial(0.5), trial(1.0)], "other": [trial(0.25, 50), trial(1.0, 51)]})
    assert table[WHOLE]["recall_20"] == 0.75
    assert "recall_20_difference" not in table[WHOLE]
    other = table["other"]
    assert (other["read"], other["recall_20"], other["recall_20_difference"]) == (50.5, 0.625, -0.125)
    assert other["recall_20_interval"] == [-0.25, 0.0]
    assert set(COMPARED) <= other.keys()


def test_no_difference_has_no_interval():
    assert interval([0.0, 0.0], []) == [0.0, 0.0]


@pytest.mark.parametrize("texts", [("a", "b", "a"), ("b", "c")])
async def test_what_was_read_is_not_read_again(texts):
    class Counting:
        def __init__(self) -> None:
            self.read = []

        async def rerank(self, query, texts):
            self.read += [(query, text) for text in texts]
            return tuple(float(ord(text)) for text in texts)

    counting = Counting()
    here = RememberingReranker(counting)
    for _ in range(3):
        assert await here.rerank("q", texts) == tuple(float(ord(text)) for text in texts)
    assert sorted(counting.read) == sorted({("q", text) for text in texts})
    await here.rerank("other", texts[:1])
    assert len(counting.read) == len(set(texts)) + 1
