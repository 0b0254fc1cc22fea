"""By no call does a tenant see, change or notice what another has, nor a key what is in other banks than its own."""

import asyncio
import re
import socket
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import grpc.aio
import httpx
import pytest
import pytest_asyncio
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from identity_bed import METHODS, bearer
from key_rows import row_of
from mcp import Client as ToolClient
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from recallmesh.client import Client
from recallmesh.core.bank import BankRef
from recallmesh.core.credential import bearing
from recallmesh.core.errors import BankNotFound, RequestIdReused
from recallmesh.core.event import WebhookDraft
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.page import PageRequest
from recallmesh.core.principal import Right
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.doorway import open_door
from recallmesh.identity.api_key import hash_of, new_key
from recallmesh.identity.key_edit import with_key
from recallmesh.identity.key_store import change_keys
from recallmesh.mesh import ALL_PARTS
from recallmesh.rpc.admin import RemoteAdmin
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.recaller import RemoteRecaller
from recallmesh.rpc.retainer import RemoteRetainer
from recallmesh.rpc.right import RIGHTS
from recallmesh.rpc.status import DETAILS_KEY
from recallmesh.serve import open_serving
from recallmesh.settings import Settings
from recallmesh.tools import BankChoice, Ports, Toolbox
from recallmesh.tools.mcp import PATH, http_app
from recallmesh.tools.uvicorn import serve_http

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

REF = BankRef("diary")
SAID = "The spare key of cabin seventeen lies under the third stone."
ALL = ("recall", "retain", "admin")
PUBLIC = sorted(path for path, right in RIGHTS.items() if right is not Right.MESH)
ABSENT = "dairy"
"""As long as the name of the bank that is there: errors are compared to the byte."""
NOT_YET = "/recallmesh.v1.BankService/GetEffectiveConfig"
"""What no version offers yet."""
OWN = {NOT_YET, "/recallmesh.v1.BankService/CreateBank", "/recallmesh.v1.BankService/ListBanks"}
"""What answers anybody with what is the caller's own, or nobody."""


class Filled:
    """What one tenant has, and requests of every kind that name it."""

    def __init__(self, channel, keys, names, web):
        self.channel, self.keys, self.names, self.web = channel, keys, names, web

    def request(self, method, bank_id):
        """Fill a method's request: with the bank, and each id by the name of its field."""
        message = GetMessageClass(method.input_type)()
        self._fill(message, self.names | {"bank_id": bank_id})
        return message

    def _fill(self, message, names):
        for field in message.DESCRIPTOR.fields:
            many = field.is_repeated
            if field.name in ("recall", "retain", "items", "content"):
                inner = getattr(message, field.name)
                self._fill(inner.add() if many else inner, names)
            elif field.type == FieldDescriptor.TYPE_STRING and field.name in names:
                if many:
                    getattr(message, field.name).append(names[field.name])
                else:
                    setattr(message, field.name, names[field.name])

    async def said(self, path, bank_id, key):
        """Call a method; return all that the caller learns, in words."""
        method = METHODS[path]

        call = self.channel.unary_stream(path)(
            self.request(method, bank_id).SerializeToString(), metadata=[bearer(key)], timeout=30
        )
        kind, told = GetMessageClass(method.output_type), []
        try:
            told += [json_format.MessageToJson(kind.FromString(answer)) async for answer in call]
            code = "OK"
        except grpc.aio.AioRpcError as error:
            details = dict(error.trailing_metadata() or ()).get(DETAILS_KEY, b"")
            code = error.code().name
            told += [error.details() or "", details.decode("utf-8", "replace"), repr(error.initial_metadata())]
        return code, re.sub(r"[0-9a-f]{32}", "(request id)", " ".join(told))


