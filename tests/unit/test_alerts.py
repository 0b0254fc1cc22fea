"""Alerts and dashboards ask for metrics that there are, and every alert has a page that says what to do."""

import json
import os
import re
import shutil
import subprocess

import pytest
import yaml
from promql import ALERTS, DASHBOARDS, DEPLOY, alerts, grouped_by, panels, selectors

from recallmesh.telemetry.metrics import Metrics

DOCS = DEPLOY.parent / "docs"
TESTS = DEPLOY.parent / "tests"
KNOWN = {one.name: one for one in Metrics().described}
SCRAPED = {"namespace", "job", "instance"}
"""Labels that whoever scrapes adds."""
ENDS = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}
SERIES = {one.name + end: one for one in KNOWN.values() for end in ENDS[one.kind]}
PROCESS = {"process_cpu_seconds_total", "process_resident_memory_bytes"}
QUERIES = [
    *[("alerts", rule["alert"], rule["expr"]) for rule in alerts()],
    *panels(),
]
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None and not os.environ.get("CI"), reason="no promtool: Debian's prometheus has it"
)


EVENTS = (
    "cannot start yet", "part not ready", "slow recall", "port call failed", "rpc failed", "caller refused",
    "outbox.deferred", "jobs.operation_waits", "webhooks.post_failed",
)  # fmt: skip
"""The log lines that the runbooks look for."""
CODE = "".join(
    path.read_text(encoding="utf-8")
    for top in ("services", "shared")
    for path in sorted((DEPLOY.parent / top).rglob("*.py"))
)


def ids(query):
    return f"{query[0]}-{query[1]}"


@pytest.mark.parametrize("query", QUERIES, ids=ids)
def test_a_query_asks_for_metrics_and_labels_that_there_are(query):
    asked = selectors(query[2])
    assert asked
    kept = set(SCRAPED)
    for selector in asked:
        if selector.name in PROCESS:
            continue
        metric = SERIES[selector.name]
        kept |= {*metric.labels, *({"le"} if selector.name.endswith("_bucket") else ())}
        assert {label for label, *_ in selector.conditions} <= {*metric.labels, *SCRAPED}, selector
    assert grouped_by(query[2]) <= kept


def test_the_queries_are_read_as_prometheus_reads_them():
    [one, other] = selectors('sum by (arm) (rate(recallmesh_a_total{arm="x", state!~"b|c"}[5m])) / recallmesh_b')
    assert (one.name, other.name) == ("recallmesh_a_total", "recallmesh_b")
    assert one.admits({"arm": "x", "state": "a"})
    assert not one.admits({"arm": "x", "state": "b"})
    assert other.admits({})
    assert grouped_by("sum by (le, arm) (x)") == {"le", "arm"}


def test_every_metric_is_looked_at_by_somebody():
    asked = {SERIES[one.name].name for *_, expression in QUERIES for one in selectors(expression) if one.name in SERIES}
    assert sorted(KNOWN.keys() - asked) == ["recallmesh_http_seconds"]


def test_every_alert_says_how_bad_it_is_and_where_to_read_on():
    for rule in alerts():
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert {"summary", "description"} <= rule["annotations"].keys()
        assert rule["annotations"]["runbook"] == f"docs/runbooks.md#{rule['alert'].lower()}"


def test_every_alert_has_a_heading_of_its_own_in_the_runbooks_and_nothing_else_has():
    text = (DOCS / "runbooks.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\w+)$", text, re.MULTILINE)
    assert headings == sorted(set(headings), key=headings.index)
    assert set(headings) == {rule["alert"] for rule in alerts()}
    anchors = {heading.lower() for heading in headings}
    assert set(re.findall(r"\(#(\w+)\)", text)) <= anchors


def test_what_the_runbooks_quote_of_dashboards_and_logs_is_there():
    text = (DOCS / "runbooks.md").read_text(encoding="utf-8")
    titles = [title for _, title, _ in panels()]
    for quoted in re.findall(r'"([A-Z][^"]+)"', text):
        assert any(title.startswith(quoted) for title in titles), quoted
    for event in EVENTS:
        assert f'"{event}"' in CODE
        assert f"`{event}`" in text


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_is_whole(path):
    board = json.loads(path.read_text(encoding="utf-8"))
    assert board["uid"] == f"recallmesh-{path.stem}"
    ids = [panel["id"] for panel in board["panels"]]
    assert ids == list(range(1, len(ids) + 1))
    taken = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        taken |= cells
        if panel["type"] != "row":
            assert panel["targets"]
            assert panel["fieldConfig"]["defaults"]["unit"]
    assert [variable["name"] for variable in board["templating"]["list"]] == ["datasource", "namespace"]


def test_there_are_four_dashboards():
    assert [path.stem for path in DASHBOARDS] == ["arms", "recall", "retain", "stores"]


def promtool(*words):
    told = subprocess.run([PROMTOOL, *words], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr


@needs_promtool
def test_prometheus_takes_the_alerts():
    promtool("check", "rules", str(ALERTS))


@needs_promtool
def test_prometheus_takes_every_query_of_the_dashboards(tmp_path):
    rules = [{"record": f"panel:{number}", "expr": query} for number, (*_, query) in enumerate(panels())]
    path = tmp_path / "panels.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}), encoding="utf-8")
    promtool("check", "rules", str(path))


@needs_promtool
def test_alerts_fire_when_they_should_and_not_before():
    promtool("test", "rules", str(TESTS / "alerts.yaml"))
