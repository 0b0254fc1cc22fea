"""The chart is upgraded: only what changed is replaced, never more than can be spared, and it goes back."""

import pytest

from chart.kubernetes import eventually
from chart.release import STORES, Failed
from chart.stages import FAILS, NEVER_READY

pytestmark = [pytest.mark.chart, pytest.mark.timeout(300)]
VALUES = {"stores": STORES}
REPLICAS = 2


def fewest(release, version):
    """Return the fewest pods that each part could be asked of, at any moment since a version."""
    found = {}
    for state in release.api.since(version, "deployments", release.namespace):
        part = state["metadata"]["labels"]["app.kubernetes.io/component"]
        found[part] = min(found.get(part, REPLICAS), state["status"].get("availableReplicas", 0))
    return found


def test_a_changed_value_of_one_part_replaces_its_pods_alone_and_takes_none_away(release):
    release.install(VALUES)
    before, pods = release.revisions(), names(release)
    version = release.api.version("deployments", release.namespace)
    release.upgrade(VALUES | {"arms": {"keyword": {"extraEnv": [{"name": "GRPC_VERBOSITY", "value": "debug"}]}}})
    assert release.revisions() == before | {"keyword": "2"}
    assert {part for part, kept in names(release).items() if kept != pods[part]} == {"keyword"}
    assert not names(release)["keyword"] & pods["keyword"]
    assert fewest(release, version).get("keyword") == REPLICAS


def test_changed_settings_reach_every_part_and_take_none_away(release):
    release.install(VALUES)
    version = release.api.version("deployments", release.namespace)
    release.upgrade(VALUES | {"settings": {"recall": {"rerank_limit": 50}}})
    assert set(release.revisions().values()) == {"2"}
    assert fewest(release, version) == dict.fromkeys(release.revisions(), REPLICAS)


def test_an_upgrade_that_never_gets_ready_takes_nothing_away_and_is_rolled_back(release):
    release.install(VALUES)
    pods, version = names(release), release.api.version("deployments", release.namespace)
    ill = {"arms": {"graph": {"image": f"recallmesh/graph:{NEVER_READY}"}}}
    with pytest.raises(Failed):
        release.upgrade(VALUES | ill, "--timeout", "10s")
    assert pods["graph"] < names(release)["graph"]
    release.roll_back(1)
    assert names(release) == pods
    assert fewest(release, version).get("graph") == REPLICAS
    assert [one["description"] for one in release.history()][-1] == "Rollback to 1"


def test_an_upgrade_whose_migration_fails_replaces_no_pod(release):
    release.install(VALUES)
    pods = names(release)
    with pytest.raises(Failed, match="pre-upgrade hooks failed"):
        release.upgrade(VALUES | {"image": {"tag": FAILS}, "migrate": {"backoffLimit": 0}})
    assert names(release) == pods
    release.roll_back(1)
    assert names(release) == pods


def test_autoscaling_that_is_switched_on_leaves_a_pod_until_the_autoscaler_has_looked(release):
    release.install(VALUES)
    version = release.api.version("deployments", release.namespace)
    release.upgrade(VALUES | {"arms": {"semantic": {"autoscaling": {"enabled": True}}}})
    eventually(lambda: len(release.pods("semantic")) == REPLICAS)
    least = fewest(release, version)
    # Helm takes the number away that it had written, and Kubernetes reads none as one.
    assert least.pop("semantic") >= 1
    assert set(least.values()) <= {REPLICAS}


def names(release):
    """Return the names of each part's pods."""
    return {part: {pod["metadata"]["name"] for pod in release.pods(part)} for part in release.deployments()}
