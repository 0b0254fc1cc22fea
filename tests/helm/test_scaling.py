"""KEDA takes the place of the cluster's autoscaler where it is asked to."""

import pytest
from rendering import BUNDLED, Refused, of_kind

from recallmesh.core.arm import ArmName
from recallmesh.parts import INDEXING_ARMS
from recallmesh.telemetry.metrics import Metrics

KEDA = {"enabled": True, "keda": {"enabled": True, "inFlight": 8}}


def triggers(helm, part, scaling):
    objects = helm.render({"stores": BUNDLED, **part(scaling)})
    (scaled,) = of_kind(objects, "ScaledObject").values()
    assert of_kind(objects, "HorizontalPodAutoscaler") == {}
    return {one["type"]: one for one in scaled["spec"]["triggers"]}


def test_an_arm_is_kept_at_so_many_calls_in_flight_a_pod(helm):
    found = triggers(helm, lambda scaling: {"arms": {"graph": {"autoscaling": scaling}}}, KEDA)
    assert sorted(found) == ["cpu", "prometheus"]
    own = found["prometheus"]["metadata"]
    assert own["threshold"] == "8"
    assert own["query"] == (
        'sum(rate(recallmesh_rpc_seconds_sum{namespace="memory",service="mesh-recallmesh-graph"}[1m]))'
    )


def test_an_arm_is_kept_so_near_to_what_was_retained(helm):
    scaling = {"enabled": True, "cpu": 0, "keda": {"enabled": True, "outboxLagS": 30}}
    (arm,) = triggers(helm, lambda own: {"arms": {"keyword": {"autoscaling": own}}}, scaling).values()
    assert (arm["metricType"], arm["metadata"]["threshold"]) == ("Value", "30")
    told = 'recallmesh_outbox_lag_seconds{namespace="memory",service="mesh-recallmesh-retain"'
    assert arm["metadata"]["query"] == f'max({told},arm="keyword"}})'
    (retain,) = triggers(helm, lambda own: {"retain": {"autoscaling": own}}, scaling).values()
    assert retain["metadata"]["query"] == f"max({told}}})"


@pytest.mark.parametrize("part", sorted(ArmName))
def test_only_what_the_outbox_brings_changes_to_can_lag(helm, part):
    scaling = {"enabled": True, "keda": {"enabled": True, "outboxLagS": 30}}
    given = {"stores": BUNDLED, "arms": {part.value: {"autoscaling": scaling}}}
    if part in INDEXING_ARMS:
        helm.render(given)
    else:
        with pytest.raises(Refused, match=rf"{part}\.autoscaling\.keda\.outboxLagS: nothing waits for it"):
            helm.render(given)


def test_processors_are_not_looked_at_when_they_are_said_not_to_count(helm):
    found = triggers(helm, lambda scaling: {"recall": {"autoscaling": scaling}}, {**KEDA, "cpu": 0})
    assert sorted(found) == ["prometheus"]


def test_the_door_is_scaled_by_its_own_requests(helm):
    found = triggers(helm, lambda scaling: {"door": {"enabled": True, "autoscaling": scaling}}, KEDA)
    assert "recallmesh_http_seconds_sum" in found["prometheus"]["metadata"]["query"]


def test_the_metrics_that_it_asks_for_are_offered():
    offered = {sample.name for metric in Metrics().registry.collect() for sample in metric.samples} | {
        f"{metric.name}_sum" for metric in Metrics().registry.collect() if metric.type == "histogram"
    }
    offered |= {metric.name for metric in Metrics().registry.collect()}
    assert {"recallmesh_rpc_seconds_sum", "recallmesh_http_seconds_sum", "recallmesh_outbox_lag_seconds"} <= offered
