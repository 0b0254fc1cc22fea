"""A mesh of three processes that speak mTLS with each other and with everybody who calls them."""

import asyncio
import json
import ssl
import subprocess

import httpx
import pytest
import pytest_asyncio
from certificates import Authority, sides
from deployment import COMMAND, Process, clean_environment, free_ports, open_processes, until

from recallmesh.client import RetainItem, Tls, open_client
from recallmesh.core.errors import MeshError

PLACES = {
    "vectors": ("semantic", "temporal", "embedder"),
    "words": ("keyword", "graph"),
    "public": ("recall", "retain", "bank"),
}
SAID = "Nadia: I start as a baker on 11 May."
ANSWERED_S = 60


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mesh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    made = sides(folder)
    ports = dict(zip(PLACES, free_ports(3), strict=True))
    probes = dict(zip(PLACES, free_ports(3), strict=True))
    shared = {
        f"RECALLMESH_{part.upper()}__ADDRESS": f"127.0.0.1:{ports[place]}"
        for place, parts in PLACES.items()
        for part in parts
    } | {
        "RECALLMESH_RERANKER__BACKEND": "none",
        "RECALLMESH_TLS__CERTIFICATE": str(made.server.certificate),
        "RECALLMESH_TLS__KEY": str(made.server.key),
        "RECALLMESH_TLS__CLIENT_CA": str(made.server.ca),
        "RECALLMESH_TLS__CA": str(made.client.ca),
        "RECALLMESH_TLS__CLIENT_CERTIFICATE": str(made.client.certificate),
        "RECALLMESH_TLS__CLIENT_KEY": str(made.client.key),
        "RECALLMESH_DOOR__LISTEN": "127.0.0.1:0",
    }
    processes = {
        place: Process(
            (*parts, "door") if place == "words" else parts,
            folder / "data",
            folder / f"{place}.log",
            shared | {"RECALLMESH_SERVE__HEALTH_PORT": str(probes[place])},
            ports[place],
            probe=f"127.0.0.1:{probes[place]}",
        )
        for place, parts in PLACES.items()
    }
    async with open_processes(processes):
        yield made, processes


def opening(made, processes):
    return open_client(processes["public"].address, tls=made.client)


def context(tls):
    made = ssl.create_default_context(cafile=tls.ca)
    if tls.certificate:
        made.load_cert_chain(tls.certificate, tls.key)
    return made


def recallmesh(*words, **environment):
    return subprocess.run(
        [COMMAND, *map(str, words)],
        env=clean_environment(environment),
        capture_output=True,
        text=True,
        timeout=ANSWERED_S,
        check=False,
    )


def tls_words(tls):
    return ("--ca", tls.ca, *(("--cert", tls.certificate, "--cert-key", tls.key) if tls.certificate else ()))


@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_retained_is_recalled_and_every_hop_is_encrypted(mesh):
    made, processes = mesh
    words = ("--bank", "diary", "--server", processes["public"].address)
    by_words = ("--ca", made.client.ca, "--cert", made.client.certificate, "--cert-key", made.client.key)
    by_environment = {
        "RECALLMESH_CA": str(made.client.ca),
        "RECALLMESH_CERT": str(made.client.certificate),
        "RECALLMESH_CERT_KEY": str(made.client.key),
    }
    kept = await asyncio.to_thread(recallmesh, "retain", *words, "--text", SAID, **by_environment)
    assert kept.returncode == 0, kept.stderr
    asked = await asyncio.to_thread(recallmesh, "recall", *words, *by_words, "--json", "When does Nadia start?")
    assert asked.returncode == 0, asked.stderr
    answer = json.loads(asked.stdout)
    assert "baker" in answer["memories"][0]["memory"]["text"]
    assert {report["state"] for report in answer["arms"]} <= {"PART_STATE_OK", "PART_STATE_SKIPPED"}


