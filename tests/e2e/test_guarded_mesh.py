"""Nine processes that ask who calls: callers by their keys, each other by the mesh's, and nobody without one."""

import pytest
from deployment import NOW, Diary, open_nine, until
from key_rows import row_of

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.credential import bearing
from recallmesh.core.errors import BankNotFound, Forbidden, Unauthenticated
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.memory import FactType
from recallmesh.core.operation import OperationState
from recallmesh.core.recall import PartState, RecallRequest
from recallmesh.core.retain import DeliveryState, RetainItem
from recallmesh.identity.api_key import hash_of, new_key
from recallmesh.identity.key_edit import with_key
from recallmesh.identity.key_store import change_keys
from recallmesh.mesh import Part
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.embedder import RemoteEmbedder

pytestmark = pytest.mark.timeout(600)

ALL = ("recall", "retain", "admin")
REF = BankRef("diary")
OBSERVATIONS = MemoryFilter(fact_types=(FactType.OBSERVATION,))


async def test_nine_processes_know_each_other_and_serve_who_has_a_key(tmp_path):
    keys = {}
    for name, tenant, rights in (("owner", "acme", ALL), ("reader", "acme", ("recall",)), ("other", "umbrella", ALL)):
        key_id, keys[name] = new_key()
        row = row_of(key_id, hash_of(keys[name]), name=name, tenant=tenant, rights=rights)
        change_keys(tmp_path / "keys.json", lambda file, one=row: with_key(file, one))
    auth = {
        "RECALLMESH_AUTH__MODE": "on",
        "RECALLMESH_AUTH__KEYS": str(tmp_path / "keys.json"),
        "RECALLMESH_AUTH__MESH_KEY": "m" * 40,
    }
    async with open_nine(tmp_path, auth) as mesh:
        with pytest.raises(Unauthenticated):
            await mesh.faces.admin.create_bank(REF)
        with bearing(keys["owner"]):
            await mesh.faces.admin.create_bank(REF)
            diary = Diary(mesh.faces, REF)
            await diary.keep("Mira moved to Bergen.", "Mira moved to Bergen in May for a new job.")
            answer = await diary.ask("Where did Mira move?")
            assert {one.arm: one.state for one in answer.arms if one.arm is not ArmName.TEMPORAL} == dict.fromkeys(
                (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH), PartState.OK
            )
            assert answer.memories[0].scores.reranker_raw is not None
            await work_goes_on_without_a_caller(mesh, diary)
            async with open_channel(mesh.processes[Part.EMBEDDER].address) as channel:
                # What takes the mesh's key alone knows no caller's.
                with pytest.raises(Unauthenticated):
                    await RemoteEmbedder(channel).info()
        with bearing(keys["reader"]):
            assert await diary.words("Bergen")
            with pytest.raises(Forbidden):
                await diary.keep("Mine now.")
        with bearing(keys["other"]), pytest.raises(BankNotFound):
            await mesh.faces.recaller.recall(RecallRequest(REF, "Bergen"))
        for name, said in mesh.logs():
            assert not [key for key in (*keys.values(), "m" * 40) if key in said], name


async def work_goes_on_without_a_caller(mesh, diary):
    """Consolidation, and what an arm missed, are done by processes on their own."""
    operation = await mesh.faces.admin.consolidate(REF)
    last = [seen async for seen in mesh.faces.admin.watch_operation(REF, operation.id)][-1]
    assert (last.state, last.error) == (OperationState.SUCCEEDED, "")
    assert [one.proof_count for one in await diary.memories(OBSERVATIONS)] == [2]
    keyword = mesh.processes[Part.KEYWORD]
    keyword.kill()
    answer = await diary.retain(RetainItem(("Pixel refuses the stairs.",), time=NOW))
    assert DeliveryState.PENDING in {one.state for one in answer.deliveries}
    keyword.start()
    await keyword.ready()
    await diary.served_by_all()
    await until(lambda: diary.words("stairs"), 60)
