"""What the chart adds for others (routes, monitors, autoscalers of KEDA) is taken, and names what is there."""

import pytest

from chart.kubernetes import Refused
from chart.release import CHART, Release, everything

pytestmark = [pytest.mark.chart, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def installed(cluster, programmes, numbers):
    """One release with everything that can be switched on."""
    made = Release(cluster, programmes["helm"], "rm", f"test-{next(numbers)}")
    made.open_namespace()
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1}
    cluster.api.create("priorityclasses", priority)
    made.claim("model")
    made.install(everything())
    yield made
    made.close_namespace()


def services(release):
    return {one["metadata"]["name"]: one for one in release.api.list("services", release.namespace)}


def ports(service):
    return {port["port"] for port in service["spec"]["ports"]}


def test_routes_lead_to_services_and_ports_that_are_there(installed):
    found, led = services(installed), set()
    for kind in ("grpcroutes", "httproutes"):
        for route in installed.api.list(kind, installed.namespace):
            for rule in route["spec"]["rules"]:
                for backend in rule["backendRefs"]:
                    assert backend["port"] in ports(found[backend["name"]]), backend
                    led.add((kind, backend["name"]))
    parts = {"grpcroutes": ("recall", "retain", "bank"), "httproutes": ("door",)}
    assert led == {(kind, installed.object(part)) for kind, names in parts.items() for part in names}


def test_ingresses_lead_to_services_and_ports_that_are_there(installed):
    found, led = services(installed), set()
    for ingress in installed.api.list("ingresses", installed.namespace):
        for rule in ingress["spec"]["rules"]:
            for path in rule["http"]["paths"]:
                backend = path["backend"]["service"]
                names = {port["name"] for port in found[backend["name"]]["spec"]["ports"]}
                assert backend["port"]["name"] in names
                led.add(backend["name"])
    assert led == {installed.object("door"), installed.object("mcp")}


def test_the_monitor_selects_the_service_of_every_part_that_has_metrics(installed):
    (monitor,) = installed.api.list("servicemonitors", installed.namespace)
    labels = ",".join(f"{key}={value}" for key, value in monitor["spec"]["selector"]["matchLabels"].items())
    (port,) = {end["port"] for end in monitor["spec"]["endpoints"]}
    read = {
        one["metadata"]["name"]
        for one in installed.api.list("services", installed.namespace, labels)
        if port in {told["name"] for told in one["spec"]["ports"]}
    }
    assert read == {installed.object(part) for part in installed.deployments().keys() - {"mcp"}}


def test_keda_scales_deployments_that_nothing_else_scales(installed):
    scaled = {one["spec"]["scaleTargetRef"]["name"] for one in installed.api.list("scaledobjects", installed.namespace)}
    assert scaled == {installed.object("graph"), installed.object("reranker")}
    own = {
        one["spec"]["scaleTargetRef"]["name"]
        for one in installed.api.list("horizontalpodautoscalers", installed.namespace)
    }
    assert own == {installed.object("semantic")}
    deployed = {one["metadata"]["name"] for one in installed.deployments().values()}
    assert scaled | own <= deployed


def test_a_certificate_has_the_name_of_every_service(installed):
    (certificate,) = installed.api.list("certificates", installed.namespace)
    assert set(services(installed)) <= set(certificate["spec"]["dnsNames"])


def test_every_file_of_alerts_is_a_rule_that_the_operator_takes_and_of_dashboards_one_for_grafana(installed):
    rules = installed.api.list("prometheusrules", installed.namespace)
    boards = installed.api.list("configmaps", installed.namespace, "grafana_dashboard=1")
    assert len(rules) == len(list(CHART.glob("files/alerts/*.yaml")))
    assert all(group["rules"] for one in rules for group in one["spec"]["groups"])
    assert len(boards) == len(list(CHART.glob("files/grafana/*.json")))


def test_what_a_kind_of_others_does_not_know_is_refused(installed):
    (route,) = installed.api.list("grpcroutes", installed.namespace)
    wrong = {
        **route,
        "metadata": {"name": "wrong"},
        "spec": {**route["spec"], "rules": [{"backendRefs": [{"port": 1}]}]},
    }
    with pytest.raises(Refused, match="name: Required value") as refused:
        installed.api.create("grpcroutes", wrong, installed.namespace, dry=True)
    assert refused.value.reason == "Invalid"