@asynccontextmanager
async def open_two_tenants(folder):
    keys = {}
    for name, tenant, more in (
        ("owner", "acme-corporation", {}),
        ("narrow", "acme-corporation", {"banks": ("other-*",)}),
        ("writer", "acme-corporation", {"rights": ("recall", "retain")}),
        ("stranger", "umbrella", {}),
    ):
        key_id, keys[name] = new_key()
        row = row_of(key_id, hash_of(keys[name]), name=name, tenant=tenant, **({"rights": ALL} | more))
        change_keys(folder / "keys.json", lambda file, one=row: with_key(file, one))
    settings = Settings(
        data=folder / "data",
        serve={"listen": "127.0.0.1:0", "drain_s": 0},
        auth={"mode": "on", "keys": folder / "keys.json"},
        door={"listen": "127.0.0.1:0"},
        log_level="error",
    )
    async with (
        open_serving(settings, ALL_PARTS) as serving,
        open_channel(f"127.0.0.1:{serving.server.port}") as channel,
        open_door(settings, serving.metrics, ALL_PARTS, serving.within) as door,
        httpx.AsyncClient(base_url=door, timeout=20, trust_env=False) as web,
    ):
        await serving.building
        faces = Client(RemoteRecaller(channel), RemoteRetainer(channel), RemoteAdmin(channel))
        with bearing(keys["owner"]):
            names = await fill(faces)
        yield faces, Filled(channel, keys, names, web)


