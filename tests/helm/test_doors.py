"""How callers from outside get in: by one address for all public services, and by a door for HTTP."""

import json

import pytest
from rendering import BUNDLED, Refused, of_kind

from recallmesh.mesh import Part
from recallmesh.rpc import admin, recaller, retainer
from recallmesh.rpc.channel import PUBLIC

GATEWAY = {"enabled": True, "parentRefs": [{"name": "public"}]}
DOOR = {"enabled": True, "ingress": {"enabled": True, "hosts": ["memory.example.com"]}}
HOSTED = {
    Part.RECALL: {recaller.SERVICE},
    Part.RETAIN: {retainer.SERVICE},
    Part.BANK: set(admin.SERVICES),
}


def routes(objects):
    """Return which services each backend of the route gets."""
    (route,) = of_kind(objects, "GRPCRoute").values()
    return {
        rule["backendRefs"][0]["name"]: {match["method"]["service"] for match in rule["matches"]}
        for rule in route["spec"]["rules"]
    }


def test_every_public_service_is_led_to_where_it_is_hosted_and_no_other(helm):
    led = routes(helm.render({"stores": BUNDLED, "gateway": GATEWAY}))
    assert led == {f"mesh-recallmesh-{part}": services for part, services in HOSTED.items()}
    assert set().union(*led.values()) == {f"recallmesh.v1.{name}" for name in PUBLIC}


def test_the_one_pod_that_has_everything_gets_all_of_them(helm):
    (route,) = of_kind(helm.render({"mode": "embedded", "gateway": GATEWAY}), "GRPCRoute").values()
    assert {rule["backendRefs"][0]["name"] for rule in route["spec"]["rules"]} == {"mesh-recallmesh"}


@pytest.mark.parametrize("mode", [{"mode": "embedded"}, {"stores": BUNDLED}])
def test_the_door_answers_to_the_names_that_lead_to_it(helm, mode):
    objects = helm.render({**mode, "door": DOOR})
    (ingress,) = of_kind(objects, "Ingress").values()
    service = ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    ports = {port["name"] for port in of_kind(objects, "Service")[service["name"]]["spec"]["ports"]}
    assert service["port"]["name"] in ports
    hosts = json.loads(of_kind(objects, "ConfigMap")["mesh-recallmesh"]["data"]["RECALLMESH_DOOR__HOSTS"])
    assert {"memory.example.com", service["name"], f"{service['name']}.memory.svc"} <= set(hosts)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"gateway": {"enabled": True}}, r"gateway\.parentRefs: names no Gateway"),
        ({"door": {**DOOR, "enabled": False}}, r"door\.ingress: leads nowhere"),
        ({"door": {"enabled": True, "ingress": {"enabled": True}}}, r"door\.ingress\.hosts: names no host"),
        ({"door": {"enabled": True, "route": {"enabled": True, "hostnames": ["a.b"]}}}, r"door\.route\.parentRefs"),
        (
            {"stores": BUNDLED, "mode": "distributed", "recall": {"autoscaling": {"enabled": True, "cpu": 0}}},
            r"recall\.autoscaling\.cpu: is 0",
        ),
        (
            {
                "stores": BUNDLED,
                "mode": "distributed",
                "recall": {"autoscaling": {"enabled": True, "cpu": 0, "keda": {"enabled": True}}},
            },
            r"recall\.autoscaling\.keda: has no trigger",
        ),
    ],
)
def test_what_leads_nowhere_or_never_scales_is_refused(helm, given, told):
    with pytest.raises(Refused, match=told):
        helm.render({"mode": "embedded", **given})
