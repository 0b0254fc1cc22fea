"""One small bank, its questions, and the answers that must come: in this process, and some over nine."""

import shutil
from datetime import date, datetime
from pathlib import Path

import pytest
import pytest_asyncio
import yaml
from deployment import Diary, open_in_process, open_nine
from stores import open_nine_on_stores

from recallmesh.core.bank import ExtractionMode
from recallmesh.core.retain import RetainItem
from recallmesh.core.tuning import Budget

pytestmark = pytest.mark.timeout(600)
over_session = pytest.mark.asyncio(loop_scope="session")

HERE = Path(__file__).parent
BANK = yaml.safe_load(HERE.joinpath("bank.yaml").read_text(encoding="utf-8"))
TEXTS = {name: row["text"] for name, row in BANK["memories"].items()}
QUESTIONS = yaml.safe_load(HERE.joinpath("questions.yaml").read_text(encoding="utf-8"))
IN_MESH = [question["ask"] for question in QUESTIONS if question.get("mesh")]


def asked(question):
    return pytest.param(question, id=question["ask"])


async def told(mesh) -> Diary:
    diary = await mesh.diary()
    items = [
        RetainItem((row["text"],), time=row.get("at"), timeless=row.get("timeless", False), document_id=name)
        for name, row in BANK["memories"].items()
    ]
    answer = await diary.retain(*items, mode=ExtractionMode.VERBATIM)
    assert answer.memory_count == len(TEXTS)
    return diary


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def kept(tmp_path_factory):
    """Return two folders that hold the same bank, and its name.

    Retained twice, its memories would have other ids, which break ties of the arms.
    """
    folder = tmp_path_factory.mktemp("golden")
    async with open_in_process(folder / "one") as mesh:
        ref = (await told(mesh)).ref
    return folder / "one", shutil.copytree(folder / "one", folder / "other"), ref


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def here(kept):
    folder, _, ref = kept
    async with open_in_process(folder) as mesh:
        yield Diary(mesh.faces, ref)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def over_nine(kept):
    _, folder, ref = kept
    async with open_nine(folder) as mesh:
        yield Diary(mesh.faces, ref)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def over_stores(tmp_path_factory):
    async with open_nine_on_stores(tmp_path_factory.mktemp("stores")) as mesh:
        yield await told(mesh)


def days(window) -> tuple[date, date]:
    return window.start.date(), window.end.date()


async def answer_to(diary, question):
    return await diary.ask(question, query_time=BANK["asked_at"], budget=Budget.MID, max_tokens=2000)


async def check(diary, question):
    answer = await answer_to(diary, question["ask"])
    names = {text: name for name, text in TEXTS.items()}
    found = [names[one.memory.text] for one in answer.memories]
    wanted = [question["first"]] if "first" in question else question["within"]
    assert set(wanted) <= set(found[: question.get("k", 1)]), found[:8]
    read = None if answer.window is None else days(answer.window.window)
    assert read == (tuple(question["window"]) if "window" in question else None)
    assert [one.scores.final for one in answer.memories] == sorted(
        (one.scores.final for one in answer.memories), reverse=True
    )
    assert all(0 <= one.scores.final <= 1 for one in answer.memories)


def test_the_bank_and_its_questions_are_whole():
    assert len(TEXTS) == len(set(TEXTS.values())) >= 40
    assert len(QUESTIONS) >= 20
    named = {name for question in QUESTIONS for name in (question.get("within") or [question["first"]])}
    assert named <= TEXTS.keys()
    assert isinstance(BANK["asked_at"], datetime)
    assert BANK["asked_at"].tzinfo is not None


@over_session
@pytest.mark.parametrize("question", [asked(question) for question in QUESTIONS])
async def test_a_question_has_its_answer(here, question):
    await check(here, question)


@over_session
@pytest.mark.parametrize("question", IN_MESH)
async def test_nine_processes_give_the_same_answer(here, over_nine, question):
    there, locally = await answer_to(over_nine, question), await answer_to(here, question)
    best = [(one.memory.text, one.scores.reranker_raw) for one in there.memories[:5]]
    assert best == [(one.memory.text, one.scores.reranker_raw) for one in locally.memories[:5]]
    finals = [one.scores.final for one in there.memories[:5]]
    assert finals == [one.scores.final for one in locally.memories[:5]]
    assert there.window == locally.window


@pytest.mark.stores
@over_session
@pytest.mark.parametrize("question", [asked(question) for question in QUESTIONS])
async def test_the_real_stores_give_the_same_memories(here, over_stores, question):
    await check(over_stores, question)
    there, locally = await answer_to(over_stores, question["ask"]), await answer_to(here, question["ask"])
    assert {one.memory.text for one in there.memories} == {one.memory.text for one in locally.memories}
    assert there.memories[0].memory.text == locally.memories[0].memory.text
    assert there.window == locally.window
