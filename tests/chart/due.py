"""Whether CI runs the chart's tests: where their programmes are soon built, or where what they test has changed."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from store_servers.server import Missing

from chart.go import run_go
from chart.programmes import FLAGS

ROOT = Path(__file__).parents[2]
TESTED = ("deploy/helm", "tests/chart")
PASSED = Path(__file__).with_name("passed.json")
"""What the tests last passed on, as ``make chart-test`` has written it."""
SOON = 100
"""How many packages of some 2,900 may have to be compiled; each takes a third of a second of a processor."""
LISTED = "{{if .Stale}}stale{{end}}"


@dataclass(frozen=True, slots=True)
class Due:
    """Whether to run them, and why or why not, in a sentence."""

    runs: bool
    why: str


def is_due(left: int | None, *, changed: bool) -> Due:
    """Decide: ``left`` packages are yet to be compiled (absent: all), and whether there is something new to test."""
    if is_soon(left):
        return Due(runs=True, why="the chart's tests run: Go has their control plane in its cache")
    cold = "their control plane is not in Go's cache" if left is None else f"{left} packages are yet to be compiled"
    since = f"in {' and '.join(TESTED)} since they last passed"
    if changed:
        return Due(runs=True, why=f"the chart's tests run: something has changed {since}; {cold}")
    why = f"the chart's tests are left out: {cold}, and nothing has changed {since} (`make chart-test` runs them)"
    return Due(runs=False, why=why)


def is_soon(left: int | None) -> bool:
    """Whether the programmes are there in less than a minute, with so many packages left to compile."""
    return left is not None and left <= SOON


def packages_to_compile() -> int | None:
    """Return how many packages of the programmes Go has not in its cache; nothing when it cannot say.

    It asks no proxy: without the modules' files there can be nothing in the cache.
    """
    try:
        told = run_go("list", "-deps", *FLAGS, "-f", LISTED, "tool", variables={"GOPROXY": "off"})
    except Missing:
        return None
    return len(told.split())


def digest(root: Path) -> str:
    """Return a hash of all that the tests are about, and of the tests."""
    found = sha256()
    for path in _files(root):
        found.update(f"{path.relative_to(root)}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def has_changed() -> bool:
    """Whether something is not as it was when the tests last passed, as far as that was kept."""
    return not PASSED.exists() or json.loads(PASSED.read_text(encoding="utf-8"))["digest"] != digest(ROOT)


def keep() -> None:
    """Keep that the tests have passed on what is there now."""
    PASSED.write_text(json.dumps({"digest": digest(ROOT)}, indent=2) + "\n", encoding="utf-8")


def run_behind() -> None:
    """Let this process and what it starts have the time of processors that nobody else wants, where it may say so."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _files(root: Path) -> Iterator[Path]:
    for folder in TESTED:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and path.name != PASSED.name:
                yield path
