"""When CI runs the chart's tests, and how a clone knows that something is new."""

import json

import pytest

from chart.due import PASSED, ROOT, SOON, TESTED, digest, is_due


@pytest.mark.parametrize(
    ("left", "changed", "runs"),
    [(0, False, True), (SOON, False, True), (SOON + 1, False, False), (None, False, False), (None, True, True)],
)
def test_they_run_where_they_soon_can_or_where_something_is_new(left, changed, runs):
    due = is_due(left, changed=changed)
    assert due.runs is runs
    assert ("left out" in due.why) is not runs


def test_the_hash_is_of_every_file_but_itself_and_what_python_leaves(tmp_path):
    for folder in TESTED:
        (tmp_path / folder / "deep").mkdir(parents=True)
    values = tmp_path / TESTED[0] / "deep" / "values.yaml"
    values.write_text("a", encoding="utf-8")
    first = digest(tmp_path)
    (tmp_path / TESTED[1] / PASSED.name).write_text("{}", encoding="utf-8")
    (tmp_path / TESTED[1] / "__pycache__").mkdir()
    (tmp_path / TESTED[1] / "__pycache__" / "x.pyc").write_text("x", encoding="utf-8")
    assert digest(tmp_path) == first
    values.write_text("b", encoding="utf-8")
    second = digest(tmp_path)
    values.rename(values.with_name("other.yaml"))
    assert len({first, second, digest(tmp_path)}) == 3


def test_what_is_kept_is_a_hash_of_this_kind():
    kept = json.loads(PASSED.read_text(encoding="utf-8"))["digest"]
    assert len(kept) == len(digest(ROOT))
