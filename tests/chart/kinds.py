"""The kinds that the chart may use beside Kubernetes' own: cert-manager, Gateway API, KEDA, Prometheus."""

from collections.abc import Iterator
from pathlib import Path

import yaml

from chart.go import KINDS, source
from chart.kubernetes import Kubernetes, eventually, holds

DEFINED = {
    "github.com/cert-manager/cert-manager": ("deploy/crds/cert-manager.io_{}.yaml", ("certificates",)),
    "github.com/kedacore/keda/v2": ("config/crd/bases/keda.sh_{}.yaml", ("scaledobjects",)),
    "github.com/prometheus-operator/prometheus-operator": (
        "example/prometheus-operator-crd/monitoring.coreos.com_{}.yaml",
        ("prometheusrules", "servicemonitors"),
    ),
    "sigs.k8s.io/gateway-api": ("config/crd/standard/gateway.networking.k8s.io_{}.yaml", ("grpcroutes", "httproutes")),
}
"""Where the modules have their definitions, and which of them are wanted."""


def define_kinds(api: Kubernetes) -> None:
    """Make the kinds known to a cluster, as their own installation would; nothing acts on them."""
    definitions = [yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) for path in _files()]
    names = [api.create("customresourcedefinitions", one)["metadata"]["name"] for one in definitions]
    for name in names:
        eventually(lambda name=name: holds(api.get("customresourcedefinitions", name), "Established"))


def _files() -> Iterator[Path]:
    for module, (path, kinds) in DEFINED.items():
        folder = source(module, KINDS)
        yield from (folder / path.format(kind) for kind in kinds)
