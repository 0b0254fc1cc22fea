"""Resource metrics as a test wants them: what pods use is said to Kubernetes' own autoscaler, which nobody measures."""

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from chart.certificates import LOOPBACK
from chart.cluster import Cluster
from chart.kubernetes import Kubernetes, Object, eventually, holds

VERSION = "metrics.k8s.io/v1beta1"
API = f"/apis/{VERSION}"
PART = "app.kubernetes.io/component"
SERVICE = "told-metrics"


class Load:
    """What each pod of a part uses of a processor, in thousandths; what nobody has set uses none."""

    def __init__(self) -> None:
        """Begin with nothing in use."""
        self._used: dict[str, int] = {}

    def set(self, part: str, thousandths: int) -> None:
        """Let each pod of a part use this much from now on."""
        self._used = {**self._used, part: thousandths}

    def of(self, pod: Object) -> str:
        """Return what a pod uses, as a quantity of Kubernetes."""
        return f"{self._used.get(pod['metadata']['labels'].get(PART, ''), 0)}m"


@contextmanager
def open_metrics(cluster: Cluster) -> Iterator[Load]:
    """Serve metrics on loopback and let the cluster's API server ask for them; gives what sets them."""
    load, identity = Load(), cluster.authority.server("metrics")
    with ThreadingHTTPServer((LOOPBACK, 0), _handler(cluster.api, load)) as server:
        trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trusted.load_cert_chain(identity.certificate, identity.key)
        server.socket = trusted.wrap_socket(server.socket, server_side=True)
        serving = Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            _register(cluster, server.server_address[1])
            yield load
        finally:
            server.shutdown()
            serving.join()


def _register(cluster: Cluster, port: int) -> None:
    service = {"name": SERVICE, "namespace": "kube-system", "port": port}
    spec = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}
    cluster.api.create(
        "services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE}, "spec": spec}, "kube-system"
    )
    group, version = VERSION.split("/")
    name = f"{version}.{group}"
    registered = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            # What is served has the name of loopback, not that of a Service.
            "insecureSkipTLSVerify": True,
            "service": service,
        },
    }
    cluster.api.create("apiservices", registered)
    eventually(lambda: holds(cluster.api.get("apiservices", name), "Available"))


def _handler(api: Kubernetes, load: Load) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            parts = asked.path.removeprefix(API).strip("/").split("/")
            if parts == [""]:
                self._send(200, _resources())
            elif parts[0] == "namespaces" and parts[2:] == ["pods"]:
                labels = parse_qs(asked.query).get("labelSelector", [""])[0]
                self._send(200, _told(api.list("pods", parts[1], labels), load))
            else:
                self._send(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})

        def log_message(self, *_args: object) -> None:
            pass

        def _send(self, status: int, body: Mapping[str, Any]) -> None:
            told = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

    return Handler


def _resources() -> Mapping[str, Any]:
    pods = {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]}
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": VERSION, "resources": [pods]}


def _told(pods: list[Object], load: Load) -> Mapping[str, Any]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "kind": "PodMetricsList",
        "apiVersion": VERSION,
        "metadata": {},
        "items": [_of(pod, load, now) for pod in pods],
    }


def _of(pod: Object, load: Load, now: str) -> Mapping[str, Any]:
    kept = {name: pod["metadata"][name] for name in ("name", "namespace", "labels")}
    usage = {"cpu": load.of(pod), "memory": "64Mi"}
    containers = [{"name": one["name"], "usage": usage} for one in pod["spec"]["containers"]]
    return {"metadata": kept, "timestamp": now, "window": "10s", "containers": containers}
