"""The tool that asks a bank."""

from contextlib import aclosing
from typing import Annotated, ClassVar

from pydantic import Field

from recallmesh.core.bank import BankRef
from recallmesh.core.errors import RecallUnavailable
from recallmesh.core.recall import RecallAnswer, Recaller, RecallRequest, RecallStage
from recallmesh.core.tags import EVERYTHING, TagLeaf, TagMode
from recallmesh.core.time import Clock
from recallmesh.tools.argument import Moment
from recallmesh.tools.missing import missing
from recallmesh.tools.shown import ShownMemory, counted, lines, shown_memory
from recallmesh.tools.tool import Asked, Hints, Ports, Progress, Reply, Told, Tool
from recallmesh.tools.when import stretch

MAX_TOKENS = 2048
"""Half of what the mesh gives by itself: each memory comes with some thirty tokens more that say when and which."""
LIMIT = 20
"""Memories that are returned unless more are asked for; what is asked for is mostly among the first ten."""
LIMIT_MOST = 100
STEPS = 2.0
"""Steps of a recall as progress counts them: to search, and to read what was found."""

Tags = Annotated[list[str], Field(max_length=64)]


class AskedRecall(Asked):
    """A question."""

    query: str = Field(
        min_length=1,
        description="What you want to know, as one whole question or statement with the names, dates and numbers "
        'that you know. A period in it is understood: "in March 2026", "last week". At most 500 tokens.',
    )
    max_tokens: int = Field(
        default=MAX_TOKENS, ge=1, le=32_768, description="The most tokens of memory text to return."
    )
    limit: int = Field(default=LIMIT, ge=1, le=LIMIT_MOST, description="The most memories to return.")
    tags: Tags = Field(default_factory=list, description="Only memories that have one of these tags.")
    query_time: Moment = Field(
        default=None,
        description='Your user\'s now, with UTC offset, which "yesterday" is counted from. Default: now.',
    )


class ToldRecall(Told):
    """The memories that answer, best first."""

    notes: list[str] = Field(
        description="What to know before relying on the answer: what did not answer, what was left out. Empty: nothing."
    )
    memories: list[ShownMemory] = Field(description="Best first.")
    omitted: int = Field(
        default=0,
        description="Memories that were considered and left out, as less likely to answer: see limit, max_tokens.",
    )


class RecallTool(Tool[AskedRecall]):
    """Asks, and tells what is missing from the answer."""

    name: ClassVar = "recall"
    title: ClassVar = "Recall memories"
    about: ClassVar = (
        "Search long-term memory. Use it before you answer or decide whenever something may have been told, done or "
        "decided earlier: people, preferences, plans, dates, names, numbers, what you did yourself. Ask again in other "
        "words, or about one thing at a time, if the first answer does not hold it. What comes is the nearest there "
        "is, best first, even where none of it answers: judge by what it says. If notes call the answer incomplete, do "
        "not conclude that something was never said."
    )
    hints: ClassVar = Hints(read_only=True, idempotent=True)
    asked: ClassVar = AskedRecall
    told: ClassVar = ToldRecall

    def __init__(self, now: Clock) -> None:
        """Ask at this clock's time, the asker's, with the asker's UTC offset."""
        self._now = now

    async def run(self, ports: Ports, bank: BankRef, asked: AskedRecall, progress: Progress | None) -> Reply:
        """Ask; with ``progress`` tell when all has been searched."""
        request = RecallRequest(
            bank,
            asked.query,
            max_tokens=asked.max_tokens,
            limit=asked.limit,
            query_time=asked.query_time or self._now(),
            tags=TagLeaf(frozenset(asked.tags), TagMode.ANY_STRICT) if asked.tags else EVERYTHING,
        )
        if progress is None:
            return reply_of(await ports.recaller.recall(request))
        return reply_of(await _followed(ports.recaller, request, progress))


async def _followed(recaller: Recaller, request: RecallRequest, progress: Progress) -> RecallAnswer:
    await progress(0.0, STEPS, "searching by meaning, words, names and time")
    async with aclosing(recaller.stream(request)) as told:
        async for one in told:
            if one.stage is RecallStage.FINAL:
                await progress(STEPS, STEPS, f"{counted(len(one.answer.memories), 'memory', 'memories')} chosen")
                return one.answer
            found = len(one.answer.memories) + one.answer.omitted
            await progress(1.0, STEPS, f"{counted(found, 'memory', 'memories')} found, reading the best")
    raise RecallUnavailable("the answer ended before it was whole")


def reply_of(answer: RecallAnswer) -> Reply:
    """Write an answer for a model."""
    memories = [shown_memory(one.memory, one.scores.final) for one in answer.memories]
    notes = list(missing(answer))
    if any(one.oversized for one in answer.memories):
        notes.append("The best memory is longer than max_tokens; it came whole and alone.")
    if answer.window is not None and answer.window.phrase:
        read = f'"{answer.window.phrase}" was read as {stretch(answer.window.window)}'
        notes.append(f"{read}: memories of that time are preferred, others come too.")
    data = ToldRecall(notes=notes, memories=memories, omitted=answer.omitted)
    return Reply("\n\n".join([_head(answer), *notes, *lines(memories)]), data)


def _head(answer: RecallAnswer) -> str:
    if not answer.memories:
        return "Nothing found." + (f" {_left_out(answer.omitted)}" if answer.omitted else "")
    parts = [f"{counted(len(answer.memories), 'memory', 'memories')}, best first."]
    if answer.omitted:
        parts.append(_left_out(answer.omitted))
    return " ".join(parts)


def _left_out(omitted: int) -> str:
    return f"{omitted} more, which are less likely to answer, were left out (limit, max_tokens)."
