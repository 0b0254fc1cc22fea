"""What a person or a script sees of a recall that is answered as it comes."""

import io
import json
from datetime import UTC, datetime

import pytest
from rich.console import Console

from recallmesh.cli.streaming import heard
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import InternalFault, StoreUnavailable
from recallmesh.core.memory import FactType, Memory
from recallmesh.core.recall import (
    RecallAnswer,
    RecalledMemory,
    RecallProgress,
    RecallRequest,
    RecallStage,
    Scores,
)

REQUEST = RecallRequest(BankRef("diary"), "Who bakes?")
CLEAR_LINE = "\x1b[2K"


def answer(*texts) -> RecallAnswer:
    made = datetime(2026, 10, 6, tzinfo=UTC)
    memories = tuple(
        RecalledMemory(Memory(f"m{place}", text, FactType.WORLD, made, tokens=3), {}, Scores(0.1, 0.5, 0.5))
        for place, text in enumerate(texts)
    )
    return RecallAnswer(memories, arms=())


class Told:
    """A recaller that tells what it is given, and notes when it is left."""

    def __init__(self, *told) -> None:
        self.told, self.left = told, False

    async def stream(self, request):
        assert request == REQUEST
        try:
            for one in self.told:
                if isinstance(one, Exception):
                    raise one
                yield one
        finally:
            self.left = True


FUSED = RecallProgress(RecallStage.FUSED, answer("Nadia bakes.", "[b]Leo[/b] \x1b[31m has a dog."))
FINAL = RecallProgress(RecallStage.FINAL, answer("Leo has a dog."))


def screen(**fields) -> Console:
    return Console(file=io.StringIO(), width=80, height=24, **fields)


async def test_in_a_pipe_each_answer_has_a_heading():
    out = screen()
    recaller = Told(FUSED, FINAL)
    assert await heard(recaller, REQUEST, out, as_json=False) == FINAL.answer
    lines = out.file.getvalue().splitlines()
    assert lines[0] == "provisional"
    assert "Nadia bakes." in lines[1]
    assert lines[-2:] == ["", "final"]
    assert recaller.left


async def test_in_a_pipe_a_final_answer_alone_has_its_heading_too():
    out = screen()
    await heard(Told(FINAL), REQUEST, out, as_json=False)
    assert out.file.getvalue().splitlines() == ["final"]


async def test_on_a_terminal_the_provisional_answer_is_shown_and_wiped_off():
    out = screen(force_terminal=True)
    assert await heard(Told(FUSED, FINAL), REQUEST, out, as_json=False) == FINAL.answer
    shown = out.file.getvalue()
    assert shown.index("provisional: not yet reranked") < shown.index("Nadia bakes.") < shown.rindex(CLEAR_LINE)
    assert "[b]Leo[/b]" in shown
    assert "\x1b[31m" not in shown


async def test_on_a_terminal_a_long_provisional_answer_is_cut_to_the_screen():
    long = RecallProgress(RecallStage.FUSED, answer(*(f"fact {number}" for number in range(90))))
    out = screen(force_terminal=True)
    await heard(Told(long, FINAL), REQUEST, out, as_json=False)
    shown = out.file.getvalue()
    assert "fact 2" in shown
    assert "fact 80" not in shown


async def test_as_json_each_provisional_answer_is_a_line_with_its_stage(capsys):
    out = screen()
    assert await heard(Told(FUSED, FINAL), REQUEST, out, as_json=True) == FINAL.answer
    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert told["stage"] == "RECALL_STAGE_FUSED"
    assert told["answer"]["memories"][0]["memory"]["text"] == "Nadia bakes."
    assert out.file.getvalue() == ""


@pytest.mark.parametrize("terminal", [True, False])
async def test_an_error_after_the_provisional_answer_is_the_commands(terminal):
    recaller = Told(FUSED, StoreUnavailable("the ledger does not answer"))
    with pytest.raises(StoreUnavailable):
        await heard(recaller, REQUEST, screen(force_terminal=terminal), as_json=False)
    assert recaller.left


async def test_a_stream_without_a_final_answer_is_an_error():
    with pytest.raises(InternalFault):
        await heard(Told(FUSED), REQUEST, screen(), as_json=False)
