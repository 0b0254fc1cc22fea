"""The programmes that the chart is tried with: built by Go, of the modules that ``control_plane/go.mod`` pins."""

import fcntl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from chart.go import MODULE, go_version, pinned, run_go

KUBERNETES = "k8s.io/kubernetes"
HELM = "helm.sh/helm/v3"
AT_ONCE = 2
"""How many packages are compiled at once; more would save no time on two cores, and each takes memory."""
FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")
"""What Go's cache keeps depends on these: a build with others would begin anew."""


@dataclass(frozen=True, slots=True)
class Programme:
    """One programme: the package that Go builds it of, and the variables that say which version it is.

    In a variable ``{version}`` is that of ``module``, and ``{minor}`` the middle of its three numbers.
    """

    package: str
    module: str
    variables: Mapping[str, str] = field(default_factory=dict)


def _kubernetes(name: str) -> Programme:
    told = "k8s.io/component-base/version."
    variables = {"gitVersion": "v{version}", "gitMajor": "1", "gitMinor": "{minor}"}
    return Programme(
        f"{KUBERNETES}/cmd/{name}", KUBERNETES, {told + variable: value for variable, value in variables.items()}
    )


def _helm() -> Programme:
    # The Kubernetes that helm renders and lints for when it is told of none; without these it is one of 2020.
    places = ("pkg/chartutil", "pkg/lint/rules")
    kubernetes = {f"{HELM}/{place}.k8sVersion{part}": value for place in places for part, value in LATEST.items()}
    return Programme(f"{HELM}/cmd/helm", HELM, {f"{HELM}/internal/version.version": "v{version}", **kubernetes})


LATEST = {"Major": "1", "Minor": pinned(KUBERNETES).split(".")[1]}
PROGRAMMES = {
    "helm": _helm(),
    "etcd": Programme("go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"),
    "kube-apiserver": _kubernetes("kube-apiserver"),
    "kube-scheduler": _kubernetes("kube-scheduler"),
    "kube-controller-manager": _kubernetes("kube-controller-manager"),
    "kwok": Programme("sigs.k8s.io/kwok/cmd/kwok", "sigs.k8s.io/kwok"),
}


class Workshop:
    """A folder of built programmes. Several processes may use one: they build one after the other.

    What was built of other pins, or by another Go, has another name: it is built again, and the old one removed.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        """``say`` gets a line for people before anything that takes long."""
        self._folder = folder
        self._say = say

    def build(self, names: Iterable[str] = tuple(PROGRAMMES)) -> dict[str, Path]:
        """Build what is not there yet; returns where each programme is.

        Raises:
            Missing: there is no Go that could, or a package cannot be had.

        """
        return {name: self._built(name) for name in names}

    def find(self, names: Iterable[str] = tuple(PROGRAMMES)) -> dict[str, Path] | None:
        """Return where each programme is if all are built."""
        found = {name: self._path(name) for name in names}
        return found if all(path.exists() for path in found.values()) else None

    def _built(self, name: str) -> Path:
        path = self._path(name)
        if not path.exists():
            with self._alone():
                # Another process may have built it while this one waited.
                if not path.exists():
                    self._build(name, path)
        return path

    def _build(self, name: str, path: Path) -> None:
        programme = PROGRAMMES[name]
        self._say(f"building {name} {pinned(programme.module)}")
        for old in self._folder.glob(f"{name}-????????????"):
            old.unlink()
        made = path.with_suffix(".part")
        run_go("build", "-p", str(AT_ONCE), *FLAGS, "-ldflags", flags(name), "-o", str(made), programme.package)
        made.replace(path)

    def _path(self, name: str) -> Path:
        pins = [(MODULE / file).read_bytes() for file in ("go.mod", "go.sum")]
        told = b"\0".join([*pins, flags(name).encode(), go_version().encode()])
        return self._folder / f"{name}-{sha256(told).hexdigest()[:12]}"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def flags(name: str) -> str:
    """Return what the linker is told of a programme: no tables for debuggers, and its version."""
    programme = PROGRAMMES[name]
    version = pinned(programme.module)
    minor = version.split(".")[1]
    variables = (f"-X {key}={value.format(version=version, minor=minor)}" for key, value in programme.variables.items())
    return " ".join(("-s", "-w", *variables))