async def fill(faces) -> dict[str, str]:
    """Give the owner a bank with something of every kind; returns each id by the name that fields have for it."""
    admin, page = faces.admin, PageRequest()
    await admin.create_bank(REF, name="Cabins")
    item = RetainItem((SAID,), datetime(2026, 3, 1, tzinfo=UTC), document_id="cabin")
    answer = await faces.retainer.retain(RetainRequest(REF, (item,), "told-once", tags=("cabins",)))
    later = RetainItem(("Rune Iversen owns cabin seventeen.",), document_id="owner")
    operation = await faces.retainer.retain(RetainRequest(REF, (later,), wait=False))
    _ = [one async for one in admin.watch_operation(REF, operation.operation_id)]
    webhook = await admin.create_webhook(REF, WebhookDraft("https://example.com/hook", "whsec_" + "c2VjcmV0" * 5))
    entities = (await admin.list_entities(REF, page)).rows
    memory_id = answer.items[0].memory_ids[0]
    return {
        "memory_id": memory_id,
        "memory_ids": memory_id,
        "document_id": "cabin",
        "chunk_id": (await admin.list_chunks(REF, "cabin", page)).rows[0].id,
        "entity_id": entities[0].id,
        "into_id": entities[0].id,
        "from_ids": entities[-1].id + "x",
        "operation_id": operation.operation_id,
        "webhook_id": webhook.id,
        "attachment_id": "0" * 64,
        "request_id": "told-once",
        "query": "Where is the spare key of cabin seventeen?",
        "text": "Mine now.",
        "name": "Rune Iversen",
        "alias": "Rune",
        "url": "https://example.com/mine",
        "secret": "whsec_" + "bWluZW1p" * 5,
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(tmp_path_factory):
    async with open_two_tenants(tmp_path_factory.mktemp("tenants")) as opened:
        yield opened


async def contents(faces, keys):
    """Read all that the owner has."""
    admin, page = faces.admin, PageRequest(1000)
    with bearing(keys["owner"]):
        return (
            await admin.get_bank(REF),
            await admin.bank_stats(REF),
            (await admin.list_memories(REF, MemoryFilter(), page)).rows,
            (await admin.list_entities(REF, page)).rows,
            [(one.id, one.url) for one in (await admin.list_webhooks(REF, page)).rows],
        )


@pytest.mark.parametrize("path", sorted(set(PUBLIC) - OWN))
async def test_another_tenants_bank_is_as_one_that_is_not_there(both, path):
    faces, filled = both
    before = await contents(faces, filled.keys)
    code, said = await filled.said(path, "diary", filled.keys["stranger"])
    absent, of_absent = await filled.said(path, ABSENT, filled.keys["stranger"])
    assert (code, said.replace("diary", ABSENT)) == (absent, of_absent)
    assert "BANK_NOT_FOUND" in said
    for theirs in ("acme", "cabin seventeen lies", "third stone", "Cabins"):
        assert theirs not in said
    assert await contents(faces, filled.keys) == before


@pytest.mark.parametrize("path", sorted(set(PUBLIC) - {NOT_YET, "/recallmesh.v1.BankService/ListBanks"}))
async def test_a_key_for_other_banks_does_not_notice_whether_this_one_is_there(both, path):
    faces, filled = both
    before = await contents(faces, filled.keys)
    code, said = await filled.said(path, "diary", filled.keys["narrow"])
    absent, of_absent = await filled.said(path, ABSENT, filled.keys["narrow"])
    assert (code, said) == (absent, of_absent)
    assert code == "PERMISSION_DENIED"
    assert "third stone" not in said
    assert await contents(faces, filled.keys) == before


async def test_each_lists_its_own_banks_alone(both):
    faces, filled = both
    with bearing(filled.keys["owner"]):
        await faces.admin.create_bank(BankRef("other-diary"))
        assert [one.ref.bank_id for one in (await faces.admin.list_banks("default", PageRequest())).rows] == [
            "diary",
            "other-diary",
        ]
    with bearing(filled.keys["narrow"]):
        assert [one.ref.bank_id for one in (await faces.admin.list_banks("default", PageRequest())).rows] == [
            "other-diary"
        ]
    with bearing(filled.keys["stranger"]):
        assert (await faces.admin.list_banks("default", PageRequest())).rows == ()


async def test_who_may_make_no_bank_is_told_that_there_is_none(both):
    faces, filled = both
    with bearing(filled.keys["writer"]):
        with pytest.raises(BankNotFound, match="'absent'"):
            await faces.bank("absent").ensure()
        assert (await faces.bank("diary").ensure()).name == "Cabins"


async def test_names_and_request_ids_of_one_tenant_are_free_for_another(both):
    faces, filled = both
    before = await contents(faces, filled.keys)
    with bearing(filled.keys["stranger"]):
        mine = await faces.admin.create_bank(REF)
        item = RetainItem(("Something else.",), document_id="cabin")
        answer = await faces.retainer.retain(RetainRequest(REF, (item,), "told-once"))
        assert not answer.replayed
        assert (await faces.admin.bank_stats(REF)).documents == 1
        await faces.admin.delete_bank(REF)
    assert mine.uid != before[0].uid
    assert await contents(faces, filled.keys) == before
    with bearing(filled.keys["owner"]), pytest.raises(RequestIdReused):
        await faces.retainer.retain(RetainRequest(REF, (item,), "told-once"))


async def test_the_door_asks_as_the_services_do(both):
    _, filled = both

    async def asked(call, said, key="", **headers):
        borne = {"authorization": f"Bearer {key}"} if key else {}
        return await filled.web.post(f"/recallmesh.v1.{call}", json=said, headers=borne | headers)

    recall = ("RecallService/Recall", {"bankId": "diary", "query": "spare key"})
    nobody = await asked(*recall)
    assert (nobody.status_code, nobody.json()["reason"]) == (401, "UNAUTHENTICATED")
    assert nobody.headers["www-authenticate"] == "Bearer"
    assert (await asked(*recall, "rm_forged")).status_code == 401
    assert "third stone" in (await asked(*recall, filled.keys["owner"])).text
    stranger = await asked(*recall, filled.keys["stranger"])
    assert (stranger.status_code, stranger.json()["reason"]) == (404, "BANK_NOT_FOUND")
    assert (await asked(*recall, filled.keys["narrow"])).status_code == 403
    foreign = await asked(*recall, filled.keys["stranger"], **{"x-recallmesh-tenant": "acme-corporation"})
    assert (foreign.status_code, foreign.json()["reason"]) == (403, "FORBIDDEN")
    streamed = await asked("RecallService/RecallStream", {"recall": recall[1]})
    assert streamed.status_code == 401 or "UNAUTHENTICATED" in streamed.text
    assert (await filled.web.get("/readyz")).status_code == 200


async def test_tools_are_used_with_the_key_of_each_agent(both):
    faces, filled = both
    ports = asyncio.get_running_loop().create_future()
    ports.set_result(Ports(faces.recaller, faces.retainer, faces.admin))
    listening, stop = socket.create_server(("127.0.0.1", 0)), asyncio.Event()
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    app = http_app(Toolbox(lambda: asyncio.shield(ports), BankChoice(("diary",))), [host])
    # The process itself may bear a key; an agent without one does not get it.
    with bearing(filled.keys["owner"]):
        serving = asyncio.create_task(serve_http(app, [listening], stop, grace_s=1))

    async def told(key=""):
        headers = {"authorization": f"Bearer {key}"} if key else {}
        async with (
            create_mcp_http_client(headers=headers) as http,
            ToolClient(streamable_http_client(f"http://{host}{PATH}", http_client=http), mode="auto") as client,
        ):
            found = await client.call_tool("recall", {"query": "Where is the spare key?"})
            return found.is_error, found.content[0].text

    assert (await told())[0]
    refused, said = await told(filled.keys["stranger"])
    assert refused
    assert "third stone" not in said
    found, said = await told(filled.keys["owner"])
    assert not found
    assert "third stone" in said
    stop.set()
    await serving
