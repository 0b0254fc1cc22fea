"""Who may reach whom by the chart's NetworkPolicies: as docs/architecture.md has it, and nobody else."""

import pytest

from chart.kubernetes import eventually
from chart.policies import EGRESS, INGRESS, Network, Outside
from chart.release import BUNDLED, PART, STORES, Release

pytestmark = [pytest.mark.chart, pytest.mark.timeout(300)]
GRPC, JSON, MCP, METRICS, DNS, WEB = 7070, 8080, 8081, 9090, 53, 443
CALLS = {
    "semantic": {"embedder"},
    "keyword": set(),
    "graph": {"embedder"},
    "temporal": {"embedder"},
    "recall": {"semantic", "keyword", "graph", "temporal", "embedder", "reranker"},
    "retain": {"semantic", "keyword", "graph", "embedder"},
    "bank": {"semantic", "keyword", "graph", "embedder"},
    "embedder": set(),
    "reranker": set(),
    "door": {"recall", "retain", "bank"},
    "mcp": {"recall", "retain", "bank"},
}
"""With the vectors on Qdrant, which the graph and the temporal arm then read there."""
PUBLIC = {"recall", "retain", "bank"}
PORTS = {"postgres": 5432, "qdrant": 6334, "opensearch": 9200, "neo4j": 7687}
OPENS = {
    "semantic": {"qdrant"},
    "keyword": {"opensearch"},
    "graph": {"qdrant", "neo4j"},
    "temporal": {"qdrant"},
    "recall": {"postgres"},
    "retain": {"postgres"},
    "bank": {"postgres"},
}
VALUES = {"stores": STORES, "door": {"enabled": True}, "mcp": {"enabled": True}, "defaults": {"replicas": 1}}
ELSEWHERE = Outside("203.0.113.7")


@pytest.fixture(scope="module")
def installed(cluster, programmes, numbers):
    """One release with all parts, beside pods of others in its namespace and in another one."""
    made = Release(cluster, programmes["helm"], "rm", f"test-{next(numbers)}")
    made.open_namespace()
    made.install(VALUES)
    yield made
    made.close_namespace()


def network(release):
    labels = {one["metadata"]["name"]: one["metadata"].get("labels", {}) for one in release.api.list("namespaces")}
    return Network(release.api.list("networkpolicies", release.namespace), labels)


def stranger(namespace):
    return {"metadata": {"namespace": namespace, "labels": {"app": "stranger"}}, "spec": {"containers": []}}


def by_part(release):
    return {pod["metadata"]["labels"][PART]: pod for pod in release.pods()}


def test_every_part_has_a_policy_of_its_own_for_both_directions(installed):
    found, parts = network(installed), by_part(installed)
    assert parts.keys() == CALLS.keys()
    for part, pod in parts.items():
        for direction in (INGRESS, EGRESS):
            assert [one["metadata"]["name"] for one in found.selecting(pod, direction)] == [installed.object(part)]


def test_a_part_is_reached_by_those_that_call_it_alone(installed):
    found, parts = network(installed), by_part(installed)
    reached = {
        part: {caller for caller, source in parts.items() if caller != part and found.lets(source, target, GRPC)}
        for part, target in parts.items()
    }
    called = {part: {caller for caller, calls in CALLS.items() if part in calls} for part in CALLS}
    assert reached == called


def test_what_is_none_of_the_meshs_reaches_the_public_services_alone(installed):
    found, parts = network(installed), by_part(installed)
    for who in (stranger(installed.namespace), stranger("default"), ELSEWHERE):
        assert {part for part, pod in parts.items() if found.lets(who, pod, GRPC)} == PUBLIC
        assert {part for part, pod in parts.items() if found.lets(who, pod, JSON)} == {"door"}
        assert {part for part, pod in parts.items() if found.lets(who, pod, MCP)} == {"mcp"}


def test_a_part_reaches_its_own_stores_and_only_retain_the_world(installed):
    found, parts = network(installed), by_part(installed)
    opened = {
        part: {store for store, port in PORTS.items() if found.lets(pod, ELSEWHERE, port)}
        for part, pod in parts.items()
    }
    assert opened == {part: OPENS.get(part, set()) for part in CALLS}
    assert {part for part, pod in parts.items() if found.lets(pod, ELSEWHERE, WEB)} == {"retain"}
    assert all(found.lets(pod, ELSEWHERE, DNS) for pod in parts.values())


def test_metrics_are_read_by_pods_and_not_from_outside(installed):
    found, parts = network(installed), by_part(installed)
    assert {part for part, pod in parts.items() if found.lets(stranger("default"), pod, METRICS)} == CALLS.keys() - {
        "mcp"
    }
    assert not any(found.lets(ELSEWHERE, pod, METRICS) for pod in parts.values())


def test_callers_may_be_named(release):
    peers = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}]
    release.install(VALUES | {"networkPolicy": {"from": peers}})
    found, parts = network(release), by_part(release)
    for part in PUBLIC:
        assert found.lets(stranger("default"), parts[part], GRPC)
        assert found.lets(parts["door"], parts[part], GRPC)
        assert not found.lets(stranger(release.namespace), parts[part], GRPC)
        assert not found.lets(ELSEWHERE, parts[part], GRPC)


def test_bundled_stores_are_reached_by_those_that_open_them_alone(release):
    release.volumes(len(STORES))
    release.install({"stores": BUNDLED, "defaults": {"replicas": 1}})
    found, parts = network(release), by_part(release)
    for store, port in PORTS.items():
        reaching = {part for part, pod in parts.items() if part != store and found.lets(pod, parts[store], port)}
        assert reaching - {"migrate"} == {part for part, stores in OPENS.items() if store in stores}
        assert not found.lets(stranger(release.namespace), parts[store], port)
        assert not found.lets(parts[store], ELSEWHERE, WEB)
    jobs = eventually(lambda: release.api.list("jobs", release.namespace))
    assert eventually(
        lambda: release.api.get("jobs", jobs[0]["metadata"]["name"], release.namespace)["status"].get("succeeded")
    )
