"""A dashboard as Grafana reads it, of rows of panels; and the few queries that all of them are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SCHEMA = 39
"""Grafana's version of this JSON: 10.4 and newer read it."""
COLUMNS = 24
HEIGHT = 8
OURS = 'namespace=~"$namespace"'
"""Narrows every query to what is chosen above; outside of Kubernetes there is no such label, and all is chosen."""
RATE = "$__rate_interval"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True)
class Query:
    """A query and how its lines are called."""

    expression: str
    legend: str = ""


@dataclass(frozen=True)
class Panel:
    """A panel: what it shows, in which unit, and what to make of it."""

    title: str
    about: str
    unit: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    width: int = 8
    stacked: bool = False


Row = tuple[str, Sequence[Panel]]


def chosen(metric: str, *conditions: str) -> str:
    """Return a metric of the processes that are looked at, where these conditions hold."""
    return f"recallmesh_{metric}{{{', '.join((OURS, *conditions))}}}"


def rate(metric: str, by: str, *conditions: str) -> str:
    """Return how many a second, summed but for these labels."""
    return f"sum by ({by}) (rate({chosen(metric, *conditions)}[{RATE}]))"


def quantile(share: float, metric: str, by: str, *conditions: str) -> str:
    """Return what this share of all stay below, for each of these labels."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share:g}, {rate(f'{metric}_bucket', labels, *conditions)})"


def mean(metric: str, by: str, *conditions: str) -> str:
    """Return the average, for each of these labels."""
    return f"{rate(f'{metric}_sum', by, *conditions)} / {rate(f'{metric}_count', by, *conditions)}"


def percentiles(metric: str, *conditions: str) -> tuple[Query, ...]:
    """Return the three that are looked at, without labels."""
    return tuple(Query(quantile(share, metric, "", *conditions), f"p{share * 100:g}") for share in (0.5, 0.95, 0.99))


def dashboard(uid: str, title: str, about: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return a dashboard."""
    panels: list[dict[str, Any]] = []
    top = 0
    for name, row in rows:
        panels.append(_placed({"type": "row", "title": name, "collapsed": False, "panels": []}, 0, top, COLUMNS, 1))
        top, left = top + 1, 0
        for panel in row:
            if left + panel.width > COLUMNS:
                top, left = top + HEIGHT, 0
            panels.append(_placed(_panel(panel), left, top, panel.width, HEIGHT))
            left += panel.width
        top += HEIGHT
    for number, one in enumerate(panels, start=1):
        one["id"] = number
    return {
        "uid": uid,
        "title": title,
        "description": about,
        "tags": ["recallmesh"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "",
        "links": [{"type": "dashboards", "title": "recallmesh", "tags": ["recallmesh"], "asDropdown": True}],
        "templating": {"list": [_datasource(), _namespace()]},
        "annotations": {"list": []},
        "panels": panels,
    }


def _placed(panel: dict[str, Any], left: int, top: int, width: int, height: int) -> dict[str, Any]:
    return panel | {"gridPos": {"x": left, "y": top, "w": width, "h": height}}


def _panel(panel: Panel) -> dict[str, Any]:
    custom: dict[str, Any] = {"fillOpacity": 60 if panel.stacked else 8, "showPoints": "never", "lineWidth": 1}
    if panel.stacked:
        custom |= {"stacking": {"mode": "normal", "group": "A"}}
    made: dict[str, Any] = {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "min": 0} | ({"custom": custom} if panel.kind == "timeseries" else {}),
            "overrides": [],
        },
        "targets": [_target(place, query, panel.kind) for place, query in enumerate(panel.queries)],
    }
    if panel.kind == "timeseries":
        made["options"] = {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    elif panel.kind == "stat":
        made["options"] = {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "none", "graphMode": "area"}
    return made


def _target(place: int, query: Query, kind: str) -> dict[str, Any]:
    made: dict[str, Any] = {"refId": chr(ord("A") + place), "expr": query.expression, "datasource": SOURCE}
    if query.legend:
        made["legendFormat"] = query.legend
    return made | ({"format": "table", "instant": True} if kind == "table" else {"range": True})


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}


def _namespace() -> dict[str, Any]:
    return {
        "name": "namespace",
        "type": "query",
        "label": "namespace",
        "datasource": SOURCE,
        "query": {"query": "label_values(recallmesh_build_info, namespace)", "refId": "namespaces"},
        "definition": "label_values(recallmesh_build_info, namespace)",
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }
