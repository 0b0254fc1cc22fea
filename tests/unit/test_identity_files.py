# ruff: noqa: ASYNC110 - what is waited for is read from files
"""Files of keys are read again when they change, and what goes wrong with them lets nobody in and shuts nobody out."""

import asyncio
import io
from pathlib import Path

import pytest
from key_rows import NOW, row_of

from recallmesh.core.errors import FieldViolation, InvalidArgument, Unauthenticated
from recallmesh.identity.api_key import hash_of, new_key
from recallmesh.identity.key_edit import found, with_key, with_revoked
from recallmesh.identity.key_store import change_keys
from recallmesh.identity.opening import open_authenticator, open_mesh_keys
from recallmesh.identity.settings import AuthSettings
from recallmesh.identity.watched import open_watched
from recallmesh.telemetry.log import set_up_logging

SOON_S = 0.01
MESH = "m" * 32


def text(written: bytes) -> str:
    if written == b"wrong":
        raise InvalidArgument(FieldViolation("text", "is wrong"))
    return written.decode()


async def becomes(watched, wanted):
    async with asyncio.timeout(30):
        while watched.value != wanted:
            await asyncio.sleep(SOON_S)


async def test_a_file_is_read_again_when_it_changes_or_another_takes_its_place(tmp_path):
    path = tmp_path / "file"
    path.write_text("one", encoding="utf-8")
    async with open_watched(path, text, every_s=SOON_S) as watched:
        assert watched.value == "one"
        path.write_text("two", encoding="utf-8")
        await becomes(watched, "two")
        other = tmp_path / "other"
        other.write_text("six", encoding="utf-8")
        other.replace(path)
        await becomes(watched, "six")


async def test_a_link_that_leads_elsewhere_counts_as_a_change(tmp_path):
    # As Kubernetes swaps a secret's files.
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "keys").write_text(name, encoding="utf-8")
    (tmp_path / "data").symlink_to("first")
    path = tmp_path / "keys"
    path.symlink_to("data/keys")
    async with open_watched(path, text, every_s=SOON_S) as watched:
        (tmp_path / "swapped").symlink_to("second")
        (tmp_path / "swapped").replace(tmp_path / "data")
        await becomes(watched, "second")


async def test_a_file_that_becomes_wrong_or_goes_away_leaves_what_the_right_one_said(tmp_path):
    log = io.StringIO()
    set_up_logging(stream=log)
    path = tmp_path / "file"
    path.write_text("right", encoding="utf-8")
    async with open_watched(path, text, every_s=SOON_S) as watched:
        path.write_text("wrong", encoding="utf-8")
        async with asyncio.timeout(30):
            while "is wrong" not in log.getvalue():
                await asyncio.sleep(SOON_S)
        path.unlink()
        async with asyncio.timeout(30):
            while "No such file" not in log.getvalue():
                await asyncio.sleep(SOON_S)
        assert watched.value == "right"
        assert log.getvalue().count("is wrong") == 1
        path.write_text("mended", encoding="utf-8")
        await becomes(watched, "mended")


@pytest.mark.parametrize("name", ["wrong", "absent"])
async def test_a_file_that_is_wrong_at_the_start_is_refused_with_its_path(tmp_path, name):
    path = tmp_path / name
    if name == "wrong":
        path.write_text("wrong", encoding="utf-8")
    with pytest.raises(InvalidArgument, match=str(path)):
        async with open_watched(path, text):
            pass


async def test_a_key_is_good_and_good_no_more_without_a_restart(tmp_path):
    path, (key_id, key) = tmp_path / "keys.json", new_key()
    change_keys(path, lambda file: file)
    auth = AuthSettings(mode="on", keys=path)
    async with open_authenticator(auth, tuple, public=True, look_every_s=SOON_S) as known:
        with pytest.raises(Unauthenticated):
            await known.authenticate(key)
        change_keys(path, lambda file: with_key(file, row_of(key_id, hash_of(key))))
        async with asyncio.timeout(30):
            while True:
                try:
                    assert (await known.authenticate(key)).name == "agent"
                    break
                except Unauthenticated:
                    await asyncio.sleep(SOON_S)
        change_keys(path, lambda file: with_revoked(file, found(file, key_id, NOW), NOW))
        async with asyncio.timeout(30):
            while True:
                try:
                    await known.authenticate(key)
                    await asyncio.sleep(SOON_S)
                except Unauthenticated:
                    break


async def test_the_meshs_own_key_comes_from_a_setting_or_a_file_and_not_from_both(tmp_path):
    path = tmp_path / "mesh"
    path.write_text(f"{MESH}\n{'n' * 32}\n", encoding="utf-8")
    for said, keys in (
        ({"mesh_key": MESH}, (MESH,)),
        ({"mesh_key_file": path}, (MESH, "n" * 32)),
        ({}, ()),
    ):
        async with open_mesh_keys(AuthSettings(mode="on", **said)) as now:
            assert now() == keys
    async with open_mesh_keys(AuthSettings(mesh_key_file=Path("/nowhere"))) as now:
        assert now() == ()
    for wrong in ({"mesh_key": "weak"}, {"mesh_key": MESH, "mesh_key_file": path}, {"mesh_key_file": Path("/nowhere")}):
        with pytest.raises(InvalidArgument) as caught:
            async with open_mesh_keys(AuthSettings(mode="on", **wrong)):
                pass
        assert MESH not in caught.value.message


@pytest.mark.parametrize(
    ("public", "mesh", "remedy"), [(True, (MESH,), "recallmesh key new"), (False, (), "recallmesh key new --mesh")]
)
async def test_a_mesh_that_nobody_could_call_does_not_start(public, mesh, remedy):
    with pytest.raises(InvalidArgument, match=f"nobody could call.*{remedy}"):
        async with open_authenticator(AuthSettings(mode="on"), lambda: mesh, public=public):
            pass


async def test_where_authentication_is_off_nobody_asks_and_no_file_is_read():
    async with open_authenticator(AuthSettings(keys=Path("/nowhere")), tuple, public=True) as known:
        assert known is None


async def test_what_is_not_for_callers_reads_no_file_of_their_keys_and_knows_none():
    auth = AuthSettings(mode="on", keys=Path("/nowhere"))
    async with open_authenticator(auth, lambda: (MESH,), public=False) as known:
        assert (await known.authenticate(MESH)).tenant is None
        with pytest.raises(Unauthenticated):
            await known.authenticate(new_key()[1])
