"""A release of the chart: installed, changed and taken away by helm, and what it comes to in its namespace."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from chart.cluster import Cluster
from chart.kubernetes import Kubernetes, Object, eventually, holds

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "recallmesh"
WAITS = "90s"
PART = "app.kubernetes.io/component"
STORES = {
    "postgres": {"url": "postgresql://recallmesh@postgres.example.com/recallmesh"},
    "qdrant": {"url": "https://qdrant.example.com:6334"},
    "opensearch": {"url": "https://opensearch.example.com:9200"},
    "neo4j": {"url": "neo4j+s://neo4j.example.com:7687"},
}
"""Stores that are elsewhere; nothing in a cluster of kwok's ever asks them."""
BUNDLED = {store: {"bundled": True} for store in STORES}


def everything() -> dict[str, Any]:
    """Return values with all that can be switched on, those of the golden."""
    values = yaml.safe_load((CHART.parents[2] / "tests/helm/values/everything.yaml").read_text(encoding="utf-8"))
    for way in ("alerts", "dashboards"):
        values["monitoring"][way] = {"enabled": True}
    return values


class Failed(Exception):
    """Helm did not do it; the message is its own, and what the pods say that are not ready."""


@dataclass(frozen=True, slots=True)
class Release:
    """A name in a namespace of a cluster, where the chart is or will be installed."""

    cluster: Cluster
    helm: Path
    name: str
    namespace: str

    @property
    def api(self) -> Kubernetes:
        """What the cluster is asked by."""
        return self.cluster.api

    def open_namespace(self) -> None:
        """Make its namespace, where pods that may do more than they need are refused; pods may be started there."""
        metadata = {"name": self.namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        self.api.create("namespaces", body)
        eventually(lambda: self.api.list("serviceaccounts", self.namespace))

    def close_namespace(self) -> None:
        """Take away the namespace with all that is in it; nothing waits for that."""
        self.api.delete("namespaces", self.namespace)

    def object(self, part: str) -> str:
        """Return how the objects of a part are called."""
        return f"{self.name}-recallmesh-{part}"

    def pods(self, part: str = "") -> list[Object]:
        """Return its pods, or those of a part, that are not leaving."""
        labels = f"app.kubernetes.io/instance={self.name}" + (f",{PART}={part}" if part else "")
        pods = self.api.list("pods", self.namespace, labels)
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]

    def deployments(self) -> dict[str, Object]:
        """Return its deployments by part."""
        found = self.api.list("deployments", self.namespace)
        return {one["metadata"]["labels"][PART]: one for one in found}

    def volumes(self, count: int) -> None:
        """Have volumes ready, as an administrator would, for claims that name no class."""
        for number in range(count):
            name = f"{self.namespace}-{number}"
            spec = {
                "capacity": {"storage": "100Gi"},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Delete",
                "hostPath": {"path": f"/nowhere/{name}"},
            }
            body = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
            self.api.create("persistentvolumes", body)

    def claim(self, name: str) -> None:
        """Claim a volume, as an operator would for what the values name."""
        self.volumes(1)
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
        self.api.create("persistentvolumeclaims", body, self.namespace)

    def revisions(self) -> dict[str, str]:
        """Return for each part which revision of its pods is wanted."""
        kept = "deployment.kubernetes.io/revision"
        return {part: one["metadata"]["annotations"][kept] for part, one in self.deployments().items()}

    def install(self, values: Mapping[str, Any], *words: str) -> str:
        """Install the chart and wait until all pods are ready."""
        return self._run("install", self.name, str(CHART), "--wait", "--timeout", WAITS, *words, values=values)

    def upgrade(self, values: Mapping[str, Any], *words: str) -> str:
        """Bring it to these values, all of them, and wait until all pods are ready."""
        return self._run("upgrade", self.name, str(CHART), "--wait", "--timeout", WAITS, *words, values=values)

    def roll_back(self, revision: int) -> str:
        """Bring it back to a revision, from 1."""
        return self._run("rollback", self.name, str(revision), "--wait", "--timeout", WAITS)

    def test(self) -> str:
        """Run its tests."""
        return self._run("test", self.name, "--timeout", WAITS)

    def uninstall(self) -> str:
        """Take it away, and wait until it is gone."""
        return self._run("uninstall", self.name, "--wait", "--timeout", WAITS)

    def history(self) -> Sequence[Mapping[str, Any]]:
        """Return its revisions."""
        return json.loads(self._run("history", self.name, "--output", "json"))

    def manifest(self, values: Mapping[str, Any], *words: str) -> list[dict[str, Any]]:
        """Return what would be installed, hooks too, without asking the cluster."""
        printed = self._run("template", self.name, str(CHART), *words, values=values)
        return [one for one in yaml.safe_load_all(printed) if one]

    def _run(self, *words: str, values: Mapping[str, Any] | None = None) -> str:
        # helm reads plugins and repositories of whoever runs it: here there are none.
        home = {
            name: str(self.cluster.folder / "helm")
            for name in ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")
        }
        told = [] if values is None else ["--values", "-"]
        done = subprocess.run(
            [
                str(self.helm),
                *words,
                *told,
                "--namespace",
                self.namespace,
                "--kubeconfig",
                str(self.cluster.kubeconfig),
            ],
            env={**os.environ, **home},
            input=None if values is None else yaml.safe_dump(dict(values)),
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Failed("\n".join((done.stderr.strip(), *self._unready())))
        return done.stdout

    def _unready(self) -> Iterator[str]:
        """Tell of each pod that is not ready, which is what helm waits for."""
        for pod in self.api.list("pods", self.namespace):
            if not holds(pod, "Ready"):
                met = {one["type"]: one["status"] for one in pod["status"].get("conditions", ())}
                yield f"{pod['metadata']['name']}: {pod['status'].get('phase')} {met}"
