# ruff: noqa: INP001, T201 - a script, no package
"""Writes clients/service_config.json, the gRPC service config that the clients of every language read.

It says which calls are retried, and how, as our own channels do it. ``--check`` compares instead.
"""

import json
import sys
from pathlib import Path

from recallmesh.rpc.channel import PUBLIC, service_config

PLACE = Path(__file__).with_suffix(".json")


def main(words: list[str]) -> int:
    """Write the file, or tell whether it is as it would be written; returns the exit code."""
    made = json.dumps(service_config(PUBLIC), indent=2) + "\n"
    if words == ["--check"]:
        if PLACE.exists() and PLACE.read_text(encoding="utf-8") == made:
            return 0
        print(f"clients/{PLACE.name} is not what shared/recallmesh/rpc/channel.py says: run make gen")
        return 1
    PLACE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
