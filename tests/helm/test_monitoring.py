"""Prometheus and Grafana get what deploy/ has for them, as it is."""

import json

import pytest
import yaml
from rendering import BUNDLED, ROOT, of_kind

SEEN = {"serviceMonitor": {"enabled": True}, "alerts": {"enabled": True}, "dashboards": {"enabled": True}}


@pytest.fixture(scope="module")
def objects(helm):
    return helm.render({"stores": BUNDLED, "door": {"enabled": True}, "mcp": {"enabled": True}, "monitoring": SEEN})


def test_every_file_of_alerts_is_a_rule(objects):
    kept = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in (ROOT / "deploy" / "alerts").glob("*.yaml")]
    assert kept
    assert [one["spec"] for one in of_kind(objects, "PrometheusRule").values()] == kept


def test_every_dashboard_is_a_map_that_grafanas_sidecar_finds(objects):
    maps = [one for one in of_kind(objects, "ConfigMap").values() if "grafana_dashboard" in one["metadata"]["labels"]]
    told = {name: json.loads(text) for one in maps for name, text in one["data"].items()}
    files = (ROOT / "deploy" / "grafana").glob("*.json")
    assert told == {path.name: json.loads(path.read_text(encoding="utf-8")) for path in files}
    assert len(told) == len(maps) >= 4


def test_what_has_metrics_is_read_and_nothing_else(objects):
    (monitor,) = of_kind(objects, "ServiceMonitor").values()
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    (end,) = monitor["spec"]["endpoints"]
    read = {
        name.removeprefix("mesh-recallmesh-")
        for name, service in of_kind(objects, "Service").items()
        if wanted <= service["metadata"]["labels"].items()
        and end["port"] in {port["name"] for port in service["spec"]["ports"]}
    }
    offering = {
        name.removeprefix("mesh-recallmesh-")
        for name, deployment in of_kind(objects, "Deployment").items()
        for port in deployment["spec"]["template"]["spec"]["containers"][0]["ports"]
        if port["name"] == "metrics"
    }
    assert read == offering
    assert len(read) == 10


def test_a_store_that_is_bundled_is_that_of_the_composed_ones(objects):
    file = ROOT / "deploy" / "stores.yaml"
    composed = {
        name: one["image"] for name, one in yaml.safe_load(file.read_text(encoding="utf-8"))["services"].items()
    }
    bundled = {
        name.removeprefix("mesh-recallmesh-"): one["spec"]["template"]["spec"]["containers"][0]["image"]
        for name, one in of_kind(objects, "StatefulSet").items()
    }
    assert bundled == composed
