"""The JSON door is opened where it may be, to where the settings say that the parts are."""

import sys

import pytest

from recallmesh.core.errors import InvalidArgument
from recallmesh.doorway import open_door, place
from recallmesh.mesh import Part
from recallmesh.serve import check_listen
from recallmesh.settings import Settings, load_settings
from recallmesh.telemetry.metrics import Metrics

HERE = frozenset({Part.RECALL, Part.RETAIN, Part.BANK})


def test_a_part_is_where_its_address_says_or_else_where_the_doors_server_is():
    settings = Settings(door={"server": "mesh:1"}, recall={"address": "recall:2"})
    assert [place(settings, part) for part in (Part.RECALL, Part.BANK)] == ["recall:2", "mesh:1"]


async def test_a_door_that_does_not_know_where_a_part_is_says_what_to_do():
    with pytest.raises(InvalidArgument) as caught:
        async with open_door(Settings(recall={"address": "recall:2"}), Metrics()):
            pass
    for remedy in ("RECALLMESH_RETAIN__ADDRESS", "RECALLMESH_DOOR__SERVER", "recallmesh serve all door"):
        assert remedy in caught.value.message


async def test_a_door_to_this_process_needs_no_address():
    settings = Settings(door={"listen": "127.0.0.1:0"}, serve={"drain_s": 0})
    async with open_door(settings, Metrics(), HERE, "127.0.0.1:1") as listens:
        assert listens.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("listen", ["0.0.0.0:7080", "[::]:0", "192.168.1.7:7080"])
async def test_what_others_could_reach_is_refused_unless_it_is_meant(listen):
    settings = Settings(door={"listen": listen})
    with pytest.raises(InvalidArgument, match="no authentication"):
        async with open_door(settings, Metrics(), HERE, "127.0.0.1:1"):
            pass
    check_listen(listen, exposed=True)


async def test_a_process_without_the_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "recallmesh.door.starlette", None)
    with pytest.raises(InvalidArgument, match=r"pip install 'recallmesh\[door\]'"):
        async with open_door(Settings(), Metrics(), HERE, "127.0.0.1:1"):
            pass


@pytest.mark.parametrize("origin", ["notes.example.com", "https://notes.example.com/", "https://*.example.com", "null"])
def test_what_is_no_origin_is_refused(monkeypatch, origin):
    monkeypatch.setenv("RECALLMESH_DOOR__CORS_ORIGINS", f'["{origin}"]')
    with pytest.raises(InvalidArgument, match="RECALLMESH_DOOR__CORS_ORIGINS"):
        load_settings()


def test_origins_and_any_may_be_named(monkeypatch):
    monkeypatch.setenv("RECALLMESH_DOOR__CORS_ORIGINS", '["https://notes.example.com", "http://localhost:3000", "*"]')
    assert len(load_settings().door.cors_origins) == 3
