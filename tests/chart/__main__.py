"""The chart's control plane: ``python -m chart helm`` prints where helm is, ``run`` a command with a cluster."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from store_servers.server import Missing

from chart.cluster import open_cluster
from chart.due import has_changed, is_due, is_soon, keep, packages_to_compile, run_behind
from chart.go import source
from chart.kinds import define_kinds
from chart.programmes import PROGRAMMES, Workshop

ROOT = Path(__file__).parents[2] / ".servers" / "chart"
KWOK = "sigs.k8s.io/kwok"


def say(line: str) -> None:
    """Print a line at once, beside what is asked for."""
    sys.stderr.write(f"{line}\n")


def main(args: Sequence[str] | None = None) -> int:
    """Do what the arguments say; returns the exit code."""
    asked = _read(args)
    workshop = Workshop(ROOT, say)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    try:
        match asked.verb:
            case "helm":
                sys.stdout.write(f"{workshop.build(('helm',))['helm']}\n")
            case "build":
                if asked.behind:
                    run_behind()
                workshop.build()
            case "soon":
                return 0 if is_soon(_left(workshop)) else 1
            case "due":
                due = is_due(_left(workshop), changed=has_changed())
                say(due.why)
                return 0 if due.runs else 1
            case "keep":
                keep()
            case "run":
                return _run(workshop.build(), [word for word in asked.command if word != "--"])
    except Missing as missing:
        say(f"{asked.verb}: {missing}")
        return 1
    return 0


def _read(args: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="chart", description="What the Helm chart is tried with.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("helm", help="print where helm is; it is built if it is not there")
    build = verbs.add_parser("build", help=f"build what is not there of {', '.join(PROGRAMMES)}")
    build.add_argument("--behind", action="store_true", help="with the time of processors that nobody else wants")
    verbs.add_parser("soon", help="say by the exit code whether all is built in less than a minute")
    verbs.add_parser("due", help="say whether CI runs the chart's tests; 1 if not")
    verbs.add_parser("keep", help="keep that the tests passed on what is there now")
    run = verbs.add_parser("run", help="run a command (a shell) with a cluster, which KUBECONFIG names, and helm")
    run.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args(args)


def _left(workshop: Workshop) -> int | None:
    try:
        return 0 if workshop.find() else packages_to_compile()
    except Missing:
        # Without Go nothing is there, and nothing can be: what has changed is a failure then.
        return None


def _run(programmes: dict[str, Path], command: Sequence[str]) -> int:
    with (
        tempfile.TemporaryDirectory(prefix="recallmesh-cluster-") as folder,
        open_cluster(Path(folder), programmes, source(KWOK)) as cluster,
    ):
        define_kinds(cluster.api)
        tools = Path(folder) / "tools"
        tools.mkdir()
        (tools / "helm").symlink_to(programmes["helm"])
        path = os.pathsep.join((str(tools), os.environ.get("PATH", "")))
        environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "PATH": path}
        return subprocess.run(command, env=environment, check=False).returncode


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
