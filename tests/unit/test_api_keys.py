"""API keys are random, kept as hashes alone, and good for what their row says, as long as it says so."""

import json
import random
import stat
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from recallmesh.core.errors import InvalidArgument, StoreUnavailable, Unauthenticated
from recallmesh.core.principal import Principal, Right
from recallmesh.core.quota import Quota
from recallmesh.identity.api_key import KEY, KeyRow, hash_of, id_in, is_of, new_key, new_mesh_key
from recallmesh.identity.authenticator import Credentials
from recallmesh.identity.key_edit import found, with_key, with_revoked, with_rotated
from recallmesh.identity.key_file import BYTES, KeyFile, read_keys, write_keys
from recallmesh.identity.key_store import change_keys, load_keys
from recallmesh.identity.mesh_key import is_among, read_mesh_keys

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ID, WHOLE = new_key(random.Random(1).choice)
ROW = KeyRow(ID, "agent", "acme", frozenset({Right.RECALL, Right.RETAIN}), hash_of(WHOLE), NOW)
FULL = replace(
    ROW,
    id="0123456789ab",
    name="alle Bücher",
    banks=("diary-*", "x"),
    expires=NOW + timedelta(days=1),
    revoked=NOW,
    rights=frozenset({Right.ADMIN}),
)


def test_a_key_says_its_id_and_no_two_are_alike():
    made = {new_key()[1] for _ in range(100)}
    assert len(made) == 100
    for key in made:
        assert KEY.fullmatch(key)
    assert WHOLE.startswith(f"rm_{ID}_")
    assert id_in(WHOLE) == ID
    assert [id_in(wrong) for wrong in ("", "rm_", WHOLE[:-1], WHOLE + "a", f" {WHOLE}", WHOLE.upper()[:3])] == [""] * 6


def test_a_key_is_made_of_what_is_chosen():
    assert new_key(lambda letters: letters[-1])[1] == f"rm_{'z' * 12}_{'z' * 43}"
    assert new_mesh_key(lambda letters: letters[0]) == f"rmmesh_{'0' * 43}"


def test_what_is_kept_of_a_key_knows_it_and_does_not_hold_it():
    assert is_of(WHOLE, hash_of(WHOLE))
    assert not is_of(WHOLE[:-1] + "_", hash_of(WHOLE))
    assert WHOLE.rpartition("_")[2] not in repr(ROW)


def test_a_file_of_keys_is_read_as_it_was_written():
    file = KeyFile({row.id: row for row in (ROW, FULL)}, {"acme": Quota(5, None, 3), "umbrella": Quota()})
    assert read_keys(write_keys(file)) == file
    assert WHOLE.rpartition("_")[2] not in write_keys(file).decode()
    assert read_keys(b"") == read_keys(b"{}") == KeyFile()


GOOD = json.loads(write_keys(KeyFile({ROW.id: ROW})))["keys"][0]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": "short"}, r"keys\[0\]\.id"),
        ({"name": ""}, r"keys\[0\]\.name"),
        ({"tenant": "two words"}, r"keys\[0\]\.tenant"),
        ({"rights": []}, r"keys\[0\]\.rights.*recall, retain, admin"),
        ({"rights": ["mesh"]}, r"keys\[0\]\.rights.*recall, retain, admin"),
        ({"hash": WHOLE}, r"keys\[0\]\.hash"),
        ({"created": "2026-11-30"}, r"keys\[0\]\.created"),
        ({"key": WHOLE}, r"keys\[0\]\.key"),
    ],
)
def test_a_wrong_row_is_refused_by_its_place_without_telling_what_it_holds(change, field):
    with pytest.raises(InvalidArgument, match=field) as caught:
        read_keys(json.dumps({"keys": [GOOD | change]}).encode())
    assert WHOLE not in caught.value.message


@pytest.mark.parametrize("written", [b"no json", b"[1]", b"\xff", json.dumps({"keys": [GOOD, GOOD]}).encode()])
def test_what_is_no_file_of_keys_is_refused(written):
    with pytest.raises(InvalidArgument, match="keys"):
        read_keys(written)


def test_what_is_far_too_large_is_refused():
    with pytest.raises(InvalidArgument, match="more than"):
        read_keys(b" " * (BYTES + 1))


def test_a_key_is_meant_by_its_id_or_by_the_name_of_one_that_is_good():
    file = KeyFile({row.id: row for row in (ROW, FULL)})
    assert found(file, ROW.id, NOW) == found(file, "agent", NOW) == ROW
    assert found(file, FULL.id, NOW) == FULL
    for word in (FULL.name, "nobody"):
        with pytest.raises(InvalidArgument, match="neither the id nor the name"):
            found(file, word, NOW)
    with pytest.raises(InvalidArgument, match=f"name of several.*{ROW.id}, z{ROW.id[1:]}"):
        found(with_key(file, replace(ROW, id=f"z{ROW.id[1:]}")), "agent", NOW)


