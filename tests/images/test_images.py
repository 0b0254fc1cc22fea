"""The images, built and run: what is in them, whom they run as, whether they serve, how they end (SPEC M1, M7)."""

import json
import os
from contextlib import contextmanager

import pytest
from deployment import NOW, free_ports, until

from images.podman import DATA, TEMPORARY
from recallmesh.client import open_client
from recallmesh.core.arm import ArmName
from recallmesh.core.retain import RetainItem
from recallmesh.core.tuning import RecallTuning

PARTS = ("embedder", "reranker", "semantic", "keyword", "graph", "temporal", "recall", "retain", "bank")
MODULES = {
    "onnxruntime": {"embedder", "reranker"},
    "opensearchpy": {"keyword"},
    "neo4j": {"graph"},
    "qdrant_client": {"semantic", "graph", "temporal"},
    "qdrant_edge": {"semantic"},
    "psycopg": {"recall", "retain", "bank"},
    "openai": {"retain"},
    "starlette": {"door"},
    "mcp": set(),
    "rich": set(),
}
"""Packages, and the images of one service that have them; the one of all services has every one."""
NEVER = ("pip", "setuptools", "ensurepip", "hatchling", "uv", "pytest")
TOOLS = ("pip", "pip3", "uv", "cc", "gcc", "g++", "make", "ld", "cargo", "git", "curl", "wget")
READY_S = 300.0
LOOK = """
import importlib.util, json, os, pathlib, shutil, sys
modules, tools = json.loads(sys.argv[1])
def writes(folder):
    try:
        pathlib.Path(folder, "written").write_text("x")
    except OSError as error:
        return error.strerror
    return "written"
print(json.dumps({
    "modules": [name for name in modules if importlib.util.find_spec(name)],
    "tools": [name for name in tools if shutil.which(name)],
    "who": [os.getuid(), os.getgid()],
    "writes": {folder: writes(folder) for folder in ("/", "/opt/recallmesh", "/tmp", "/data")},
    "open": [str(path) for path in pathlib.Path("/opt/recallmesh").rglob("*")
             if not path.is_symlink() and path.stat().st_mode & 0o022],
}))
"""

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture
def containers(engine):
    """The engine; what a test has started is told of when it fails, and gone afterwards."""
    first = len(engine.containers)
    yield engine
    for name in engine.containers[first:]:
        engine.podman("rm", "--force", "--time", "0", "--volumes", name, check=False)


@contextmanager
def told(engine, *names):
    """Say what the containers said where something fails."""
    try:
        yield
    except BaseException as error:
        for name in names:
            error.add_note(f"--- {name}\n{engine.log(name)[-3000:]}")
        raise


async def healthy(engine, name):
    """Wait until the image's own health check says that it is."""

    async def asked():
        return engine.podman("healthcheck", "run", name, check=False).returncode == 0

    with told(engine, name):
        await until(asked, READY_S)


def look(engine, image):
    asked = json.dumps([[*MODULES, *NEVER], TOOLS])
    seen = engine.run(image, "-c", LOOK, asked, options=("--entrypoint", "python", "--volume", DATA))
    return json.loads(seen.stdout)


def listed(bill, kind):
    """Return what a bill of materials lists of a kind: names and versions."""
    return {(one["name"], one["version"]) for one in bill["components"] if one.get("purl", "").startswith(kind)}


def test_an_image_has_what_its_service_needs_and_nothing_that_builds(engine, image):
    seen = look(engine, image)
    assert set(seen["modules"]) == {name for name, images in MODULES.items() if image == "all" or image in images}
    assert seen["tools"] == []


def test_an_image_runs_as_nobody_and_writes_its_data_and_what_is_temporary_alone(engine, image):
    seen = look(engine, image)
    assert seen["who"] == [65532, 65532]
    readonly = "Read-only file system"
    assert seen["writes"] == {"/": readonly, "/opt/recallmesh": readonly, TEMPORARY: "written", DATA: "written"}
    assert seen["open"] == []


