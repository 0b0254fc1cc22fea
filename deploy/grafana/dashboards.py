# ruff: noqa: T201 - a script, no package
"""Writes the four dashboards beside it; ``--check`` compares instead."""

import json
import sys
from pathlib import Path

import arms_board
import recall_board
import retain_board
import stores_board
from panel import dashboard

HERE = Path(__file__).parent
DASHBOARDS = {
    "recall": ("recallmesh: recall", recall_board),
    "retain": ("recallmesh: retain", retain_board),
    "arms": ("recallmesh: arms and models", arms_board),
    "stores": ("recallmesh: stores and processes", stores_board),
}


def main(words: list[str]) -> int:
    """Write the files, or tell whether they are as they would be written; returns the exit code."""
    made = {
        HERE / f"{name}.json": json.dumps(
            dashboard(f"recallmesh-{name}", title, told.__doc__ or "", told.ROWS), indent=1, ensure_ascii=False
        )
        + "\n"
        for name, (title, told) in DASHBOARDS.items()
    }
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if words == ["--check"]:
            print(f"deploy/grafana/{path.name} is not what it is made of: run make gen")
        else:
            path.write_text(made[path], encoding="utf-8")
    return int(words == ["--check"] and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
