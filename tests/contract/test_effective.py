"""What is in force for a bank is told alike in process and over the wire."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from contract.test_recaller import a_mesh, open_local, open_remote, told
from hypothesis import given
from hypothesis import strategies as st
from unit.recall_fakes import REF, Mesh
from unit.tuning_values import sayings, tuning_of

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import Bank, BankConfig, BankRef
from recallmesh.core.errors import BankNotFound, InvalidArgument
from recallmesh.core.recall import Recaller, RecallRequest
from recallmesh.core.tunable import TUNABLES
from recallmesh.core.tuning import Budget, EffectiveTuning, MinScores, RecallTuning, TuningOrigin
from recallmesh.recall.plan import RecallDefaults
from recallmesh.rpc.codec.tuning import effective_from_pb, effective_to_pb, tuning_from_pb, tuning_to_pb
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.observed import ObservedRecaller
from recallmesh.v1 import recall_service_pb2

SAID = RecallTuning(
    arms=frozenset({ArmName.KEYWORD}), rerank_limit=7, min_scores=MinScores(final=0.1), budget_hits={Budget.LOW: 3}
)
ASKED = RecallTuning(rerank_limit=0, arms=frozenset(), budget_hits={Budget.MID: 4}, boosts={})


def of_bank(tuning: RecallTuning, **parts) -> Mesh:
    mesh = a_mesh()
    mesh.ledger.bank = Bank(REF, "uid", mesh.ledger.bank.created, config=BankConfig(tuning))
    for name, part in parts.items():
        setattr(mesh, name, part)
    return mesh


@asynccontextmanager
async def open_observed(mesh: Mesh) -> AsyncIterator[Recaller]:
    async with open_remote(mesh) as recaller:
        yield ObservedRecaller(recaller, timeout_s=5.0, metrics=Metrics())


OPENERS = {"local": open_local, "remote": open_observed}


@pytest.fixture(params=OPENERS)
def opener(request):
    return OPENERS[request.param]


async def test_a_tuning_in_force_names_the_origin_of_each_value(opener):
    mesh = of_bank(SAID, defaults=RecallDefaults(rrf_k=33, budget_hits=dict.fromkeys(Budget, 11)))
    async with opener(mesh) as recaller:
        shown = await recaller.resolve_tuning(REF, ASKED)
    by = {path: origin for path, origin in shown.origins.items() if origin is not TuningOrigin.SERVICE}
    assert by == {
        "arms": TuningOrigin.REQUEST,
        "boosts": TuningOrigin.REQUEST,
        "rerank_limit": TuningOrigin.REQUEST,
        "min_scores.final": TuningOrigin.BANK,
        "budget_hits.low": TuningOrigin.BANK,
        "budget_hits.mid": TuningOrigin.REQUEST,
    }
    assert shown.origins.keys() == {one.path for one in TUNABLES}
    tuning = shown.tuning
    assert (tuning.arms, tuning.boosts, tuning.rerank_limit, tuning.rrf_k) == (frozenset(), {}, 0, 33)
    assert tuning.min_scores == MinScores(final=0.1)
    assert tuning.budget_hits == {Budget.LOW: 3, Budget.MID: 4, Budget.HIGH: 11}
    assert [arm.queries for arm in mesh.arms.values()] == [[], [], [], []]
    assert mesh.embedder.calls == 0


async def test_what_is_told_to_be_in_force_is_what_a_recall_works_with(opener):
    mesh = of_bank(SAID)
    asked = RecallTuning(unnamed_odds=0.5, budget_shares={Budget.HIGH: 0.125})
    async with opener(mesh) as recaller:
        shown = await recaller.resolve_tuning(REF, asked)
        answer = await recaller.recall(RecallRequest(REF, "what happened", tuning=asked, trace=True))
    assert shown.tuning == answer.trace.tuning


@pytest.mark.parametrize(
    ("error", "bank", "tuning"),
    [
        (BankNotFound, BankRef("nobody"), RecallTuning()),
        (InvalidArgument, REF, RecallTuning(rerank_limit=-1, min_scores=MinScores(final=2.0))),
        (InvalidArgument, REF, RecallTuning(budget_hits={Budget.LOW: 0}, recency_half_life_days=0.0)),
    ],
    ids=["no bank", "out of range", "an entry out of range"],
)
async def test_what_is_refused_is_refused_alike(error, bank, tuning):
    said = []
    for opener in OPENERS.values():
        async with opener(of_bank(SAID)) as recaller:
            with pytest.raises(error) as caught:
                await recaller.resolve_tuning(bank, tuning)
        said.append(told(caught.value))
    assert said[0] == said[1]


@given(sayings())
def test_a_tuning_survives_the_round_trip(said):
    tuning = tuning_of(said)
    assert tuning_from_pb(tuning_to_pb(tuning), "tuning", door=True) == tuning


@given(sayings(), st.dictionaries(st.sampled_from([one.path for one in TUNABLES]), st.sampled_from(TuningOrigin)))
def test_a_tuning_in_force_survives_the_round_trip(said, origins):
    shown = EffectiveTuning(tuning_of(said), origins)
    assert effective_from_pb(effective_to_pb(shown)) == shown


def test_what_a_newer_service_tells_is_left_out():
    message = recall_service_pb2.ResolveTuningResponse(origins={"rerank_limit": 2, "flux": 1, "rrf_k": 99})
    assert effective_from_pb(message).origins == {"rerank_limit": TuningOrigin.BANK, "rrf_k": TuningOrigin.SERVICE}
