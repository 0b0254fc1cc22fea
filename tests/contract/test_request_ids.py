"""Administrative calls with a request id: one effect and one answer, however often they come."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import grpc.aio
import pytest
import pytest_asyncio
from contract.ledger_bed import Backend, backend
from loopback import open_loopback
from unit.retain_fakes import REF, Bench, WordCounter, open_bench

from recallmesh.bank.admin import LedgerAdmin
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import RequestIdReused
from recallmesh.core.memory import Memory
from recallmesh.core.once import Once, enter_once
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import NamedEntity
from recallmesh.ledger.answers import KEPT_FOR
from recallmesh.rpc.admin import host_admin
from recallmesh.v1 import (
    bank_service_pb2,
    bank_service_pb2_grpc,
    document_service_pb2,
    document_service_pb2_grpc,
    entity_service_pb2,
    entity_service_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
    operation_service_pb2,
    operation_service_pb2_grpc,
    tag_pb2,
)

__all__ = ["backend"]

ARMS = (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH)
SERVICES = (
    bank_service_pb2,
    document_service_pb2,
    memory_service_pb2,
    entity_service_pb2,
    operation_service_pb2,
)


@dataclass(frozen=True)
class Mesh:
    """A bank of two memories behind a real server."""

    bench: Bench
    channel: grpc.aio.Channel
    memories: tuple[Memory, ...]

    async def call(self, method: str, request: Any) -> Any:
        stubs = {
            "Bank": bank_service_pb2_grpc.BankServiceStub,
            "Document": document_service_pb2_grpc.DocumentServiceStub,
            "Memory": memory_service_pb2_grpc.MemoryServiceStub,
            "Entity": entity_service_pb2_grpc.EntityServiceStub,
            "Operation": operation_service_pb2_grpc.OperationServiceStub,
        }
        service, name = method.split(".")
        return await getattr(stubs[service](self.channel), name)(request)


@pytest_asyncio.fixture
async def mesh(tmp_path, backend: Backend) -> AsyncIterator[Mesh]:
    async with open_bench(tmp_path, url=backend.url) as bench:
        await bench.keep("Ida keeps bees.", document_id="d")
        await bench.keep("Ola keeps sheep.", document_id="e")
        admin = LedgerAdmin(bench.ledger, arms=ARMS, tokens=WordCounter(), now=bench.clock)
        async with open_loopback(host_admin(admin)) as channel:
            yield Mesh(bench, channel, tuple(await bench.memories()))


async def refused(mesh: Mesh, method: str, request: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await mesh.call(method, request)
    return caught.value.code()


def bank_request(kind: str, **fields: Any) -> Any:
    return getattr(bank_service_pb2, kind)(bank_id=REF.bank_id, **fields)


async def test_a_bank_is_created_changed_and_deleted_once(mesh: Mesh):
    create = bank_service_pb2.CreateBankRequest(bank_id="new", name="One", request_id="c")
    first = await mesh.call("Bank.CreateBank", create)
    assert await mesh.call("Bank.CreateBank", create) == first
    rename = bank_service_pb2.UpdateBankRequest(bank_id="new", name="Two", request_id="u")
    first = await mesh.call("Bank.UpdateBank", rename)
    assert (first.bank.name, first.bank.version) == ("Two", 2)
    assert await mesh.call("Bank.UpdateBank", rename) == first
    gone = bank_service_pb2.DeleteBankRequest(bank_id="new", request_id="d")
    for _ in range(2):
        await mesh.call("Bank.DeleteBank", gone)
    assert await refused(mesh, "Bank.CreateBank", create) is grpc.StatusCode.NOT_FOUND
    await mesh.call("Bank.CreateBank", bank_service_pb2.CreateBankRequest(bank_id="new", request_id="c2"))
    # The id is of the bank that is gone, and what came after it under the name is not deleted by an old call.
    await mesh.call("Bank.DeleteBank", gone)
    await mesh.call("Bank.GetBank", bank_service_pb2.GetBankRequest(bank_id="new"))


async def test_a_memory_is_changed_hidden_shown_and_deleted_once(mesh: Mesh):
    named = {"bank_id": REF.bank_id, "memory_id": mesh.memories[0].id}
    edit = memory_service_pb2.UpdateMemoryRequest(**named, tags=tag_pb2.TagSet(tags=["farm"]), request_id="r1")
    first = await mesh.call("Memory.UpdateMemory", edit)
    hide = memory_service_pb2.InvalidateMemoryRequest(**named, request_id="r2")
    hidden = await mesh.call("Memory.InvalidateMemory", hide)
    assert hidden.memory.version == first.memory.version + 1
    show = memory_service_pb2.RestoreMemoryRequest(**named, request_id="r3")
    await mesh.call("Memory.RestoreMemory", show)
    # Come again it hides nothing, and tells the memory as it is.
    again = await mesh.call("Memory.InvalidateMemory", hide)
    assert again.memory == (await mesh.call("Memory.RestoreMemory", show)).memory
    delete = memory_service_pb2.DeleteMemoryRequest(**named, request_id="r4")
    for _ in range(2):
        await mesh.call("Memory.DeleteMemory", delete)
    # No answer tells what was deleted since.
    assert await refused(mesh, "Memory.UpdateMemory", edit) is grpc.StatusCode.NOT_FOUND


async def test_a_document_is_deleted_once_and_the_count_is_the_first_calls(mesh: Mesh):
    request = document_service_pb2.DeleteDocumentRequest(bank_id=REF.bank_id, document_id="d", request_id="r")
    assert [(await mesh.call("Document.DeleteDocument", request)).memory_count for _ in range(3)] == [1, 1, 1]
    await mesh.bench.keep("Ida keeps bees again.", document_id="d")
    assert (await mesh.call("Document.DeleteDocument", request)).memory_count == 1
    assert {memory.document_id for memory in await mesh.bench.memories()} == {"d", "e"}


async def test_an_entity_is_named_split_and_merged_once(mesh: Mesh):
    both = (NamedEntity("Ida Moe", "person"), NamedEntity("Bo Dahl", "person"))
    for text in ("One.", "Two.", "Three."):
        await mesh.bench.keep(text, entities=both)
    held = (await mesh.bench.ledger.list_entities(mesh.bench.bank.uid, PageRequest())).rows
    ida, bo = (next(one.id for one in held if one.name == name) for name in ("Ida Moe", "Bo Dahl"))
    moved = next(memory.id for memory in await mesh.bench.memories() if memory.text == "One.")
    named = entity_service_pb2.AddEntityAliasRequest(entity_id=ida, alias="Idi", request_id="e1")
    split = entity_service_pb2.SplitEntityRequest(entity_id=ida, name="Ida M.", memory_ids=[moved], request_id="e2")
    merge = entity_service_pb2.MergeEntitiesRequest(into_id=bo, from_ids=[ida], request_id="e3")
    for method, request in (("AddEntityAlias", named), ("SplitEntity", split), ("MergeEntities", merge)):
        request.bank_id = REF.bank_id
        told = await asyncio.gather(*(mesh.call(f"Entity.{method}", request) for _ in range(4)))
        assert told == [told[0]] * 4
    versions = {memory.text: memory.version for memory in await mesh.bench.memories() if memory.mentions}
    assert versions == {"One.": 4, "Two.": 3, "Three.": 3}
    # Told again, the first answers name what has become of them.
    assert (await mesh.call("Entity.SplitEntity", split)).entity.id == bo
    merge.from_ids.append(told[0].entity.id)
    assert await refused(mesh, "Entity.MergeEntities", merge) is grpc.StatusCode.INVALID_ARGUMENT
    merge.from_ids[:] = [ida, ida]
    assert await refused(mesh, "Entity.MergeEntities", merge) is grpc.StatusCode.ALREADY_EXISTS


async def test_an_operation_is_cancelled_once(mesh: Mesh):
    operation_id = (await mesh.bench.keep("Later.", wait=False)).operation_id
    named = {"bank_id": REF.bank_id, "operation_id": operation_id}
    cancel = operation_service_pb2.CancelOperationRequest(**named, request_id="r1")
    await mesh.call("Operation.CancelOperation", cancel)
    retry = operation_service_pb2.RetryOperationRequest(**named, request_id="r2")
    pending = await mesh.call("Operation.RetryOperation", retry)
    assert (await mesh.call("Operation.CancelOperation", cancel)).operation == pending.operation


async def test_the_same_call_five_times_at_once_has_one_effect(mesh: Mesh):
    request = bank_request("UpdateBankRequest", name="Farm", request_id="r")
    answers = await asyncio.gather(*(mesh.call("Bank.UpdateBank", request) for _ in range(5)))
    assert {answer.bank.version for answer in answers} == {2}


async def test_an_id_of_another_call_is_refused_whatever_differs(mesh: Mesh):
    await mesh.call("Bank.UpdateBank", bank_request("UpdateBankRequest", name="Farm", request_id="r"))
    for method, request in (
        ("Bank.UpdateBank", bank_request("UpdateBankRequest", name="Other", request_id="r")),
        ("Bank.DeleteBank", bank_request("DeleteBankRequest", request_id="r")),
        ("Bank.CreateBank", bank_service_pb2.CreateBankRequest(bank_id="new", request_id="r")),
    ):
        assert await refused(mesh, method, request) is grpc.StatusCode.ALREADY_EXISTS
    bank = (await mesh.call("Bank.GetBank", bank_request("GetBankRequest"))).bank
    assert (bank.name, bank.version) == ("Farm", 2)


async def test_a_call_that_failed_has_not_used_its_id(mesh: Mesh):
    request = bank_request("UpdateBankRequest", name="Farm", version=7, request_id="r")
    assert await refused(mesh, "Bank.UpdateBank", request) is grpc.StatusCode.ABORTED
    right = bank_request("UpdateBankRequest", name="Farm", version=1, request_id="r")
    assert (await mesh.call("Bank.UpdateBank", right)).bank.version == 2


@pytest.mark.parametrize("request_id", ["x" * 129, "nul\x00"])
async def test_an_id_that_cannot_be_kept_is_refused(mesh: Mesh, request_id: str):
    request = bank_request("DeleteBankRequest", request_id=request_id)
    assert await refused(mesh, "Bank.DeleteBank", request) is grpc.StatusCode.INVALID_ARGUMENT
    await mesh.call("Bank.GetBank", bank_request("GetBankRequest"))


async def test_an_id_is_the_tenants_and_is_forgotten_in_the_end(tmp_path, backend: Backend):
    async with open_bench(tmp_path, url=backend.url) as bench:
        admin = LedgerAdmin(bench.ledger, arms=ARMS, tokens=WordCounter(), now=bench.clock)

        async def create(ref: BankRef, content: str, days: int = 0) -> None:
            enter_once(Once("r", content, ref, bench.clock() + days * KEPT_FOR))
            await admin.create_bank(ref)

        await asyncio.create_task(create(BankRef("x", "a"), "1"))
        await asyncio.create_task(create(BankRef("x", "b"), "2"))
        with pytest.raises(RequestIdReused):
            await asyncio.create_task(create(BankRef("y", "a"), "3"))
        enter_once(Once("another", "4", BankRef("z", "c"), bench.clock() + 2 * KEPT_FOR))
        await admin.create_bank(BankRef("z", "c"))
        await asyncio.create_task(create(BankRef("y", "a"), "3"))


def test_every_administrative_write_has_a_request_id():
    writes = {
        method.name: "request_id" in method.input_type.fields_by_name
        for file in SERVICES
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
        if not method.name.startswith(("Get", "List", "Watch", "Explain", "Export", "Verify"))
    }
    assert {name for name, has in writes.items() if not has} == {"DeleteWebhook"}
    assert len(writes) >= 19


async def test_a_webhook_is_registered_once_and_its_secret_is_in_no_note(mesh: Mesh):
    create = bank_request("CreateWebhookRequest", url="https://example.com/x", secret="s" * 16, request_id="w")
    first = await mesh.call("Bank.CreateWebhook", create)
    assert await mesh.call("Bank.CreateWebhook", create) == first
    listed = await mesh.call("Bank.ListWebhooks", bank_request("ListWebhooksRequest"))
    assert list(listed.webhooks) == [first.webhook]
    await mesh.call("Bank.DeleteWebhook", bank_request("DeleteWebhookRequest", webhook_id=first.webhook.id))
    assert await refused(mesh, "Bank.CreateWebhook", create) is grpc.StatusCode.NOT_FOUND
