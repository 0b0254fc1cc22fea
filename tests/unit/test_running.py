"""What the composition root does beside building: loops that run beside the calls, and the data folder."""

import asyncio

import pytest

from recallmesh import loops
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.retain import RetainItem
from recallmesh.folder import make_private
from recallmesh.telemetry.guard import Guard
from recallmesh.telemetry.metrics import Metrics


async def test_a_loop_that_a_bug_ended_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "RESTART_S", 0)
    began = 0
    again = asyncio.Event()

    async def loop() -> None:
        nonlocal began
        began += 1
        if began == 1:
            raise RuntimeError
        again.set()
        await asyncio.Event().wait()

    async with loops.running(Guard("loops", timeout_s=None, metrics=Metrics()), loop):
        await asyncio.wait_for(again.wait(), 30)
    assert began == 2


def test_a_data_folder_that_is_a_file_is_refused_by_name(tmp_path):
    taken = tmp_path / "notes.jsonl"
    taken.write_text("x", encoding="utf-8")
    with pytest.raises(InvalidArgument, match="is a file, not a folder"):
        make_private(taken)
    with pytest.raises(InvalidArgument, match="cannot be made"):
        make_private(taken / "below")


def test_a_new_data_folder_is_its_owners_alone(tmp_path):
    make_private(tmp_path / "new" / "data")
    assert (tmp_path / "new" / "data").stat().st_mode & 0o077 == 0


def test_a_bare_string_is_no_content():
    with pytest.raises(InvalidArgument, match="content"):
        RetainItem(content="a plain text")
