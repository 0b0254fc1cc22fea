"""Each case from the field is held by tests that are there: ``cases.yaml`` says by which."""

import ast
from functools import cache
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).parent
CASES = yaml.safe_load((TESTS / "cases.yaml").read_text(encoding="utf-8"))
RECALL = {*range(1, 20), *range(26, 36)}
"""The cases of recall: each is proved over the whole mesh, in one process and in nine, or says why not."""
WHOLE_MESH = ("e2e", "faults")
"""The folders whose tests run over every kind of mesh, or over nine processes."""


@cache
def functions(file: str) -> frozenset[str]:
    """Return the names of a file's tests."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_case_is_in_the_table():
    assert list(CASES) == list(range(1, 55))
    assert all(case["kind"] and case["tests"] for case in CASES.values())


@pytest.mark.parametrize("number", CASES)
def test_the_tests_of_a_case_are_there(number):
    for test in CASES[number]["tests"]:
        file, _, function = test.partition("::")
        assert function in functions(file), test
        assert function.startswith("test_")


@pytest.mark.parametrize("number", sorted(RECALL))
def test_a_case_of_recall_is_proved_over_the_whole_mesh(number):
    case = CASES[number]
    over_mesh = [test for test in case["tests"] if test.split("/")[0] in WHOLE_MESH]
    assert bool(over_mesh) is not bool(case.get("port")), number
