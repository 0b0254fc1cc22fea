"""A doctor looks at the files of keys: whether they are right, whose they are, and what ends soon."""

from dataclasses import replace
from datetime import timedelta

import pytest
from key_rows import NOW, row_of

from recallmesh.cli.guarding import guard_rows
from recallmesh.identity.api_key import hash_of
from recallmesh.identity.key_edit import with_key
from recallmesh.identity.key_store import change_keys
from recallmesh.identity.settings import AuthSettings

LASTING = row_of("0" * 12, hash_of("a"))


@pytest.fixture
def files(tmp_path):
    keys, mesh = tmp_path / "keys.json", tmp_path / "mesh"
    change_keys(keys, lambda file: with_key(file, LASTING))
    change_keys(keys, lambda file: with_key(file, replace(LASTING, id="1" * 12, revoked=NOW)))
    mesh.write_text("m" * 32, encoding="utf-8")
    mesh.chmod(0o600)
    return AuthSettings(mode="on", keys=keys, mesh_key_file=mesh)


def test_files_that_are_well_are_told_with_what_they_hold(files):
    keys, mesh = guard_rows(files, NOW)
    assert (keys.store, keys.advice) == ("1 of 2 good", ())
    assert (mesh.store, mesh.advice) == ("1 known", ())


def test_what_ends_soon_and_what_others_may_do_is_told(files):
    ending = replace(LASTING, id="2" * 12, name="visitor", expires=NOW + timedelta(days=3))
    change_keys(files.keys, lambda file: with_key(file, ending))
    files.keys.chmod(0o622)
    files.mesh_key_file.chmod(0o644)
    keys, mesh = guard_rows(files, NOW)
    assert keys.advice == (
        f"visitor ({ending.id}) ends on 2026-12-03: recallmesh key rotate {ending.id}",
        "others may write it, and so let in whom they like: chmod go-w",
    )
    assert mesh.advice == ("everybody on this machine may read it, and so be the mesh: chmod o-rwx",)


def test_what_is_wrong_or_not_there_is_told_without_what_it_holds(files):
    files.keys.write_text('{"keys": [{"key": "rm_secret"}]}', encoding="utf-8")
    files.mesh_key_file.unlink()
    keys, mesh = guard_rows(files, NOW)
    assert "keys[0].key" in keys.advice[0]
    assert "rm_secret" not in keys.advice[0]
    assert "cannot be read: No such file" in mesh.advice[0]


def test_where_nobody_is_asked_no_file_is_looked_at(files):
    assert list(guard_rows(files.model_copy(update={"mode": "off"}), NOW)) == []
