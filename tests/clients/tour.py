"""What the programme of every language in ``clients/`` has to do, and how it is built and run.

A language joins by a ``test_<language>.py`` with a ``Client`` and two tests, as ``test_go.py`` is one.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from clients.proxy import open_proxy
from deployment import clean_environment, free_ports
from google.protobuf import descriptor_pool, message_factory

from recallmesh.client import open_client
from recallmesh.core.bank import DEFAULT_TENANT
from recallmesh.core.page import PageRequest
from recallmesh.v1 import recall_service_pb2, report_pb2

ROOT = Path(__file__).parents[2]
SERVICE_CONFIG = ROOT / "clients" / "service_config.json"
KEY = "key-of-the-tour"
OURS = "/recallmesh.v1."
RUN_S = 60.0
BUILD_S = 600.0
"""The most that a step of a cold build may take on two busy cores; what is kept from the last one makes it seconds."""
MISSING_S = 30.0
"""Within this a programme has said that there is no mesh."""
UNKNOWN = 99
"""The number of no enum value."""

BANK_LINES = r"""
bank: (?P<bank>tour-{language}-\w+)
retained: 2 items, [1-9]\d* memories
recalled: \S.*
trace: [1-9]\d* candidates, [1-9]\d* phases
streamed: fused, final
bulk: 2 of 2 batches kept
error: NOT_FOUND BANK_NOT_FOUND
deadline: DEADLINE_EXCEEDED
deleted: (?P=bank)
"""
CALLED = {
    "BankService/CreateBank",
    "RetainService/Retain",
    "RecallService/Recall",
    "RecallService/RecallStream",
    "RetainService/RetainBulk",
    "BankService/DeleteBank",
}
RETRIED = {"RetainService/Retain", "RecallService/Recall"}


@dataclass(frozen=True, slots=True)
class Client:
    """The client of a language: in ``clients/<language>``, where all of its commands are run.

    ``tools`` are the programmes that must be installed, ``build`` makes the tour once ``make gen-<language>`` has made
    the stubs, ``command`` runs it.
    """

    language: str
    tools: tuple[str, ...]
    build: tuple[tuple[str, ...], ...]
    command: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return ROOT / "clients" / self.language


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended and what it printed."""

    code: int
    out: str
    err: str


async def run_tour(client: Client, address: str) -> None:
    """Build the programme, run it through the proxy, and see that it did all that it has to."""
    build(client)
    repeated = {f"/{name['service']}/{name['method']}" for name in repeatable()}
    async with open_proxy(address, repeated, {f"{OURS}RecallService/Recall": from_a_newer_server()}) as proxy:
        ran = await run(client, {"RECALLMESH_ADDRESS": proxy.address, "RECALLMESH_KEY": KEY}, RUN_S)
    assert (ran.code, ran.err) == (0, ""), ran
    lines = re.fullmatch(BANK_LINES.lstrip().format(language=client.language), ran.out)
    assert lines, ran.out
    ours = [call for call in proxy.calls if call.method.startswith(OURS)]
    seen = Counter(call.method.removeprefix(OURS) for call in ours)
    assert set(seen) >= CALLED
    for method in RETRIED:
        # Refused once, then repeated: the answer was there all the same.
        assert [call.refused for call in ours if call.method == OURS + method][:2] == [True, False], method
    assert seen["BankService/CreateBank"] == 1
    assert {call.metadata.get("authorization") for call in ours} == {f"Bearer {KEY}"}
    assert [call.method for call in ours if call.seconds is None] == [], "calls without a deadline"
    for call in ours:
        # What is repeated must count once.
        assert call.method not in repeated or all(has_request_id(call.method, sent) for sent in call.sent), call
    async with open_client(address) as mesh:
        banks = await mesh.admin.list_banks(DEFAULT_TENANT, PageRequest(1000))
        assert lines["bank"] not in {bank.ref.bank_id for bank in banks.rows}


async def run_encrypted(client: Client, address: str, ca: Path) -> None:
    """Run the programme against a mesh that speaks TLS alone: it does all with its authority, and nothing without."""
    build(client)
    ran = await run(client, {"RECALLMESH_ADDRESS": address, "RECALLMESH_CA": str(ca)}, RUN_S)
    assert (ran.code, ran.err) == (0, ""), ran
    assert re.fullmatch(BANK_LINES.lstrip().format(language=client.language), ran.out), ran.out
    plain = await run(client, {"RECALLMESH_ADDRESS": address}, MISSING_S)
    assert (plain.code, plain.out) == (1, ""), plain
    assert "UNAVAILABLE" in plain.err


async def run_against_nobody(client: Client) -> None:
    """Run the programme where no mesh is, and see that it says so, and what to do."""
    build(client)
    address = f"127.0.0.1:{free_ports(1)[0]}"
    ran = await run(client, {"RECALLMESH_ADDRESS": address}, MISSING_S)
    assert ran.code == 1, ran
    assert "UNAVAILABLE" in ran.err
    assert address in ran.err
    assert "recallmesh serve all" in ran.err
    assert len(ran.err.splitlines()) <= 3, "a sentence, no stack trace"


def repeatable() -> list[dict[str, str]]:
    """Return the methods that the service config lets be repeated."""
    config = json.loads(SERVICE_CONFIG.read_text(encoding="utf-8"))
    return [name for one in config["methodConfig"] if "retryPolicy" in one for name in one["name"]]


def from_a_newer_server() -> bytes:
    """Return what a recall's answer has more when the server is newer than the client: an arm in an unknown state."""
    arm = report_pb2.ArmReport(arm="newer", state=UNKNOWN)
    return recall_service_pb2.RecallResponse(arms=[arm]).SerializeToString()


def has_request_id(method: str, sent: bytes) -> bool:
    """Tell whether a message that may have a request id has one; true of all others."""
    service, _, name = method.removeprefix("/").partition("/")
    asked = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name].input_type
    message = message_factory.GetMessageClass(asked).FromString(sent)
    return "request_id" not in asked.fields_by_name or bool(message.request_id)


@cache
def build(client: Client) -> None:
    """Make the stubs and the programme, once in a run. Without its tools the test is skipped; in CI it fails."""
    missing = [tool for tool in client.tools if shutil.which(tool) is None]
    if missing:
        said = f"clients/{client.language} needs {' and '.join(missing)}"
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(said)
    _do(("make", "--no-print-directory", f"gen-{client.language}"), ROOT)
    for command in client.build:
        _do(command, client.folder)


def _do(command: tuple[str, ...], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=BUILD_S)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


async def run(client: Client, environment: dict[str, str], seconds: float) -> Ran:
    """Run the programme; one that takes too long is killed."""
    process = await asyncio.create_subprocess_exec(
        *client.command,
        cwd=client.folder,
        env=clean_environment(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Ran(process.returncode, out.decode(), err.decode())
