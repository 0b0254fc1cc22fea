"""The chart is installed: its pods come up where they should, after the migration, and nothing of it is unknown."""

from collections import Counter

import pytest

from chart.kubernetes import APIS, Refused, eventually
from chart.release import BUNDLED, STORES, Release, everything

pytestmark = [pytest.mark.chart, pytest.mark.timeout(300)]
PARTS = {"semantic", "keyword", "graph", "temporal", "recall", "retain", "bank", "embedder", "reranker", "door", "mcp"}
REPLICAS = 3
OF_HTTP = {"door", "mcp"}
VALUES = {
    "stores": STORES,
    "door": {"enabled": True},
    "mcp": {"enabled": True, "replicas": REPLICAS},
    "defaults": {"replicas": REPLICAS},
}


@pytest.fixture(scope="module")
def since(cluster):
    """The version of all jobs before anything was installed."""
    return cluster.api.version("jobs")


@pytest.fixture(scope="module")
def installed(cluster, programmes, numbers, since):  # noqa: ARG001 - it is before
    """One release for all tests here, none of which changes it."""
    made = Release(cluster, programmes["helm"], "rm", f"test-{next(numbers)}")
    made.open_namespace()
    made.install(VALUES)
    yield made
    made.close_namespace()


def test_every_part_has_its_pods_ready(installed):
    ready = {part: one["status"].get("readyReplicas") for part, one in installed.deployments().items()}
    assert ready == dict.fromkeys(PARTS, REPLICAS)


def test_the_migration_has_ended_before_any_pod_is_there(installed, since):
    states = [one for one in installed.api.since(since, "jobs") if one["metadata"]["namespace"] == installed.namespace]
    succeeded = [one for one in states if one.get("status", {}).get("succeeded")]
    ended = min(one["status"]["completionTime"] for one in succeeded)
    assert all(pod["metadata"]["creationTimestamp"] >= ended for pod in installed.pods())
    assert installed.api.list("jobs", installed.namespace) == []


def test_a_part_is_spread_over_the_zones(installed):
    zones = {
        node["metadata"]["name"]: node["metadata"]["labels"]["topology.kubernetes.io/zone"]
        for node in installed.api.list("nodes")
    }
    for part in PARTS:
        spread = Counter(zones[pod["spec"]["nodeName"]] for pod in installed.pods(part))
        assert sorted(spread.values()) == [1, 1, 1], part


def test_the_service_of_a_part_has_the_addresses_of_its_pods(installed):
    for part in PARTS - OF_HTTP:
        service = installed.api.get("services", installed.object(part), installed.namespace)
        assert service["spec"]["clusterIP"] == "None", part
        label = f"kubernetes.io/service-name={installed.object(part)}"
        slices = eventually(lambda label=label: installed.api.list("endpointslices", installed.namespace, label))
        found = {
            address
            for one in slices
            for end in one["endpoints"]
            if end["conditions"]["ready"]
            for address in end["addresses"]
        }
        assert found == {pod["status"]["podIP"] for pod in installed.pods(part)}, part
        assert {(one["name"], one["port"]) for one in slices[0]["ports"]} >= {("grpc", 7070)}, part


def test_pods_of_a_part_have_an_account_of_their_own_without_a_token(installed):
    for part in PARTS:
        specs = [pod["spec"] for pod in installed.pods(part)]
        assert {spec["serviceAccountName"] for spec in specs} == {installed.object(part)}
        assert not any(volume["name"].startswith("kube-api-access") for spec in specs for volume in spec["volumes"])


def test_helms_own_test_passes(installed):
    told = installed.test()
    assert "Phase:          Succeeded" in told
    assert installed.pods("test") == []


VARIANTS = {
    "as it comes": {"stores": STORES},
    "embedded": {"mode": "embedded"},
    "bundled": {"stores": BUNDLED},
    "everything": everything(),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_object_is_known_to_the_api_server_and_what_it_does_not_know_is_refused(release, variant):
    for made in release.manifest(VARIANTS[variant]):
        kind = kind_of(made)
        made["metadata"].pop("namespace", None)
        release.api.create(kind, made, release.namespace, dry=True)
        made["spec" if "spec" in made else "metadata"]["nobodyKnowsThis"] = "x"
        with pytest.raises(Refused) as refused:
            release.api.create(kind, made, release.namespace, dry=True)
        assert (refused.value.code, "nobodyKnowsThis" in str(refused.value)) == (400, True), kind


def kind_of(made):
    """Return the plural by which the API server knows an object's kind."""
    kind = made["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}es" if kind.endswith("s") else f"{kind}s"
    version = made["apiVersion"]
    assert APIS[plural] == ("/api/v1" if version == "v1" else f"/apis/{version}"), made
    return plural
