"""One arm is scaled by its load, by Kubernetes' own autoscaler; no other part is touched."""

import pytest

from chart.kubernetes import eventually
from chart.release import STORES

pytestmark = [pytest.mark.chart, pytest.mark.timeout(300)]
REQUESTED = 250
"""Thousandths of a processor that a pod of an arm asks for."""
SCALED = {"autoscaling": {"enabled": True, "minReplicas": 2, "maxReplicas": 5, "cpu": 80, "scaleDownS": 1}}


def test_an_arm_is_scaled_up_and_down_by_its_load_and_every_other_part_stays(release, load):
    load.set("keyword", REQUESTED * 8 // 10)
    release.install({"stores": STORES, "arms": {"keyword": SCALED}})
    pods = {part: names(release, part) for part in release.deployments()}
    load.set("keyword", REQUESTED * 2)
    eventually(
        lambda: (
            release.deployments()["keyword"]["status"].get("availableReplicas") == SCALED["autoscaling"]["maxReplicas"]
        )
    )
    load.set("keyword", REQUESTED // 10)
    eventually(lambda: len(release.pods("keyword")) == SCALED["autoscaling"]["minReplicas"], 60)
    others = {part: names(release, part) for part in pods if part != "keyword"}
    assert others == {part: kept for part, kept in pods.items() if part != "keyword"}
    scalers = release.api.list("horizontalpodautoscalers", release.namespace)
    assert [one["spec"]["scaleTargetRef"]["name"] for one in scalers] == [release.object("keyword")]


def test_an_upgrade_leaves_the_number_that_the_autoscaler_has_come_to(release, load):
    values = {"stores": STORES, "arms": {"graph": SCALED}}
    load.set("graph", REQUESTED * 8 // 10)
    release.install(values)
    load.set("graph", REQUESTED * 2)
    most = SCALED["autoscaling"]["maxReplicas"]
    eventually(lambda: release.deployments()["graph"]["status"].get("availableReplicas") == most)
    version = release.api.version("deployments", release.namespace)
    release.upgrade(values | {"settings": {"recall": {"rerank_limit": 50}}})
    counts = [
        state["status"].get("availableReplicas", 0)
        for state in release.api.since(version, "deployments", release.namespace)
        if state["metadata"]["name"] == release.object("graph")
    ]
    assert counts
    assert min(counts) >= most


def names(release, part):
    """Return the names of a part's pods."""
    return {pod["metadata"]["name"] for pod in release.pods(part)}
