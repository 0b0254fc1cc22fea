"""A Kubernetes cluster for tests: a real control plane on loopback, with nodes and kubelets that kwok plays."""

import signal
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import yaml
from deployment import free_ports
from store_servers.process import Command, Process, start_process

from chart.certificates import LOOPBACK, Authority, Identity
from chart.kubernetes import Kubernetes, Object, eventually, holds
from chart.stages import stages

READY_S = 120.0
"""The most that a start may take; idle, it takes five seconds."""
GONE_S = 30.0
LOG_CHARS = 3000
"""How much of the log of a process is repeated."""
MANAGER = "kube-controller-manager"
ZONES = ("east", "middle", "west")
NODES_A_ZONE = 2
ROOM = {"cpu": "32", "memory": "128Gi", "pods": "110"}
"""What fits onto one node. Nothing runs there, so that it costs nothing."""
SCALING = {
    "horizontal-pod-autoscaler-sync-period": "1s",
    "horizontal-pod-autoscaler-cpu-initialization-period": "1s",
    "horizontal-pod-autoscaler-initial-readiness-delay": "1s",
}
"""As an autoscaler is by default, but for its clock: every 15 s, and not at all while a pod is young."""
PATIENCE = "1h0m0s"
"""Nodes that are silent for this long are given up; on a machine with much else to do kwok's may be, for a minute."""


@dataclass
class Cluster:
    """A running cluster: where it is, who may do everything, and its processes by name."""

    folder: Path
    url: str
    authority: Authority
    administrator: Identity
    api: Kubernetes
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def kubeconfig(self) -> Path:
        """The file by which helm and kubectl find it."""
        return self.folder / "administrator.yaml"

    def logs(self) -> Iterator[tuple[str, str]]:
        """Give the end of what each process said."""
        for name in self.processes:
            yield name, (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")[-LOG_CHARS:]

    def start(self, name: str, programme: Path, words: Mapping[str, object]) -> None:
        """Start a process, which ends with this one at the latest."""
        command = Command((str(programme), *(f"--{word}={value}" for word, value in words.items())))
        self.processes[name] = start_process(command, self.folder / f"{name}.log", tied=True, gone="KILL")

    def stop(self) -> None:
        """End all processes at once: nothing of theirs is kept."""
        for process in reversed(self.processes.values()):
            process.signal_all(signal.SIGKILL)
        for name, process in self.processes.items():
            assert process.wait(GONE_S), name
        self.processes.clear()


@contextmanager
def open_cluster(folder: Path, programmes: Mapping[str, Path], kwok: Path) -> Iterator[Cluster]:
    """Start a cluster in an empty folder, wait until its nodes are ready, and end it in the end.

    ``kwok`` is the folder of kwok's module, which has what it is to play.
    """
    port, etcd, peers = free_ports(3)
    authority = Authority(folder)
    administrator = authority.client("administrator", "system:masters")
    url = f"https://{LOOPBACK}:{port}"
    trusted = ssl.create_default_context(cafile=authority.identity.certificate)
    trusted.load_cert_chain(administrator.certificate, administrator.key)
    with httpx.Client(base_url=url, verify=trusted, timeout=READY_S, trust_env=False) as http:
        cluster = Cluster(folder, url, authority, administrator, Kubernetes(http))
        _write_kubeconfig(cluster, cluster.kubeconfig, administrator)
        try:
            _start(cluster, programmes, kwok, etcd=etcd, peers=peers, port=port)
            yield cluster
        finally:
            cluster.stop()


def _start(cluster: Cluster, programmes: Mapping[str, Path], kwok: Path, *, etcd: int, peers: int, port: int) -> None:
    _start_etcd(cluster, programmes["etcd"], etcd, peers)
    _start_apiserver(cluster, programmes["kube-apiserver"], etcd, port)
    _await(cluster, cluster.api.is_ready)
    for name, user in (("kube-scheduler", "system:kube-scheduler"), (MANAGER, "system:kube-controller-manager")):
        kubeconfig = cluster.folder / f"{name}.yaml"
        _write_kubeconfig(cluster, kubeconfig, cluster.authority.client(user))
        more = _of_manager(cluster) if name == MANAGER else {}
        own = {"kubeconfig": kubeconfig, "secure-port": 0, "leader-elect": "false"}
        cluster.start(name, programmes[name], own | more)
    played = cluster.folder / "stages.yaml"
    played.write_text(stages(kwok), encoding="utf-8")
    own = {"kubeconfig": cluster.kubeconfig, "manage-all-nodes": "true", "node-ip": LOOPBACK, "config": played}
    cluster.start("kwok", programmes["kwok"], own)
    for zone in ZONES:
        for number in range(NODES_A_ZONE):
            cluster.api.create("nodes", _node(f"{zone}-{number}", zone))
    _await(cluster, lambda: all(holds(node, "Ready") for node in cluster.api.list("nodes")))


def _start_etcd(cluster: Cluster, programme: Path, port: int, peers: int) -> None:
    here, own = f"http://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{peers}"
    words = {
        "data-dir": cluster.folder / "etcd",
        "listen-client-urls": here,
        "advertise-client-urls": here,
        "listen-peer-urls": own,
        "initial-advertise-peer-urls": own,
        "initial-cluster": f"default={own}",
        # Nothing of it outlives the machine's power.
        "unsafe-no-fsync": "true",
    }
    cluster.start("etcd", programme, words)


def _start_apiserver(cluster: Cluster, programme: Path, etcd: int, port: int) -> None:
    serving = cluster.authority.server("kube-apiserver")
    words = {
        "etcd-servers": f"http://{LOOPBACK}:{etcd}",
        "bind-address": LOOPBACK,
        "secure-port": port,
        "advertise-address": LOOPBACK,
        # Its own Service would have an endpoint of loopback, which is refused.
        "endpoint-reconciler-type": "none",
        "service-cluster-ip-range": "10.0.0.0/20",
        "tls-cert-file": serving.certificate,
        "tls-private-key-file": serving.key,
        "client-ca-file": cluster.authority.identity.certificate,
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": serving.certificate,
        "service-account-signing-key-file": serving.key,
        "authorization-mode": "RBAC",
        "allow-privileged": "true",
    }
    cluster.start("kube-apiserver", programme, words)


def _of_manager(cluster: Cluster) -> dict[str, object]:
    return {
        "use-service-account-credentials": "true",
        "service-account-private-key-file": cluster.folder / "kube-apiserver.key",
        "root-ca-file": cluster.authority.identity.certificate,
        "node-monitor-grace-period": PATIENCE,
        **SCALING,
    }


def _await(cluster: Cluster, true: Callable[[], bool]) -> None:
    """Wait for something of the cluster's; a process that ends meanwhile is why it never comes."""

    def answered() -> bool:
        for name, process in cluster.processes.items():
            assert process.is_alive, f"{name} ended as it started:\n{dict(cluster.logs())[name]}"
        return true()

    eventually(answered, READY_S)


def _write_kubeconfig(cluster: Cluster, path: Path, identity: Identity) -> None:
    server = {"server": cluster.url, "certificate-authority": str(cluster.authority.identity.certificate)}
    user = {"client-certificate": str(identity.certificate), "client-key": str(identity.key)}
    told = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": server}],
        "users": [{"name": "tests", "user": user}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        "current-context": "tests",
    }
    path.write_text(yaml.safe_dump(told), encoding="utf-8")


def _node(name: str, zone: str) -> Object:
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, "kubernetes.io/arch": "amd64"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": ROOM, "capacity": ROOM},
    }
