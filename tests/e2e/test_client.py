"""The client against a whole mesh, in this process and served, awaited and not."""

from functools import partial
from typing import get_type_hints
from uuid import uuid4

import pytest

from recallmesh.client import open_blocking, open_client, rows, within
from recallmesh.client.options import RecallOptions, RetainOptions
from recallmesh.core.bank import BankConfig, ExtractionMode
from recallmesh.core.errors import ArmTimeout, BankExists, BankNotFound
from recallmesh.core.recall import RecallRequest, RecallStage
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.core.tuning import Budget
from recallmesh.mesh import open_embedded
from recallmesh.settings import load_settings


@pytest.mark.timeout(600)
@pytest.mark.asyncio(loop_scope="session")
async def test_a_bank_is_worked_with_by_its_own_words(mesh):
    bank = mesh.faces.bank(f"client-{uuid4().hex[:8]}")
    assert (await bank.create(name="of a client")).name == "of a client"
    assert (await bank.ensure()).name == "of a client"
    with pytest.raises(BankExists):
        await bank.create()
    item = RetainItem(("Ines painted the boat Alca.",), document_id="boats")
    kept = await bank.retain("Ottar keeps the lighthouse.", item, mode=ExtractionMode.CHUNKS, request_id="r")
    assert kept.memory_count == 2
    assert (await bank.retain("Ottar keeps the lighthouse.", item, mode=ExtractionMode.CHUNKS, request_id="r")).replayed
    answer = await bank.recall("Who keeps the lighthouse?", budget=Budget.LOW, trace=True)
    assert answer.memories[0].memory.text == "Ottar keeps the lighthouse."
    assert len(answer.trace.candidates) == 2
    stages = [progress.stage async for progress in bank.recall_stream("Who keeps the lighthouse?")]
    assert stages[-1:] == [RecallStage.FINAL]
    assert (await bank.load(["Nadia bakes."] * 3, batch_size=2, mode=ExtractionMode.CHUNKS)).memories == 3
    documents = [one.id async for one in rows(partial(mesh.faces.admin.list_documents, bank.ref), page_size=2)]
    assert (len(documents), len(set(documents))) == (5, 5)
    assert "boats" in documents
    assert await bank.forget("boats") == 1
    with pytest.raises(ArmTimeout), within(0.0):
        await bank.recall("Who is late?")
    await bank.delete()
    with pytest.raises(BankNotFound):
        await bank.recall("Who is there?")
    assert (await bank.ensure()).config == BankConfig()
    await bank.delete()


def test_who_does_not_await_asks_the_same_client_by_a_loop_in_a_thread(tmp_path):
    with open_blocking(open_embedded(load_settings(data=tmp_path))) as (mesh, wait):
        bank = mesh.bank("diary")
        wait(bank.create())
        assert wait(bank.retain("Ottar keeps the lighthouse.", mode=ExtractionMode.CHUNKS)).memory_count == 1
        assert wait(bank.recall("lighthouse")).memories[0].memory.text == "Ottar keeps the lighthouse."
        assert [one.stage.value for one in wait.each(bank.recall_stream("lighthouse"))][-1] == "final"
        # What is left early is ended, and nothing of it stays behind.
        left = wait.each(bank.recall_stream("lighthouse"))
        next(left)
        left.close()
        with pytest.raises(ArmTimeout):
            wait(bank.recall("lighthouse"), within_s=0.0)
        with pytest.raises(BankNotFound):
            wait(mesh.bank("nobody").recall("x"))
        assert wait(bank.load("Fact." for _ in range(3))).items == 3


def test_what_cannot_be_opened_says_so_to_who_does_not_await():
    with pytest.raises(Exception, match="no host:port"), open_blocking(open_client("nowhere")):
        pass


@pytest.mark.parametrize(
    ("options", "request_type", "given"),
    [(RecallOptions, RecallRequest, {"bank", "query"}), (RetainOptions, RetainRequest, {"bank", "items"})],
)
def test_the_options_are_the_fields_of_the_requests(options, request_type, given):
    fields = get_type_hints(request_type)
    assert get_type_hints(options) == {name: hint for name, hint in fields.items() if name not in given}
