"""KEDA takes the place of the cluster's autoscaler where it is asked to."""

from rendering import BUNDLED, of_kind

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
    assert {"recallmesh_rpc_seconds_sum", "recallmesh_http_seconds_sum"} <= offered
