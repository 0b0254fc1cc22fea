"""The recipes of docs/clients.md: what they call is there, what they send is understood, what they say comes back."""

import json
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass

import grpc
import grpc.aio
import pytest
from clients.tour import ROOT
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_health.v1 import health_pb2  # noqa: F401 - its messages are looked up by name
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from recallmesh.v1 import bank_service_pb2, recall_service_pb2, retain_service_pb2  # noqa: F401 - the same

pytestmark = [pytest.mark.clients, pytest.mark.timeout(600)]
PAGE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:grpcurl|ghz) .*?(?<![\\{,:])$(?=\n|\Z)", re.MULTILINE | re.DOTALL)
HERE = re.compile(r"<< 'END'\n(.*?)^END$", re.MULTILINE | re.DOTALL)
TEMPLATE = re.compile(r"\{\{.*?\}\}")
ERROR = re.compile(r"Code: (\w+)")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One command of the page: the method it calls, the messages it sends, the protos it names, how it is to end."""

    method: str
    messages: tuple[dict, ...]
    protos: tuple[str, ...]
    code: str


def recipes() -> list[Recipe]:
    blocks = BLOCK.findall(PAGE)
    found = []
    for number, (kind, block) in enumerate(blocks):
        after = blocks[number + 1][1] if number + 1 < len(blocks) and not blocks[number + 1][0] else ""
        if kind == "sh":
            found += [read(command, block, after) for command in COMMAND.findall(block) if "/" in command]
    return found


def read(command: str, block: str, after: str) -> Recipe:
    words = shlex.split(command.partition("<<")[0].partition(" | ")[0])

    def value(*names: str) -> str:
        return next((words[at + 1] for at, word in enumerate(words) if word in names), "")

    said = value("-d", "--data")
    said = HERE.search(block)[1] if said == "@" else TEMPLATE.sub("1", said)
    messages, rest = [], said.strip()
    while rest:
        message, end = json.JSONDecoder().raw_decode(rest)
        messages.append(message)
        rest = rest[end:].strip()
    method = value("--call") if words[0] == "ghz" else words[-1]
    failed = ERROR.search(after) if after.startswith("ERROR") else None
    code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", failed[1]).upper() if failed else "OK"
    return Recipe(method, tuple(messages), tuple(filter(None, (value("-proto", "--proto"),))), code)


def test_every_command_of_the_page_but_the_list_is_read():
    shell = "".join(block for kind, block in BLOCK.findall(PAGE) if kind == "sh")
    assert len(recipes()) == len(re.findall(r"^(?:grpcurl|ghz) ", shell, re.MULTILINE)) - 1
    assert all(recipe.messages for recipe in recipes())


def test_the_protos_that_recipes_name_are_there():
    named = [proto for recipe in recipes() for proto in recipe.protos]
    assert named
    assert [one for one in named if not (ROOT / "protos" / one.removeprefix("protos/")).is_file()] == []


async def test_what_recipes_send_is_answered_as_the_page_says(served):
    pool = descriptor_pool.Default()
    async with grpc.aio.insecure_channel(served) as channel:
        for recipe in recipes():
            service, _, name = recipe.method.partition("/")
            method = pool.FindServiceByName(service).methods_by_name[name]
            asked = message_factory.GetMessageClass(method.input_type)
            messages = [json_format.ParseDict(one, asked()).SerializeToString() for one in recipe.messages]
            call = channel.stream_stream(f"/{recipe.method}")(iter(messages), timeout=60)
            with suppress(grpc.aio.AioRpcError):
                assert [answer async for answer in call], recipe
            assert (await call.code()).name == recipe.code, recipe


def test_the_page_lists_the_services_that_a_whole_mesh_offers(served):
    with grpc.insecure_channel(served) as channel:
        services = ProtoReflectionDescriptorDatabase(channel).get_services()
    assert "\n".join(sorted(services)) in PAGE
