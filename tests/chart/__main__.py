"""The programmes for the chart: ``python -m chart helm`` prints where helm is, and builds it first if need be."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from store_servers.server import Missing

from chart.programmes import PROGRAMMES, Workshop

ROOT = Path(__file__).parents[2] / ".servers" / "chart"


def say(line: str) -> None:
    """Print a line at once, beside what is asked for."""
    sys.stderr.write(f"{line}\n")


def main(args: Sequence[str] | None = None) -> int:
    """Do what the arguments say; returns the exit code."""
    parser = argparse.ArgumentParser(prog="chart", description="The programmes that the chart is tried with.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("helm", help="print where helm is; it is built if it is not there")
    verbs.add_parser("build", help="build all programmes that are not there")
    asked = parser.parse_args(args)
    try:
        built = Workshop(ROOT, say).build(("helm",) if asked.verb == "helm" else PROGRAMMES)
    except Missing as missing:
        say(f"{asked.verb}: {missing}")
        return 1
    for path in built.values():
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
