"""Another embedding model on the same data: it is noticed, and nothing of the former one is touched."""

import json
import sqlite3
from contextlib import closing

import pytest

from recallmesh.vectors.beside import ChangedModel, OtherModel, changed_model
from recallmesh.vectors.catalog import open_catalog
from recallmesh.vectors.shelf import shelf_name


def shelf(path, fingerprint, memories, *, removed=()):
    home = path / shelf_name(fingerprint)
    home.mkdir(parents=True)
    (home / "embedding.json").write_text(json.dumps({"fingerprint": fingerprint, "dimensions": 3}))
    with open_catalog(home / "catalog.sqlite") as catalog:
        catalog.record("bank", [(f"m{number}", 1) for number in range(memories)], removed=False)
        catalog.record("bank", [(one, 2) for one in removed], removed=True)
    return home


@pytest.mark.parametrize(("held", "noticed"), [(0, True), (4, True), (5, False), (10, False), (12, False)])
def test_a_change_is_noticed_while_few_memories_have_the_new_vectors(tmp_path, held, noticed):
    former = shelf(tmp_path, "former", 10)
    shelf(tmp_path, "new", held)
    expected = ChangedModel(OtherModel("former", 10, former.name), held) if noticed else None
    assert changed_model(tmp_path, "new") == expected


def test_the_first_model_of_all_and_one_beside_an_empty_one_are_no_change(tmp_path):
    assert changed_model(tmp_path / "none", "new") is None
    shelf(tmp_path, "new", 0)
    assert changed_model(tmp_path, "new") is None
    shelf(tmp_path, "tried", 2, removed=("m0", "m1"))
    assert changed_model(tmp_path, "new") is None


def test_what_cannot_be_read_is_passed_over_and_left_as_it_is(tmp_path):
    shelf(tmp_path, "new", 0)
    (tmp_path / "a file").write_text("x")
    for name in ("no note", "a broken note", "a broken catalog"):
        (tmp_path / name).mkdir()
    (tmp_path / "a broken note" / "embedding.json").write_text("[]")
    (tmp_path / "a broken catalog" / "embedding.json").write_text('{"fingerprint": "x"}')
    (tmp_path / "a broken catalog" / "catalog.sqlite").write_text("no database")
    before = sorted(tmp_path.rglob("*"))
    assert changed_model(tmp_path, "new") is None
    assert sorted(tmp_path.rglob("*")) == before


def test_a_catalog_that_another_process_writes_is_read_all_the_same(tmp_path):
    former = shelf(tmp_path, "former", 3)
    with closing(sqlite3.connect(former / "catalog.sqlite", isolation_level=None)) as writing:
        writing.execute("BEGIN IMMEDIATE")
        found = changed_model(tmp_path, "new")
    assert found is not None
    assert found.other.memories == 3
