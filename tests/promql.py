"""What queries ask for: the series that they name, out of the dashboards and the alerts."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

DEPLOY = Path(__file__).parents[1] / "deploy"
ALERTS = DEPLOY / "alerts" / "recallmesh.yaml"
DASHBOARDS = sorted((DEPLOY / "grafana").glob("*.json"))
VARIABLES = {"$__rate_interval": "1m", "$namespace": ".*"}
_SELECTOR = re.compile(r"\b((?:recallmesh|process)_[a-z_]+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'\s*([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"\s*,?')
_GROUPING = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")


@dataclass(frozen=True)
class Selector:
    """Series of one name, as far as these conditions hold."""

    name: str
    conditions: tuple[tuple[str, str, str], ...]

    def admits(self, labels: dict[str, str]) -> bool:
        """Tell whether series with these labels are asked for."""
        return all(_holds(labels.get(label, ""), how, value) for label, how, value in self.conditions)


def selectors(expression: str) -> list[Selector]:
    """Return what a query asks for."""
    return [
        Selector(name, tuple(_MATCHER.findall(conditions or ""))) for name, conditions in _SELECTOR.findall(expression)
    ]


def grouped_by(expression: str) -> set[str]:
    """Return the labels that a query keeps apart."""
    return {label.strip() for group in _GROUPING.findall(expression) for label in group.split(",") if label.strip()}


def alerts() -> list[dict]:
    """Return the rules of all alerts."""
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[tuple[str, str, str]]:
    """Return every query of every dashboard: where it is, under which title, and the query with all chosen."""
    found = []
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
            for target in panel.get("targets", ()):
                expression = target["expr"]
                for name, value in VARIABLES.items():
                    expression = expression.replace(name, value)
                found.append((path.stem, panel["title"], expression))
    return found


def _holds(value: str, how: str, wanted: str) -> bool:
    same = bool(re.fullmatch(wanted, value)) if "~" in how else value == wanted
    return not same if how.startswith("!") else same
