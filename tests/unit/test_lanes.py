"""Which tests run one after the other in the same process: those that share what is started once, or may not meet."""

import re
from pathlib import Path

import conftest
import pytest
from lanes import APART, FIRST, MESHES, OWN_SERVERS, TOGETHER, lane_of, place_of

ROOT = Path(__file__).parents[2]
TAKEN = re.compile(r"^(?:async )?def .*\bown_servers\b", re.MULTILINE)


@pytest.mark.parametrize(
    ("test", "lane"),
    [
        ("tests/e2e/test_banks.py::test_made_once[real_stores]", "real_stores"),
        ("tests/e2e/test_tags.py::test_seen[nine_processes-any of them]", "nine_processes"),
        ("tests/e2e/test_tags.py::test_seen[any-one_process]", "one_process"),
        ("tests/e2e/test_cli.py::test_list[embedded]", "tests/e2e/test_cli.py"),
        ("tests/unit/test_mesh.py::test_one_process", "tests/unit/test_mesh.py"),
        ("tests/clients/test_go.py::test_tour", "tests/clients/"),
        ("tests/faults/test_steps.py::test_done[append]", "tests/faults/test_steps.py::test_done[append]"),
        ("tests/faults/test_outage.py::test_away", lane_of("tests/faults/test_mesh.py::test_away")),
    ],
)
def test_what_shares_a_mesh_a_folder_or_servers_is_one_lane_and_else_a_module(test, lane):
    assert lane_of(test) == lane


def test_every_mesh_that_is_started_once_has_a_lane():
    assert {getattr(kind, "values", [kind])[0] for kind in conftest.KINDS} == set(MESHES)


def test_whoever_uses_servers_of_its_own_is_named():
    using = {path for path in (ROOT / "tests").rglob("test_*.py") if TAKEN.search(path.read_text(encoding="utf-8"))}
    assert {str(path.relative_to(ROOT)) for path in using} == set(OWN_SERVERS)


def test_what_takes_longest_is_there_and_begins():
    assert all((ROOT / start).exists() for start in (*TOGETHER, *OWN_SERVERS, *APART))
    assert all((ROOT / start).exists() for start in FIRST if start not in MESHES)
    order = sorted(
        ["tests/unit/test_fusion.py", "real_stores", "tests/faults/test_soak.py", "tests/golden/x"], key=place_of
    )
    assert order == ["tests/faults/test_soak.py", "real_stores", "tests/golden/x", "tests/unit/test_fusion.py"]
