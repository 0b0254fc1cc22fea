"""Where the database servers are that the adapters' tests run against; ``make servers`` starts them."""

import os
from pathlib import Path

import pytest

RUNNING = Path(__file__).parent.parent / ".servers" / "env"
"""What ``make servers`` writes while they run: lines of NAME=value."""
NOT_IN_REGISTRIES = frozenset({"qdrant"})
"""No package registry carries these servers: their tests are skipped where none is named, in CI too."""


def address(store: str) -> str:
    """Return where a server is ("opensearch", "neo4j", "postgres", "qdrant"): as the environment says, or as runs here.

    Without one the test is skipped; in CI it fails.
    """
    name = f"RECALLMESH_TEST_{store.upper()}"
    found = os.environ.get(name) or _running().get(name)
    if found:
        return found
    if store in NOT_IN_REGISTRIES:
        pytest.skip(f"no {store}: start one (docs/stores.md) and name it in {name}")
    if os.environ.get("CI"):
        pytest.fail(f"no {store}: in CI it must be there; `make test` starts it, or name one in {name}")
    pytest.skip(f"no {store}: `make servers` starts one, or name one in {name}")


def _running() -> dict[str, str]:
    if not RUNNING.exists():
        return {}
    lines = RUNNING.read_text(encoding="utf-8").splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in lines)}
