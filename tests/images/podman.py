"""Podman with everything of its own in one folder: what else is on the machine is not touched."""

import os
import resource
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = ("podman", "runc", "debootstrap")
BASE = "localhost/base:bookworm"
KEPT = ROOT / ".servers" / "base-bookworm.tar"
DATA = "/data"
TEMPORARY = "/tmp"  # noqa: S108 - the container's own
READ_ONLY = ("--read-only", "--tmpfs", TEMPORARY)
SLIM = ("usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "var/cache/apt", "var/lib/apt/lists")
"""What Debian's own images of this kind leave out."""
CONF = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{folder}/tmp"
[containers]
default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]
[network]
network_config_dir = "{folder}/networks"
"""
STORAGE = """\
[storage]
driver = "{driver}"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""
BUILD = ("--isolation", "chroot", "--network", "host")
"""Builds without namespaces of their own, which not every machine allows."""


def missing() -> str:
    """Return what keeps containers from running here; empty: nothing."""
    absent = [name for name in NEEDED if shutil.which(name) is None]
    if absent:
        return f"apt-get install --no-install-recommends {' '.join(absent)}"
    return "" if os.geteuid() == 0 else "containers are run by root here"


@dataclass
class Engine:
    """A podman of a test's own."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    containers: list[str] = field(default_factory=list)

    def configure(self) -> None:
        """Write its configuration: layers are mounted over each other where that can be done, else copied."""
        # Podman's own defaults may be more than this machine allows.
        limits = {"files": limit(resource.RLIMIT_NOFILE, 8192), "processes": limit(resource.RLIMIT_NPROC, 4096)}
        (self.folder / "containers.conf").write_text(CONF.format(folder=self.folder, **limits), encoding="utf-8")
        driver = "overlay" if can_overlay(self.folder) else "vfs"
        (self.folder / "storage.conf").write_text(STORAGE.format(folder=self.folder, driver=driver), encoding="utf-8")
        self.environment = dict(os.environ) | {
            "CONTAINERS_CONF": str(self.folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf"),
            # Where layers lie while they are written.
            "TMPDIR": str(self.folder),
        }

    def podman(self, *words: str, check: bool = True, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a command; what it says is in the error of one that fails."""
        asked = ["podman", *words]
        told = subprocess.run(asked, env=self.environment, capture_output=True, text=True, timeout=seconds, check=False)
        if check and told.returncode:
            raise AssertionError(f"podman {' '.join(words)} ended with {told.returncode}:\n{told.stderr[-4000:]}")
        return told

    def make_base(self) -> None:
        """Import what Debian's own slim image has; made from its packages once, and kept."""
        if not KEPT.exists():
            tree, packed = self.folder / "base", KEPT.with_suffix(".new")
            _run("debootstrap", "--variant=minbase", "bookworm", str(tree))
            for name in SLIM:
                shutil.rmtree(tree / name, ignore_errors=True)
            KEPT.parent.mkdir(exist_ok=True)
            _run("tar", "--create", "--directory", str(tree), "--file", str(packed), ".")
            shutil.rmtree(tree)
            packed.rename(KEPT)
        self.podman("import", str(KEPT), BASE)

    def build(self, names: Sequence[str], *more: str, tag: str = "test") -> None:
        """Build images as a person does, by ``deploy/images.py``."""
        trusted = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
        words = [sys.executable, "deploy/images.py", "build", *names, "--tool", "podman", "--base", BASE, "--tag", tag]
        words += ["--ca", trusted] if trusted else []
        words += ["--output", str(self.folder / "made"), *more, "--", *BUILD]
        told = subprocess.run(words, env=self.environment, cwd=ROOT, capture_output=True, text=True, check=False)
        if told.returncode:
            raise AssertionError(f"{' '.join(words)}:\n{told.stdout[-6000:]}\n{told.stderr[-6000:]}")

    def run(self, image: str, *words: str, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run an image's command, or with ``--entrypoint`` another, to its end; without a network."""
        given = ("--rm", "--network", "none", "--no-healthcheck", *READ_ONLY, *options)
        return self.podman("run", *given, f"recallmesh/{image}:test", *words, check=False)

    def start(self, image: str, *words: str, name: str, options: Sequence[str] = ()) -> None:
        """Start a container as the docs have it: nothing of its root can be written, no capability, nobody's rights."""
        strict = (*READ_ONLY, "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
        self.containers.append(name)
        self.podman("run", "--detach", "--name", name, *strict, *options, f"recallmesh/{image}:test", *words)

    def log(self, name: str) -> str:
        """Return what a container has said."""
        told = self.podman("logs", name, check=False)
        return told.stdout + told.stderr

    def clear(self) -> None:
        """Remove every container, what is mounted, and then all that lies here: images and volumes with it."""
        self.podman("rm", "--all", "--force", "--time", "0", "--volumes", check=False)
        for mount in reversed(mounted_below(self.folder)):
            _run("umount", "--lazy", mount)
        shutil.rmtree(self.folder)


def limit(kind: int, wanted: int) -> int:
    """Return what is wanted, or the most that this process may ask for."""
    most = resource.getrlimit(kind)[1]
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most)


def can_overlay(folder: Path) -> bool:
    """Tell whether the layers of an image can be mounted over each other in this folder."""
    names = ("lower", "upper", "work", "merged")
    tried = folder / "overlay-tried"
    for name in names:
        (tried / name).mkdir(parents=True)
    lower, upper, work, merged = (str(tried / name) for name in names)
    layers = f"lowerdir={lower},upperdir={upper},workdir={work}"
    words = ("mount", "-t", "overlay", "overlay", "-o", layers, merged)
    can = subprocess.run(words, capture_output=True, check=False).returncode == 0
    if can:
        _run("umount", merged)
    shutil.rmtree(tried)
    return can


def mounted_below(folder: Path) -> list[str]:
    """Return what is mounted below a folder, outermost first."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    return [place for place in (line.split()[1] for line in lines) if place.startswith(f"{folder}/")]


@contextmanager
def open_engine(folder: Path) -> Iterator[Engine]:
    """Open one with the base in it, and leave nothing behind."""
    engine = Engine(folder)
    engine.configure()
    try:
        engine.make_base()
        yield engine
    finally:
        engine.clear()


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
