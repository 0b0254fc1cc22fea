"""The chart knows what the code does: who calls whom, which stores each opens, which health names there are."""

from contextlib import suppress

import pytest
from rendering import BUNDLED, environment, of_kind, pods

from recallmesh.core.encoder import EmbedderInfo
from recallmesh.core.errors import MeshError
from recallmesh.doorway import PUBLIC, place
from recallmesh.mesh import ALL_PARTS, Part, open_assembly
from recallmesh.rpc.channel import STAYING
from recallmesh.rpc.readiness import PROCESS
from recallmesh.serve import host
from recallmesh.settings import load_settings

STORES = {"ledger": "postgres", "vectors": "qdrant"}
"""What an assembly calls what it has built, and the chart the server that has it."""
OWN = {Part.KEYWORD: {"opensearch"}, Part.GRAPH: {"neo4j"}}
"""The stores of one arm alone."""
FIRST_PORT = 1
"""Where nobody listens: what is built tries to, and that is all that is looked at."""
PORTS = {part: FIRST_PORT + number for number, part in enumerate(sorted(ALL_PARTS))}


@pytest.fixture(scope="module")
def policies(helm):
    return of_kind(
        helm.render({"stores": BUNDLED, "door": {"enabled": True}, "mcp": {"enabled": True}}), "NetworkPolicy"
    )


def components(rules, port):
    """Return the components that rules of a policy let through on a port."""
    peers = (
        peer
        for rule in rules
        if {"port": port} in rule["ports"]
        for key in ("from", "to")
        for peer in rule.get(key, ())
        if "podSelector" in peer
    )
    return {peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for peer in peers}


class KnownEmbedder:
    """Says what it is, and nothing else."""

    async def info(self):
        return EmbedderInfo("known", "fingerprint", 384, 512, cosine_mean=0.6, cosine_high=0.8)


async def built(part, tmp_path, embedder=None):
    """Return what a process that hosts a part has opened, in the assembly's own words."""
    elsewhere = {one.value: {"address": f"127.0.0.1:{PORTS[one]}"} for one in ALL_PARTS}
    elsewhere["semantic"]["qdrant_url"] = "http://127.0.0.1:99"
    settings = load_settings(data=tmp_path, **elsewhere)
    async with open_assembly(settings, frozenset({part}), embedder=embedder) as assembly:
        # Nobody is there; what it wanted of whom is known all the same.
        with suppress(MeshError):
            await host(assembly, frozenset({part}))
        return set(assembly._built)


@pytest.mark.parametrize("part", sorted(ALL_PARTS))
async def test_a_service_may_reach_what_its_code_calls_and_no_other(policies, part, tmp_path):
    opened = await built(part, tmp_path)
    called = {one.value for one in ALL_PARTS if f"channel 127.0.0.1:{PORTS[one]}" in opened}
    egress = policies[f"mesh-recallmesh-{part}"]["spec"]["egress"]
    assert components(egress, 7070) == called


@pytest.mark.parametrize("part", sorted(ALL_PARTS))
async def test_a_service_may_reach_the_stores_that_its_code_opens_and_no_other(policies, part, tmp_path):
    opened = await built(part, tmp_path, KnownEmbedder())
    stores = {STORES[name] for name in {key.partition(" ")[0] for key in opened} if name in STORES} | OWN.get(
        part, set()
    )
    egress = policies[f"mesh-recallmesh-{part}"]["spec"]["egress"]
    ports = {"postgres": 5432, "qdrant": 6334, "opensearch": 9200, "neo4j": 7687}
    assert {store for store, port in ports.items() if components(egress, port)} == stores


def test_who_may_reach_a_service_is_who_may_call_it(policies):
    for part in (one for one in ALL_PARTS if one not in PUBLIC):
        callers = {
            other.value
            for other in ALL_PARTS
            if part.value in components(policies[f"mesh-recallmesh-{other}"]["spec"]["egress"], 7070)
        }
        assert components(policies[f"mesh-recallmesh-{part}"]["spec"]["ingress"], "grpc") == callers
        assert callers


@pytest.mark.parametrize("way", ["door", "mcp"])
def test_what_speaks_http_may_reach_the_public_services(policies, way):
    egress = policies[f"mesh-recallmesh-{way}"]["spec"]["egress"]
    assert components(egress, 7070) == {part.value for part in PUBLIC}


def test_the_door_finds_what_it_calls(helm, monkeypatch):
    (config,) = of_kind(helm.render({"stores": BUNDLED, "door": {"enabled": True}}), "ConfigMap").values()
    for name, value in config["data"].items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert {place(settings, part) for part in PUBLIC} == {f"dns:///mesh-recallmesh-{part}:7070" for part in PUBLIC}


NEXT = {"enabled": True, "modelDir": "/models/next", "resources": {"requests": {"cpu": "3"}}}


@pytest.fixture(scope="module")
def changing(helm):
    return helm.render({"stores": BUNDLED, "embedderNext": NEXT})


def test_a_second_model_is_where_all_look_for_it_and_alone_where_it_is(changing, monkeypatch):
    found = {}
    for part in ("recall", "embedder-next"):
        with monkeypatch.context() as patched:
            for name, value in environment(changing, pods(changing)[part]).items():
                patched.setenv(name, value)
            found[part] = load_settings().embedder
    assert found["recall"].next.address == "dns:///mesh-recallmesh-embedder-next:7070"
    assert found["recall"].address == "dns:///mesh-recallmesh-embedder:7070"
    assert not found["embedder-next"].next.is_set
    assert str(found["embedder-next"].model_dir) == "/models/next"
    (container,) = pods(changing)["embedder-next"]["containers"]
    assert (container["args"], container["image"]) == (["serve", "embedder"], "recallmesh/embedder:0.1.0")
    assert container["resources"]["requests"] == {"cpu": "3", "memory": "512Mi"}


def test_who_calls_the_one_model_may_call_the_other(changing):
    made = of_kind(changing, "NetworkPolicy")
    reaching = [components(made[f"mesh-recallmesh-{part}"]["spec"]["egress"], 7070) for part in ALL_PARTS]
    assert {"embedder-next" in one for one in reaching if "embedder" in one} == {True}
    assert not any("embedder-next" in one for one in reaching if "embedder" not in one)
    first, second = (
        components(made[f"mesh-recallmesh-{name}"]["spec"]["ingress"], "grpc") for name in ("embedder", "embedder-next")
    )
    assert second == first | {"migrate"}


def test_the_second_models_vectors_are_made_room_for_once_its_embedder_is_there(changing, monkeypatch):
    job = of_kind(changing, "Job")["mesh-recallmesh-migrate-next"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "post-install,post-upgrade"
    for name, value in environment(changing, job["spec"]["template"]["spec"]).items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.embedder.next.address == "dns:///mesh-recallmesh-embedder-next:7070"
    assert settings.embedder.address is None
    assert settings.auth.mesh_key_file is not None
    assert settings.semantic.qdrant_url is not None


def test_pods_are_probed_by_the_names_that_the_health_service_has(helm):
    (container,) = pods(helm.render({"mode": "embedded"}))["mesh"]["containers"]
    assert container["livenessProbe"]["grpc"]["service"] == STAYING
    assert container["readinessProbe"]["grpc"].get("service", "") == PROCESS