def test_a_key_in_the_place_of_another_may_do_the_same_and_the_other_ends():
    until = NOW + timedelta(hours=1)
    file, new = with_rotated(KeyFile({ROW.id: ROW}), ROW, lambda: ("n" * 12, "sha256:new"), now=NOW, until=until)
    assert new == replace(ROW, id="n" * 12, hash="sha256:new")
    assert file.rows[ROW.id] == replace(ROW, expires=until)
    ending = replace(ROW, expires=NOW + timedelta(minutes=1))
    file, _ = with_rotated(KeyFile({ROW.id: ending}), ending, lambda: ("n" * 12, "h"), now=NOW, until=until)
    assert file.rows[ROW.id] == ending
    with pytest.raises(InvalidArgument, match="good no more"):
        with_rotated(file, FULL, lambda: ("n" * 12, "h"), now=NOW, until=until)


def test_a_revoked_key_stays_revoked_when_it_was():
    file = with_revoked(KeyFile({ROW.id: ROW}), ROW, NOW)
    later = with_revoked(file, file.rows[ROW.id], NOW + timedelta(days=1))
    assert later.rows[ROW.id].revoked == NOW


def test_a_file_is_made_for_its_owner_alone_and_keeps_its_mode_and_its_links(tmp_path):
    path = tmp_path / "new" / "keys.json"
    change_keys(path, lambda file: with_key(file, ROW))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    change_keys(link, lambda file: with_revoked(file, ROW, NOW))
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert load_keys(path).rows[ROW.id].revoked == NOW
    assert [one.name for one in path.parent.iterdir()] == ["keys.json"]
    assert load_keys(tmp_path / "none.json") == KeyFile()


def test_changes_at_once_are_all_kept(tmp_path):
    path, rows = tmp_path / "keys.json", [replace(ROW, id=f"{number:012}") for number in range(12)]
    threads = [threading.Thread(target=change_keys, args=(path, lambda file, r=row: with_key(file, r))) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(load_keys(path).rows) == {row.id for row in rows}


def test_a_file_that_cannot_be_used_is_told_with_its_path(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    for path in (folder, tmp_path / "bad.json"):
        with pytest.raises(InvalidArgument, match=str(path)):
            load_keys(path)
    with pytest.raises(InvalidArgument, match="cannot be"):
        change_keys(tmp_path / "bad.json" / "keys.json", lambda file: file)
    assert (tmp_path / "bad.json").read_text(encoding="utf-8") == "{"


def test_the_keys_of_a_mesh_are_lines_and_each_has_to_be_strong():
    assert read_mesh_keys(b"\n" + b"a" * 32 + b"\r\n\n" + b"b" * 40) == ("a" * 32, "b" * 40)
    for weak in (b"", b"\n", b"a" * 31, b"a" * 32 + b"\nshort", b"a b" * 20, "ü".encode() * 40, b"a" * 20_000):
        with pytest.raises(InvalidArgument, match="mesh key"):
            read_mesh_keys(weak)
    assert is_among("b" * 40, ("a" * 32, "b" * 40))
    assert not is_among("b" * 39, ("a" * 32, "b" * 40))
    assert not is_among("", ())


class Tokens:
    """Knows one token, and says of another that it cannot tell."""

    async def authenticate(self, credential):
        if credential == "a.good.token":
            return Principal("jwt:ida", "acme", frozenset({Right.RECALL}))
        if credential == "an.early.token":
            raise StoreUnavailable("the keys of the issuer cannot be had now")
        raise Unauthenticated("the credential is not known, or not good any more")


def credentials(*rows, tokens=None, now=NOW):
    file = KeyFile({row.id: row for row in rows})
    mesh = ("m" * 32, "n" * 32)
    return Credentials(mesh=lambda: mesh, keys=lambda: file, tokens=tokens, quota=Quota(), clock=lambda: now)


async def test_a_key_is_its_owners_and_the_meshs_is_anybodys_of_the_mesh():
    known = credentials(ROW, tokens=Tokens())
    assert await known.authenticate(WHOLE) == Principal("agent", "acme", frozenset({Right.RECALL, Right.RETAIN}))
    for mesh in ("m" * 32, "n" * 32):
        assert await known.authenticate(mesh) == Principal("mesh", None, frozenset(Right))
    assert (await known.authenticate("a.good.token")).name == "jwt:ida"


@pytest.mark.parametrize(
    ("row", "now"),
    [
        (replace(ROW, revoked=NOW), NOW),
        (replace(ROW, expires=NOW), NOW),
        (replace(ROW, hash=hash_of("another")), NOW),
        (replace(ROW, id="0" * 12), NOW),
    ],
)
async def test_a_key_that_is_good_no_more_is_nobodys(row, now):
    with pytest.raises(Unauthenticated, match="not known, or not good any more"):
        await credentials(row, now=now).authenticate(WHOLE)


@pytest.mark.parametrize("credential", ["", "x", "rm_", "rm_x_y", "m" * 31, "a.forged.token", WHOLE[:-1] + "!"])
@pytest.mark.parametrize("tokens", [None, Tokens()])
async def test_what_nobody_has_is_nobodys_and_says_no_more(credential, tokens):
    with pytest.raises(Unauthenticated) as caught:
        await credentials(ROW, tokens=tokens).authenticate(credential)
    assert caught.value.message == "the credential is not known, or not good any more"
    assert caught.value.metadata == {}


async def test_a_token_that_cannot_be_told_now_is_no_wrong_one():
    with pytest.raises(StoreUnavailable):
        await credentials(tokens=Tokens()).authenticate("an.early.token")
