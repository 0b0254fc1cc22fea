"""Which tests run one after the other in one process, where there are several (``pytest -n 3``), and which begin."""

import os
import random
import re

import pytest
from xdist.scheduler import LoadScopeScheduling

MESHES = ("one_process", "one_server", "nine_processes", "real_stores")
"""The meshes that a process starts once for all of its tests, as their ids have them."""
TOGETHER = ("tests/chart/", "tests/clients/", "tests/images/")
"""Folders whose tests share what takes long to start, or where they build."""
OWN_SERVERS = ("tests/faults/test_mesh.py", "tests/faults/test_outage.py", "tests/contract/test_neo4j_schema.py")
"""Whose tests use servers that are started for them alone, once for all of these."""
APART = ("tests/faults/test_steps.py",)
"""Modules whose tests take minutes and share next to nothing: each is a lane."""
FIRST = ("tests/images/", "tests/chart/", "tests/faults/", "tests/clients/", *MESHES, "tests/e2e/", "tests/golden/")
"""What takes longest begins, and what is short fills up the end. The others come as they were found."""
_SHARED = re.compile(rf"\[(?:.*-)?({'|'.join(MESHES)})(?:-.*)?\]$")


def lane_of(test: str) -> str:
    """Return the lane of a test: its mesh, else its folder where that has one, else itself or its module."""
    module = test.partition("::")[0]
    if found := _SHARED.search(test):
        return found[1]
    if module in APART:
        return test
    if module in OWN_SERVERS:
        return OWN_SERVERS[0]
    return next((folder for folder in TOGETHER if module.startswith(folder)), module)


def place_of(lane: str) -> int:
    """Return where a lane comes; those of an equal place stay in order."""
    return next((place for place, start in enumerate(FIRST) if lane.startswith(start)), len(FIRST))


class Lanes(LoadScopeScheduling):
    """Gives a process lane after lane, in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return lane_of(nodeid)


def pytest_configure(config):
    """Let all processes order sets alike, in each run otherwise: else they would find tests of different names."""
    if getattr(config.option, "numprocesses", None):
        os.environ.setdefault("PYTHONHASHSEED", str(random.randrange(2**32)))


def pytest_report_header():
    return f"PYTHONHASHSEED={os.environ['PYTHONHASHSEED']}" if "PYTHONHASHSEED" in os.environ else ()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False
    return Lanes(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Order the tests of a process among several; alone they stay as they are."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place_of(lane_of(item.nodeid)))
