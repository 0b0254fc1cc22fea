"""Loops that run beside the calls."""

import asyncio

import pytest

from recallmesh import parts


async def test_a_loop_that_a_bug_ended_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "RESTART_S", 0)
    began = 0
    again = asyncio.Event()

    async def loop() -> None:
        nonlocal began
        began += 1
        if began == 1:
            raise RuntimeError
        again.set()
        await asyncio.Event().wait()

    async with parts.running(loop):
        await asyncio.wait_for(again.wait(), 5)
    assert began == 2
