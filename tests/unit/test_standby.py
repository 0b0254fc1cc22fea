# ruff: noqa: ASYNC110 - what is waited for goes on by itself
"""An index that cannot be opened: what stands in its place, and how it comes back."""

import asyncio
import sqlite3
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from recallmesh.core.arm import ArmQuery
from recallmesh.core.errors import EmbeddingMismatch, StoreUnavailable
from recallmesh.core.page import PageRequest
from recallmesh.standby import StandbyArm, StandbyVectors, open_or_stand_by

FILES = Path("graph.db")
QUICK = {"first_pause_s": 0.001, "last_pause_s": 0.004}


class Index:
    """An arm and a vector index in one, that says what it was asked."""

    def __init__(self):
        self.asked = []
        self.closed = False

    def __getattr__(self, name):
        async def call(*given):
            self.asked.append((name, *given))
            return name

        return call


class Opening:
    """Fails as told, then opens."""

    def __init__(self, *failures):
        self.failures = list(failures)
        self.index = Index()
        self.tries = 0

    @asynccontextmanager
    async def __call__(self):
        self.tries += 1
        if self.failures:
            failure = self.failures.pop(0) if len(self.failures) > 1 else self.failures[0]
            if failure is not None:
                raise failure
        yield self.index
        self.index.closed = True


BROKEN = StoreUnavailable("the graph store cannot be opened")
ARM_CALLS = [
    ("search", ArmQuery("b1", "q")),
    ("index", "b1", ()),
    ("remove", "b1", ()),
    ("drop", "b1"),
    ("scan", "b1", PageRequest()),
    ("check",),
]
VECTOR_CALLS = [
    ("search", ()),
    ("upsert", "b1", ()),
    ("delete", "b1", ()),
    ("drop", "b1"),
    ("scan", "b1", PageRequest()),
    ("check",),
]


async def test_what_can_be_opened_is_given_as_it_is_and_closed_in_the_end():
    opening = Opening()
    with capture_logs() as logs:
        async with open_or_stand_by(opening, StandbyArm, FILES) as arm:
            assert arm is opening.index
    assert opening.index.closed
    assert logs == []


@pytest.mark.parametrize(("proxy", "calls"), [(StandbyArm, ARM_CALLS), (StandbyVectors, VECTOR_CALLS)])
async def test_until_it_can_be_opened_every_call_says_why_and_then_every_call_goes_through(proxy, calls):
    opening = Opening(BROKEN)
    async with open_or_stand_by(opening, proxy, FILES, **QUICK) as stood:
        for name, *given in calls:
            with pytest.raises(StoreUnavailable, match="cannot be opened"):
                await getattr(stood, name)(*given)
        assert opening.index.asked == []
        opening.failures = [None]
        async with asyncio.timeout(30):
            while await _fails(stood):
                await asyncio.sleep(0.001)
        opening.index.asked.clear()
        for name, *given in calls:
            assert await getattr(stood, name)(*given) in (name, None)
        assert opening.index.asked == calls
        assert not opening.index.closed
    assert opening.index.closed


async def _fails(stood):
    try:
        await stood.check()
    except StoreUnavailable:
        return True
    return False


async def test_the_log_names_the_file_the_cause_and_the_remedy_once_for_each_reason():
    opening = Opening(BROKEN, BROKEN, BROKEN, StoreUnavailable("another reason"), None)
    with capture_logs() as logs:
        async with open_or_stand_by(opening, StandbyArm, FILES, **QUICK) as arm, asyncio.timeout(30):
            while await _fails(arm):
                await asyncio.sleep(0.001)
    assert [(log["log_level"], log["path"]) for log in logs] == [
        ("error", "graph.db"),
        ("error", "graph.db"),
        ("warning", "graph.db"),
    ]
    assert "restore the files from a backup" in logs[0]["remedy"]
    assert opening.tries == 5


async def test_a_store_of_another_process_or_model_is_refused_at_once():
    for failure in (StoreUnavailable("another process has it open"), EmbeddingMismatch("384 dimensions, not 7")):
        with pytest.raises(type(failure)):
            async with open_or_stand_by(Opening(failure), StandbyArm, FILES):
                pass


async def test_a_file_that_another_process_has_locked_is_no_bad_file(tmp_path):
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as one:
        one.execute("BEGIN EXCLUSIVE")

        @asynccontextmanager
        async def opening():
            with closing(sqlite3.connect(tmp_path / "x.db", timeout=0)) as other:
                try:
                    other.execute("CREATE TABLE t (x)")
                except sqlite3.Error as error:
                    raise StoreUnavailable("the store does not answer") from error
                yield Index()

        with pytest.raises(StoreUnavailable, match="does not answer"):
            async with open_or_stand_by(opening, StandbyArm, FILES):
                pass


async def test_one_that_turns_out_to_be_of_another_model_says_that():
    opening = Opening(BROKEN, EmbeddingMismatch("384 dimensions, not 7"))
    async with open_or_stand_by(opening, StandbyVectors, FILES, **QUICK) as vectors, asyncio.timeout(30):
        while await _fails_otherwise(vectors):
            await asyncio.sleep(0.001)


async def _fails_otherwise(vectors):
    try:
        await vectors.check()
    except StoreUnavailable:
        return True
    except EmbeddingMismatch:
        return False
    raise AssertionError("it never opens")


async def test_trying_ends_with_the_place():
    opening = Opening(BROKEN)
    async with open_or_stand_by(opening, StandbyArm, FILES, **QUICK):
        await asyncio.sleep(0.01)
    tries = opening.tries
    await asyncio.sleep(0.02)
    assert opening.tries == tries
