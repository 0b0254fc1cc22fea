"""The Helm chart as helm renders it, without a cluster."""

import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart.programmes import Workshop
from store_servers.server import Missing

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy" / "helm" / "recallmesh"
PROGRAMMES = ROOT / ".servers" / "chart"
KUBERNETES = "1.37.0"
EXAMPLES = sorted((CHART / "examples").glob("*.yaml"))
VALUES = [*EXAMPLES, *sorted((ROOT / "tests" / "helm" / "values").glob("*.yaml"))]
"""The values that everything rendered is looked at for."""
OURS = re.compile("RECALLMESH_.*")
SECRET = "x" * 40
TOLD = {"RECALLMESH_LEDGER__URL": f"postgresql://recallmesh:{SECRET}@postgres/recallmesh"}
"""What a Secret would hold that is of a form of its own."""
Values = Mapping[str, Any]
Objects = list[dict[str, Any]]

BUNDLED = {
    "postgres": {"bundled": True, "password": "made-for-tests-postgres"},
    "qdrant": {"bundled": True, "apiKey": "made-for-tests-qdrant"},
    "opensearch": {"bundled": True},
    "neo4j": {"bundled": True, "password": "made-for-tests-neo4j"},
}
"""Stores of the chart's own, whose passwords are not made anew with each rendering."""


class Refused(Exception):
    """Helm would not render these values; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Helm:
    """The command, with the chart."""

    path: Path
    _rendered: dict[str, Objects] = field(default_factory=dict)
    """What was rendered before, by its values: tests look, and change nothing."""

    def print(self, *values: Values | Path, words: Iterable[str] = ()) -> str:
        """Return what these values, the later ones on top, are rendered to, as helm prints it.

        Raises:
            Refused: they cannot be.

        """
        return self._run("template", "mesh", str(CHART), "--namespace", "memory", *words, values=values)

    def render(self, *values: Values | Path, words: Iterable[str] = ()) -> Objects:
        """Return the objects of these values."""
        asked = json.dumps([*values, *words], default=str, sort_keys=True)
        if asked not in self._rendered:
            printed = yaml.load_all(self.print(*values, words=words), Loader=yaml.CSafeLoader)
            self._rendered[asked] = [one for one in printed if one]
        return self._rendered[asked]

    def lint(self, *values: Values | Path) -> str:
        """Return what helm's linter says."""
        return self._run("lint", "--strict", str(CHART), values=values)

    def _run(self, *words: str, values: Iterable[Values | Path]) -> str:
        given = [one if isinstance(one, Path) else None for one in values]
        told = [word for one in given for word in ("--values", str(one) if one else "-")]
        # Of values that are no file there is one: helm reads its standard input once.
        inline = [one for one in values if not isinstance(one, Path)]
        done = subprocess.run(
            [str(self.path), *words, "--kube-version", KUBERNETES, *told],
            input=json.dumps(inline[0]) if inline else None,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Refused(done.stderr + done.stdout)
        return done.stdout


def find_helm() -> Helm:
    """Return helm, built if need be; a test is skipped where it cannot be, and fails in CI."""
    try:
        return Helm(Workshop(PROGRAMMES, print).build(("helm",))["helm"])
    except Missing as missing:
        if os.environ.get("CI"):
            pytest.fail(f"helm: {missing}", pytrace=False)
        pytest.skip(f"helm: {missing}")


def of_kind(objects: Objects, kind: str) -> dict[str, dict[str, Any]]:
    """Return the objects of a kind by their names."""
    return {one["metadata"]["name"]: one for one in objects if one["kind"] == kind}


def pods(objects: Objects) -> dict[str, dict[str, Any]]:
    """Return the pod specs of everything that makes pods, by component."""
    found = {}
    for one in objects:
        if one["kind"] in ("Deployment", "StatefulSet", "Job", "CronJob"):
            template = (one["spec"]["jobTemplate"] if one["kind"] == "CronJob" else one)["spec"]["template"]
            found[template["metadata"]["labels"]["app.kubernetes.io/component"]] = template["spec"]
    return found


def environment(objects, spec):
    """Return the variables of ours that the container of a pod has: of the ConfigMap first, then its own."""
    configs = of_kind(objects, "ConfigMap")
    (container,) = spec["containers"]
    found = {}
    for source in container.get("envFrom", ()):
        found |= configs[source["configMapRef"]["name"]]["data"]
    for variable in container.get("env", ()):
        name = variable["name"]
        field = variable.get("valueFrom", {})
        made = "4" if "resourceFieldRef" in field else TOLD.get(name, SECRET)
        found[name] = variable.get("value", made)
    return {name: value for name, value in found.items() if OURS.fullmatch(name)}
