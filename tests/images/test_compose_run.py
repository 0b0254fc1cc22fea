"""The compose files, run by podman-compose: with keys, on networks of their own, as the docs have it (SPEC M4, M7)."""

import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from deployment import NOW, free_ports, health, until

from images.podman import ROOT
from recallmesh.client import open_client
from recallmesh.core.errors import MeshError
from recallmesh.core.retain import RetainItem

COMPOSE = Path(sys.executable).with_name("podman-compose")
KEY = re.compile(r"\brm_\S+")
READY_S = 300.0
SECRETS = {"POSTGRES_PASSWORD": "one", "NEO4J_PASSWORD": "two", "QDRANT_PASSWORD": "three"}

pytestmark = pytest.mark.timeout(1800)


@contextmanager
def composing(engine, name, **given):
    """Yield what runs a command of compose on a file; everything it made is removed, its volumes too."""
    file = ROOT / "deploy" / name
    environment = engine.environment | {"RECALLMESH_TAG": "test"} | given

    def compose(*words):
        told = subprocess.run(
            [COMPOSE, "-f", file, *words], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert told.returncode == 0, (words, told.stderr[-3000:])
        return told.stdout

    try:
        yield compose
    finally:
        compose("down", "--volumes", "--timeout", "0")


async def test_the_whole_mesh_in_one_container_asks_for_a_key_and_keeps_its_volume(engine):
    port, door = free_ports(2)
    address = f"127.0.0.1:{port}"
    with composing(engine, "compose.embedded.yaml", MESH_PORT=str(port), DOOR_PORT=str(door)) as compose:
        made = compose("run", "-T", "--rm", "mesh", "key", "new", "me", "--rights", "recall", "retain", "admin")
        (key,) = KEY.findall(made)

        async def ready():
            return await health(address) == 1

        compose("up", "--detach", "--no-build")
        await until(ready, READY_S)
        async with open_client(address) as nobody:
            with pytest.raises(MeshError) as refused:
                await nobody.bank("diary").ensure()
        assert refused.value.code == "UNAUTHENTICATED"
        async with open_client(address, key=key) as client:
            diary = client.bank("diary")
            await diary.ensure()
            await diary.retain(RetainItem(("Leo: I adopted a greyhound called Pixel.",), time=NOW), request_id="one")
        compose("exec", "-T", "mesh", "recallmesh", "health", "http://127.0.0.1:8080")

        compose("down")
        compose("up", "--detach", "--no-build")
        await until(ready, READY_S)
        async with open_client(address, key=key) as client:
            answer = await client.bank("diary").recall("Who is Pixel?", query_time=NOW)
        assert [one.memory.text for one in answer.memories] == ["Leo: I adopted a greyhound called Pixel."]


async def test_the_key_of_the_mesh_is_made_once_and_never_leaves_its_volume(engine):
    # The image of all services has what the embedder's has.
    engine.podman("tag", "recallmesh/all:test", "recallmesh/embedder:test")
    with composing(engine, "compose.yaml", **SECRETS) as compose:
        compose("up", "--detach", "--no-build", "embedder")
        look = (
            "exec",
            "-T",
            "embedder",
            "python",
            "-c",
            "import pathlib; print(pathlib.Path('/data/mesh-key').read_text())",
        )
        first = compose(*look)
        assert len(first.strip()) >= 32
        assert first.strip() not in engine.log("recallmesh_identity_1") + engine.log("recallmesh_embedder_1")

        async def ready():
            return engine.podman("healthcheck", "run", "recallmesh_embedder_1", check=False).returncode == 0

        await until(ready, READY_S)
        assert len(KEY.findall(compose("run", "-T", "--rm", "identity", "key", "new", "me"))) == 1
        compose("run", "-T", "--rm", "identity")
        assert compose(*look) == first
        assert "me" in compose("run", "-T", "--rm", "identity", "key", "list")
