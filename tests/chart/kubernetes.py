"""A Kubernetes API as tests ask it: objects as they are sent, refusals as errors, and what happened since."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx

Object = dict[str, Any]
GROUPS = {
    "": (
        "configmaps",
        "events",
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "secrets",
        "serviceaccounts",
        "services",
    ),
    "apiextensions.k8s.io/v1": ("customresourcedefinitions",),
    "apiregistration.k8s.io/v1": ("apiservices",),
    "apps/v1": ("deployments", "replicasets", "statefulsets"),
    "autoscaling/v2": ("horizontalpodautoscalers",),
    "batch/v1": ("cronjobs", "jobs"),
    "cert-manager.io/v1": ("certificates",),
    "discovery.k8s.io/v1": ("endpointslices",),
    "gateway.networking.k8s.io/v1": ("grpcroutes", "httproutes"),
    "keda.sh/v1alpha1": ("scaledobjects",),
    "monitoring.coreos.com/v1": ("prometheusrules", "servicemonitors"),
    "networking.k8s.io/v1": ("ingresses", "networkpolicies"),
    "policy/v1": ("poddisruptionbudgets",),
    "rbac.authorization.k8s.io/v1": ("rolebindings", "roles"),
    "scheduling.k8s.io/v1": ("priorityclasses",),
}
"""The kinds that are looked at, by group and version."""
APIS = {kind: f"/apis/{group}" if group else "/api/v1" for group, kinds in GROUPS.items() for kind in kinds}
WITHIN_S = 30.0
"""How long what a controller does may take; idle, hardly one takes a second."""
LOOK_S = 0.1


class Refused(Exception):
    """The API server did not do it: ``code`` as of HTTP, ``reason`` in a word, and its message."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        """Keep what the server's Status says."""
        super().__init__(message)
        self.code = code
        self.reason = reason


class Kubernetes:
    """One API server. Objects are dictionaries, as in its JSON; a kind is its plural in small letters."""

    def __init__(self, http: httpx.Client) -> None:
        """``http`` knows the server's address, whom to believe and who asks."""
        self._http = http

    def is_ready(self) -> bool:
        """Whether the server answers and all that it starts with has started."""
        try:
            return self._http.get("/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def get(self, kind: str, name: str, namespace: str = "") -> Object:
        """Return an object, or raise Refused with 404."""
        return self._ask("GET", _path(kind, namespace, name))

    def list(self, kind: str, namespace: str = "", labels: str = "") -> list[Object]:
        """Return a kind's objects; of all namespaces unless one is given; those that a label selector takes."""
        return self._ask("GET", _path(kind, namespace), params={"labelSelector": labels})["items"]

    def version(self, kind: str, namespace: str = "") -> str:
        """Return the present version of all objects of a kind, for ``since``."""
        return self._ask("GET", _path(kind, namespace))["metadata"]["resourceVersion"]

    def since(self, version: str, kind: str, namespace: str = "") -> Iterator[Object]:
        """Give each state that objects of a kind had after a version until now, in order; a deleted one's last too."""
        params = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "1"}
        with self._http.stream("GET", _path(kind, namespace), params=params) as answer:
            for line in answer.iter_lines():
                yield json.loads(line)["object"]

    def create(self, kind: str, body: Mapping[str, Any], namespace: str = "", *, dry: bool = False) -> Object:
        """Make an object; what the kind does not know is refused. Dry: only check whether it could be."""
        params = {"fieldValidation": "Strict"} | ({"dryRun": "All"} if dry else {})
        return self._ask("POST", _path(kind, namespace), params=params, json=body)

    def patch(self, kind: str, name: str, change: Mapping[str, Any], namespace: str = "") -> Object:
        """Merge a change into an object."""
        headers = {"content-type": "application/merge-patch+json"}
        return self._ask("PATCH", _path(kind, namespace, name), content=json.dumps(change), headers=headers)

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object, with what belongs to it."""
        self._ask("DELETE", _path(kind, namespace, name), params={"propagationPolicy": "Background"})

    def evict(self, pod: str, namespace: str) -> None:
        """Ask a pod to leave, as a node that is drained does; refused with 429 where a budget forbids it."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
        self._ask("POST", f"{_path('pods', namespace, pod)}/eviction", json=body)

    def _ask(self, method: str, path: str, **given: Any) -> Any:
        answer = self._http.request(method, path, **given)
        if answer.is_success:
            return answer.json()
        told = answer.json() if answer.headers.get("content-type", "").startswith("application/json") else {}
        raise Refused(answer.status_code, told.get("reason", ""), told.get("message", answer.text))


def holds(found: Object, condition: str) -> bool:
    """Whether an object's status says that a condition is met."""
    conditions = found.get("status", {}).get("conditions") or ()
    return any(one["type"] == condition and one["status"] == "True" for one in conditions)


def eventually(true: Callable[[], Any], within_s: float = WITHIN_S) -> Any:
    """Ask until the answer is true, and return it; fails with the last answer where it never is."""
    until = time.monotonic() + within_s
    while not (answer := true()):
        assert time.monotonic() < until, f"not within {within_s:.0f} s, the last answer was {answer!r}"
        time.sleep(LOOK_S)
    return answer


def _path(kind: str, namespace: str = "", name: str = "") -> str:
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{APIS[kind]}{within}/{kind}" + (f"/{name}" if name else "")