@pytest.mark.asyncio(loop_scope="module")
async def test_a_caller_who_knows_another_authority_is_told_what_to_do(mesh, tmp_path):
    _, processes = mesh
    other = Authority("other").write(tmp_path)
    refused = await asyncio.to_thread(
        recallmesh, "bank", "list", "--server", processes["public"].address, "--ca", other
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is the CA the right one?" in refused.stderr
    assert "--ca FILE (RECALLMESH_CA) names whose certificate it has" in refused.stderr


@pytest.mark.asyncio(loop_scope="module")
async def test_a_doctor_sees_every_service_by_tls(mesh):
    made, processes = mesh
    seen = await asyncio.to_thread(
        recallmesh, "doctor", "--json", "--data", made.folder / "data", **processes["public"].environment
    )
    rows = {row["part"]: row["advice"] for row in json.loads(seen.stdout)}
    assert {part: rows[part] for parts in PLACES.values() for part in parts} == {
        part: [] for parts in PLACES.values() for part in parts
    }


@pytest.mark.asyncio(loop_scope="module")
async def test_the_door_speaks_https_and_asks_for_a_certificate(mesh):
    made, processes = mesh
    url = next(line.split()[-1] for line in processes["words"].told().splitlines() if "opens its door on" in line)
    assert url.startswith("https://127.0.0.1:")
    method = f"{url}/recallmesh.v1.BankService/ListBanks"

    async with httpx.AsyncClient(verify=context(made.client), trust_env=False) as known:
        assert (await known.post(method, json={})).status_code == 200
    async with httpx.AsyncClient(verify=context(Tls(made.client.ca)), trust_env=False) as unknown:
        with pytest.raises(httpx.TransportError):
            await unknown.post(method, json={})


@pytest.mark.asyncio(loop_scope="module")
async def test_tools_for_agents_are_offered_by_https(mesh):
    made, processes = mesh
    by_words = ("--ca", made.client.ca, "--cert", made.client.certificate, "--cert-key", made.client.key)
    offering = await asyncio.create_subprocess_exec(
        *map(str, (COMMAND, "mcp", "--listen", "127.0.0.1:0", "--server", processes["public"].address, *by_words)),
        env=clean_environment(processes["public"].environment),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(ANSWERED_S):
            url = (await offering.stdout.readline()).decode().split()[-1]
        assert url.startswith("https://127.0.0.1:")
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        heard = {"accept": "application/json, text/event-stream"}
        async with httpx.AsyncClient(verify=context(made.client), trust_env=False) as known:
            assert (await known.post(url, json=asked, headers=heard)).headers["content-type"] == "application/json"
        async with httpx.AsyncClient(verify=context(Tls(made.client.ca)), trust_env=False) as unknown:
            with pytest.raises(httpx.TransportError):
                await unknown.post(url, json=asked, headers=heard)
    finally:
        offering.terminate()
        await offering.wait()


@pytest.mark.asyncio(loop_scope="module")
async def test_every_certificate_is_renewed_while_the_mesh_answers(mesh):
    made, processes = mesh
    over, failed, answered = asyncio.Event(), [], 0
    async with opening(made, processes) as client:
        bank = client.bank("diary")
        await bank.retain(RetainItem((SAID,)))

        async def load():
            nonlocal answered
            while not over.is_set():
                try:
                    answer = await bank.recall("Who bakes?")
                    answered += bool(answer.memories)
                except MeshError as error:
                    failed.append(error)

        def renewed():
            return {place: process.told().count("certificate renewed") for place, process in processes.items()}

        async with asyncio.TaskGroup() as loading:
            for _ in range(2):
                loading.create_task(load())
            before = renewed()
            made.authority.sign("server").write(made.folder, "server")
            made.authority.sign("client").write(made.folder, "client")

            async def all_renewed():
                # What each serves by, the door too, and what it calls others by: the vectors call nobody.
                wanted = {"vectors": 1, "words": 3, "public": 2}
                return answered > 20 and all(renewed()[place] - before[place] >= wanted[place] for place in PLACES)

            await until(all_renewed, seconds=20)
            over.set()
        assert failed == []
    async with opening(made, processes) as client:
        assert (await client.bank("diary").recall("Who bakes?")).memories
