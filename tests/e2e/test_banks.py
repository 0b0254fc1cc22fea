"""Banks are made, listed, changed and counted the same way wherever administration runs."""

import pytest
from deployment import every

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import DEFAULT_TENANT, BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.errors import BankExists, BankNotFound, ConflictingWrite, InvalidArgument, PageTokenMismatch
from recallmesh.core.page import PageRequest
from recallmesh.core.recall import PartState
from recallmesh.core.tuning import Budget, RecallTuning, TuningOrigin

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]


async def test_a_bank_is_made_once_and_found(mesh, diary):
    bank = await mesh.faces.admin.get_bank(diary.ref)
    assert (bank.ref, bank.version) == (diary.ref, 1)
    with pytest.raises(BankExists):
        await mesh.faces.admin.create_bank(diary.ref)


@pytest.mark.parametrize("bank_id", ["", "a/b", "-x", "x" * 129, "a b", "naïve"])
async def test_a_bad_bank_id_is_refused(mesh, bank_id):
    with pytest.raises(InvalidArgument, match="bank_id"):
        await mesh.faces.admin.create_bank(BankRef(bank_id))


async def test_banks_are_listed_by_id_page_by_page(mesh):
    made = sorted([(await mesh.diary()).ref.bank_id for _ in range(5)])
    listed = await every(lambda page: mesh.faces.admin.list_banks(DEFAULT_TENANT, page), size=2)
    ids = [bank.ref.bank_id for bank in listed]
    assert ids == sorted(set(ids))
    assert [one for one in ids if one in made] == made


async def test_a_page_token_is_bound_to_its_list(mesh, diary):
    if mesh.in_process:
        pytest.skip("in process the key to go on from is a plain one")
    other = await mesh.diary()
    for one in (diary, other):
        await one.keep("First shelf.", "Second shelf.", "Third shelf.")
    page = await mesh.faces.admin.list_documents(diary.ref, PageRequest(1))
    with pytest.raises(PageTokenMismatch):
        await mesh.faces.admin.list_documents(other.ref, PageRequest(1, page.next_after))


async def test_an_update_with_an_old_version_is_a_conflict(mesh, diary):
    admin = mesh.faces.admin
    changed = await admin.update_bank(diary.ref, name="Diary", version=1)
    assert (changed.name, changed.version) == ("Diary", 2)
    with pytest.raises(ConflictingWrite):
        await admin.update_bank(diary.ref, name="Mine", version=1)
    assert (await admin.get_bank(diary.ref)).name == "Diary"


async def test_a_banks_configuration_shapes_retain_and_recall(mesh):
    config = BankConfig(
        recall=RecallTuning(arms=frozenset({ArmName.KEYWORD}), reranking=False),
        retain=RetainTuning(mode=ExtractionMode.CHUNKS),
    )
    diary = await mesh.diary(config)
    assert (await mesh.faces.admin.get_bank(diary.ref)).config == config
    text = "Well, hello there.\nThe sauna is heated on Saturdays."
    await diary.keep(text, mode=None)
    answer = await diary.ask("sauna")
    assert [one.memory.text for one in answer.memories] == [text]
    asked = {report.arm for report in answer.arms if report.state is PartState.OK}
    assert asked == {ArmName.KEYWORD}
    assert {model.part: model.state for model in answer.models}["reranker"] is PartState.DISABLED


async def test_what_is_in_force_for_a_bank_is_told_with_who_said_it(mesh):
    diary = await mesh.diary(BankConfig(recall=RecallTuning(rerank_limit=9, budget_hits={Budget.LOW: 5})))
    shown = await mesh.faces.recaller.resolve_tuning(diary.ref, RecallTuning(rrf_k=30))
    said = {path: origin for path, origin in shown.origins.items() if origin is not TuningOrigin.SERVICE}
    assert said == {
        "rerank_limit": TuningOrigin.BANK,
        "budget_hits.low": TuningOrigin.BANK,
        "rrf_k": TuningOrigin.REQUEST,
    }
    assert (shown.tuning.rerank_limit, shown.tuning.rrf_k) == (9, 30)
    assert shown.tuning.budget_hits == {Budget.LOW: 5, Budget.MID: 300, Budget.HIGH: 1000}
    with pytest.raises(BankNotFound):
        await mesh.faces.recaller.resolve_tuning(BankRef("nobody"), RecallTuning())


async def test_a_value_out_of_its_range_is_refused_by_its_whole_name(mesh, diary):
    bad = RecallTuning(budget_hits={Budget.LOW: 0})
    with pytest.raises(InvalidArgument, match=r"^config\.recall\.budget_hits\.low: must be in \[1, 2000\]$"):
        await mesh.faces.admin.update_bank(diary.ref, config=BankConfig(recall=bad))
    with pytest.raises(InvalidArgument, match=r"^tuning\.budget_hits\.low: must be in \[1, 2000\]$"):
        await diary.ask("weir", tuning=bad)
