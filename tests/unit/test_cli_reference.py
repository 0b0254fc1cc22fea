"""The pages that are made from the code."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from recallmesh.cli import reference
from recallmesh.cli.reference import docstrings, limits_page, main, settings_page
from recallmesh.core import limits
from recallmesh.settings import Settings, known_names


def test_every_setting_is_on_the_page():
    page = settings_page()
    assert [name for name in known_names() if f"`{name}`" not in page] == []


def test_every_limit_is_on_the_page_and_explained():
    page = limits_page()
    for name, note in docstrings(limits).items():
        assert f"| `{name}` | {getattr(limits, name):,} | {note} |" in page
        assert note


@pytest.mark.parametrize("kind", [Settings, *(info.annotation for info in Settings.model_fields.values())])
def test_every_setting_is_explained(kind):
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        notes = docstrings(kind)
        assert [name for name in kind.model_fields if not notes[name]] == []


def test_types_ranges_and_defaults_are_told():
    page = settings_page()
    assert "| `RECALLMESH_GRAPH__ORIGINS` | whole number, ≥ 1, ≤ 100 | `10` |" in page
    assert "| `RECALLMESH_RERANKER__SCORES` | `logits` or `probabilities` | `logits` |" in page
    assert "| `RECALLMESH_RECALL__REMOVED" not in page


@pytest.mark.parametrize("xdg", ["", "/somewhere/else"])
def test_no_home_of_anybody_is_on_the_page(xdg, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", xdg)
    page = settings_page()
    assert "`~/.local/share/recallmesh`" in page
    assert str(Path.home()) not in page
    assert "/somewhere/else" not in page


def test_the_pages_in_the_repository_are_up_to_date():
    assert main(["--check"]) == 0


def test_a_page_that_differs_is_told_and_mended(tmp_path, capsys):
    assert main(["--check", "--docs", str(tmp_path)]) == 1
    assert "make gen" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main(["--docs", str(tmp_path)]) == 0
    assert main(["--check", "--docs", str(tmp_path)]) == 0
    (tmp_path / "limits.md").write_text("old", encoding="utf-8")
    assert main(["--check", "--docs", str(tmp_path)]) == 1


def test_the_pages_belong_to_the_repository():
    assert (reference.DOCS.parent / "pyproject.toml").exists()
