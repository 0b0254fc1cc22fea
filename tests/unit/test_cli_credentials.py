"""``recallmesh key``: what it prints, what it keeps, and what it refuses."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from recallmesh.cli.entry import main
from recallmesh.core.principal import Right
from recallmesh.identity.api_key import is_of
from recallmesh.identity.key_store import load_keys
from recallmesh.identity.mesh_key import check_mesh_key


@pytest.fixture
def keys(tmp_path, monkeypatch):
    path = tmp_path / "keys.json"
    monkeypatch.setenv("RECALLMESH_AUTH__KEYS", str(path))
    return path


def said(capsys, *words):
    code = main(["key", *words])
    out = capsys.readouterr()
    return code, out.out.strip(), out.err


def test_a_new_key_is_printed_alone_and_kept_as_a_hash(keys, capsys):
    code, key, told = said(capsys, "new", "bakery agent", "--tenant", "acme", "--bank", "bakery-*", "--bank", "x")
    assert code == 0
    (row,) = load_keys(keys).rows.values()
    assert is_of(key, row.hash)
    assert (row.name, row.tenant, row.banks, row.expires) == ("bakery agent", "acme", ("bakery-*", "x"), None)
    assert row.rights == {Right.RECALL, Right.RETAIN}
    assert "may recall, retain in the banks bakery-*, x of the tenant acme" in told
    assert key not in keys.read_text(encoding="utf-8") + told


def test_a_key_has_the_rights_and_the_end_that_are_said(keys, capsys):
    said(capsys, "new", "console", "--rights", "admin", "--expires", "90d")
    said(capsys, "new", "visitor", "--expires", "2999-05-11T09:00+02:00")
    console, visitor = load_keys(keys).rows.values()
    assert console.rights == {Right.ADMIN}
    assert timedelta(days=89) < console.expires - datetime.now(UTC) <= timedelta(days=90)
    assert visitor.expires.isoformat() == "2999-05-11T09:00:00+02:00"


def test_keys_are_listed_rotated_and_revoked(keys, capsys):
    _, old_key, _ = said(capsys, "new", "agent")
    code, new_key, told = said(capsys, "rotate", "agent", "--overlap", "2h")
    old, new = load_keys(keys).rows.values()
    assert code == 0
    assert f"{old.id}, whose place it takes, is good until" in told
    assert is_of(new_key, new.hash)
    assert is_of(old_key, old.hash)
    assert old.expires <= datetime.now(UTC) + timedelta(hours=2)
    assert said(capsys, "revoke", new.id)[:2] == (0, f"{new.id} (agent) is good no more")
    code, listed, _ = said(capsys, "list", "--json")
    rows = json.loads(listed)
    assert [(row["id"], row["good"]) for row in rows] == [(old.id, True), (new.id, False)]
    _, table, _ = said(capsys, "list")
    assert [line.split("\t")[-1].split(" 2")[0] for line in table.splitlines()] == ["state", "good until", "revoked"]


def test_a_key_for_processes_is_strong_and_kept_nowhere(keys, capsys):
    code, key, told = said(capsys, "new", "--mesh")
    check_mesh_key(key, "key")
    assert code == 0
    assert "RECALLMESH_AUTH__MESH_KEY" in told
    assert not keys.exists()


@pytest.mark.parametrize(
    ("words", "blamed"),
    [
        (["new"], "NAME"),
        (["new", "a\nb"], "NAME"),
        (["new", "a", "--tenant", "two words"], "--tenant"),
        (["new", "a", "--expires", "soon"], "--expires"),
        (["new", "a", "--expires", "2020-01-01T00:00Z"], "--expires"),
        (["new", "a", "--expires", "2999-01-01"], "--expires"),
        (["new", "a", "--mesh"], "--mesh"),
        (["rotate", "nobody"], "KEY"),
        (["rotate", "nobody", "--overlap", "a while"], "--overlap"),
        (["revoke", "nobody"], "KEY"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_made(keys, capsys, words, blamed):
    code, out, told = said(capsys, *words)
    assert (code, out) == (2, "")
    assert f"recallmesh: {blamed}: " in told
    assert not keys.exists() or load_keys(keys).rows == {}


def test_without_a_file_it_says_how_one_is_named(monkeypatch, capsys):
    monkeypatch.delenv("RECALLMESH_AUTH__KEYS", raising=False)
    code, _, told = said(capsys, "list")
    assert code == 2
    assert "--keys FILE, or RECALLMESH_AUTH__KEYS" in told
