"""Servers for tests: ``python -m store_servers start``; ``make servers`` and its like call it."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from store_servers.fleet import VARIABLE, Fleet
from store_servers.neo4j import Neo4j
from store_servers.opensearch import OpenSearch
from store_servers.postgres import Postgres

ROOT = Path(__file__).parents[2] / ".servers"
SERVERS = (OpenSearch(), Neo4j(), Postgres())
LASTING = (OpenSearch(lasting=True), Neo4j(), Postgres())
NAMES = tuple(server.name for server in SERVERS)
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CTRL_C = 128 + signal.SIGINT
SIGNALS = {"pause": signal.SIGSTOP, "resume": signal.SIGCONT, "kill": signal.SIGKILL}


def say(line: str) -> None:
    """Print a line at once."""
    sys.stderr.write(f"{line}\n")


def main(args: Sequence[str] | None = None) -> int:
    """Do what the arguments say; returns the exit code."""
    parser = argparse.ArgumentParser(prog="store_servers", description="Database servers for tests, on loopback.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    helps = {
        "start": "fetch and start, or start again after halt",
        "stop": "stop and remove the data",
        "halt": "stop and keep data and address",
        "pause": "stop the process where it is",
        "resume": "let a paused one go on",
        "kill": "end the process at once, and keep data and address",
    }
    for verb, told in helps.items():
        one = verbs.add_parser(verb, help=told)
        one.add_argument("names", nargs="*", choices=[*NAMES, []], metavar="STORE", help="which (default: all)")
    run = verbs.add_parser("run", help="start what does not run yet, run a command, stop what was started")
    run.add_argument("--lasting", action="store_true", help="made for what is measured, not for a quick start")
    run.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args(args)
    lasting = asked.verb == "run" and asked.lasting
    fleet = Fleet(ROOT, LASTING if lasting else SERVERS, say)
    if asked.verb == "run":
        return run_with(fleet, [part for part in asked.command if part != "--"], os.environ)
    return command(fleet, asked.verb, asked.names or fleet.names)


def command(fleet: Fleet, verb: str, names: Sequence[str]) -> int:
    """Start, stop or signal servers."""
    if verb in SIGNALS:
        for name in names:
            fleet.signal(name, SIGNALS[verb])
    elif verb == "start":
        left_out = fleet.start(names)
        for name, why in left_out.items():
            say(f"without {name}: {why}")
        say(f"named in {ROOT / 'env'}; `make servers-stop` stops them")
        return 1 if left_out else 0
    else:
        fleet.stop(names, wipe=verb == "stop")
    return 0


def run_with(fleet: Fleet, args: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command with the servers: those that the environment names, that run, or that are started for it.

    Where some cannot be had the command is run without them, and a line says so; in CI that is a failure.
    """
    mine = [
        name for name in fleet.names if not environment.get(f"{VARIABLE}{name.upper()}") and not fleet.running(name)
    ]
    left_out: dict[str, str] = {}
    with _heeding(*ENDS) as heed:
        try:
            left_out = fleet.start(mine, tied=True)
            _tell(left_out)
            if left_out and environment.get("CI"):
                return 1
            return _run(args, {**environment, **fleet.variables()})
        finally:
            heed(signal.SIG_IGN)
            fleet.stop(mine)
            _tell(left_out)


@contextmanager
def _heeding(*numbers: signal.Signals) -> Iterator[Callable[[Any], None]]:
    """Let signals end what is within by an exception; what is given sets another way, and the old ones come back."""

    def heed(way: Any) -> None:
        for number in numbers:
            signal.signal(number, way)

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = [signal.getsignal(number) for number in numbers]
    heed(leave)
    try:
        yield heed
    finally:
        for number, way in zip(numbers, before, strict=True):
            signal.signal(number, way)


def _run(args: Sequence[str], environment: Mapping[str, str]) -> int:
    """Return the command's exit code; a signal's as shells have it."""
    with subprocess.Popen(args, env=environment) as running:
        while True:
            try:
                code = running.wait()
                return code if code >= 0 else 128 - code
            except SystemExit as told:
                # Ctrl-C reached the command as well, which says itself what it makes of it.
                if told.code != CTRL_C:
                    running.terminate()


def _tell(left_out: Mapping[str, str]) -> None:
    for name, why in left_out.items():
        say(f"tests that need {name} are left out: {why}")


if __name__ == "__main__":
    sys.exit(main())