def test_an_image_has_its_bill_of_materials_with_pythons_and_debians_packages(engine, image):
    bill = json.loads((engine.folder / "made" / f"{image}.cdx.json").read_text(encoding="utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "recallmesh"
    lines = engine.run(image, "--show", options=("--entrypoint", "dpkg-query")).stdout.splitlines()
    debians = {(name.partition(":")[0], version) for name, version in (line.split("\t") for line in lines)}
    asked = "import importlib.metadata as m; print(*(f'{d.name} {d.version}' for d in m.distributions()), sep='\\n')"
    lines = engine.run(image, "-c", asked, options=("--entrypoint", "python")).stdout.splitlines()
    pythons = {tuple(line.split()) for line in lines if not line.startswith("recallmesh ")}
    assert len(pythons) > 10
    assert len(debians) > 50
    assert listed(bill, "pkg:deb/debian/") == debians
    assert listed(bill, "pkg:pypi/") == pythons


def test_an_image_says_what_it_is(engine, image):
    (seen,) = json.loads(engine.podman("image", "inspect", f"recallmesh/{image}:test").stdout)
    labels = seen["Config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == "test"
    assert len(labels["org.opencontainers.image.revision"]) == 40
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert set(ArmName) & {image} <= set(labels["recallmesh.extras"].split(","))
    assert engine.run(image, "--version").stdout.startswith("recallmesh ")
    assert f"| {image} |" in (engine.folder / "made" / "sizes.md").read_text(encoding="utf-8")


def test_without_settings_a_container_lets_nobody_in(engine):
    refused = engine.run("keyword", "serve", "keyword")
    assert refused.returncode == 2
    assert "0.0.0.0 can be reached by others" in refused.stderr


async def test_two_containers_are_one_mesh_and_end_when_they_are_told_to(containers):
    words, mesh = free_ports(2)
    listens = "RECALLMESH_SERVE__LISTEN=127.0.0.1"
    options = ("--network", "host", "--volume", DATA, "--env")
    containers.start("keyword", "serve", "keyword", name="words", options=(*options, f"{listens}:{words}"))
    elsewhere = ("--env", f"RECALLMESH_KEYWORD__ADDRESS=127.0.0.1:{words}")
    containers.start("all", "serve", "all", name="mesh", options=(*options, f"{listens}:{mesh}", *elsewhere))
    with told(containers, "words", "mesh"):
        await healthy(containers, "words")
        await healthy(containers, "mesh")
        async with open_client(f"127.0.0.1:{mesh}") as client:
            diary = client.bank("diary")
            await diary.ensure()
            await diary.retain(RetainItem(("Leo: I adopted a greyhound called Pixel.",), time=NOW), request_id="one")
            answer = await diary.recall("Who is Pixel?", query_time=NOW)
            assert [one.memory.text for one in answer.memories] == ["Leo: I adopted a greyhound called Pixel."]
            asked = RecallTuning(arms=frozenset({ArmName.KEYWORD}))
            assert len((await diary.recall("greyhound", tuning=asked)).memories) == 1
            # The words are in the other container: without it the others answer.
            containers.podman("stop", "--time", "30", "words")
            silent = await diary.recall("Who is Pixel?", query_time=NOW)
            assert len(silent.memories) == 1
            assert {arm.arm for arm in silent.arms if arm.state.value == "unavailable"} == {ArmName.KEYWORD}
        assert containers.podman("healthcheck", "run", "words", check=False).returncode != 0
        containers.podman("stop", "--time", "30", "mesh")
        for name in ("words", "mesh"):
            (seen,) = json.loads(containers.podman("inspect", name).stdout)
            assert (name, seen["State"]["ExitCode"], seen["State"]["OOMKilled"]) == (name, 0, False)


@pytest.mark.skipif(os.environ.get("RECALLMESH_TEST_IMAGES") != "all", reason="make images-test IMAGES=all runs it")
async def test_nine_containers_of_nine_images_and_a_door_are_one_mesh(containers):
    ports = dict(zip((*PARTS, "door"), free_ports(len(PARTS) + 1), strict=True))
    environment = {f"RECALLMESH_{part.upper()}__ADDRESS": f"127.0.0.1:{ports[part]}" for part in PARTS}
    shared = ("--network", "host", "--volume", f"mesh-data:{DATA}")
    shared += tuple(word for pair in environment.items() for word in ("--env", "=".join(pair)))
    for part in PARTS:
        listens = ("--env", f"RECALLMESH_SERVE__LISTEN=127.0.0.1:{ports[part]}")
        containers.start(part, "serve", part, name=part, options=(*shared, *listens))
    listens = ("--env", f"RECALLMESH_DOOR__LISTEN=127.0.0.1:{ports['door']}")
    containers.start("door", "serve", "door", name="door", options=(*shared, *listens))
    with told(containers, *ports):
        for part in PARTS:
            await healthy(containers, part)

        async def ready():
            asked = ("recallmesh", "health", f"http://127.0.0.1:{ports['door']}")
            return containers.podman("exec", "door", *asked, check=False).returncode == 0

        await until(ready, READY_S)
        sent = (
            "import json, sys, urllib.request as u; door, method, body = sys.argv[1:];"
            "ask = u.Request(f'{door}/recallmesh.v1.{method}', body.encode(), {'content-type': 'application/json'});"
            "print(u.urlopen(ask, timeout=30).read().decode())"
        )

        def call(method, body):
            asked = ("python", "-c", sent, f"http://127.0.0.1:{ports['door']}", method, json.dumps(body))
            return json.loads(containers.podman("exec", "door", *asked).stdout)

        call("BankService/CreateBank", {"bankId": "diary"})
        items = [{"content": [{"text": "Leo: I adopted a greyhound called Pixel."}], "time": "2026-03-21T10:05:00Z"}]
        call("RetainService/Retain", {"bankId": "diary", "requestId": "one", "items": items})
        answer = call("RecallService/Recall", {"bankId": "diary", "query": "Who is Pixel?"})
        assert [one["memory"]["text"] for one in answer["memories"]] == ["Leo: I adopted a greyhound called Pixel."]
        assert {arm["state"] for arm in answer["arms"]} <= {"PART_STATE_OK", "PART_STATE_SKIPPED"}
        assert len(answer["arms"]) == len(ArmName)
