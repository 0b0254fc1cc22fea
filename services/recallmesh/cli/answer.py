"""A recall's answer as a person reads it."""

from datetime import datetime

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from recallmesh.cli.columns import SIGNS
from recallmesh.cli.screen import printable
from recallmesh.cli.tally import count
from recallmesh.core.memory import FactType, Memory
from recallmesh.core.recall import PartState, RecallAnswer, RecalledMemory
from recallmesh.core.time import Precision, Window

SILENT = (PartState.FAILED, PartState.TIMED_OUT, PartState.UNAVAILABLE)


def when(memory: Memory) -> str:
    """Say when a memory was, as exactly as it is known, in the UTC offset in which it was told."""
    if memory.occurred is None:
        return "" if memory.mentioned is None else f"said {_day(memory.mentioned)}"
    window = memory.occurred.window
    match memory.occurred.precision:
        case Precision.YEAR:
            return f"{window.start:%Y}"
        case Precision.MONTH:
            return f"{window.start:%b %Y}"
        case _:
            return _days(window)


def ranks_of(recalled: RecalledMemory) -> str:
    """Say where each arm had the memory: ``sem 1 · key 3``."""
    return " · ".join(f"{SIGNS[arm]} {recalled.ranks[arm]}" for arm in SIGNS if arm in recalled.ranks)


def print_answer(screen: Console, answer: RecallAnswer, *, most: int | None = None) -> None:
    """Print the memories, best first, each with its score, its ranks and its time."""
    _print_troubles(screen, answer)
    if not answer.memories:
        screen.print(Text(_nothing(answer), style="dim"))
        return
    if screen.is_terminal:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(justify="right", style="bold", no_wrap=True, min_width=3)
        table.add_column(style="cyan", no_wrap=True)
        table.add_column(overflow="fold")
        for place, recalled in enumerate(answer.memories[:most], start=1):
            text = Text(printable(recalled.memory.text))
            score = f"{recalled.scores.final:.3f}"
            table.add_row(str(place), score, Group(text, Text(_notes(recalled), style="dim")))
        screen.print(table)
    else:
        for place, recalled in enumerate(answer.memories[:most], start=1):
            screen.print(Text(f"{place:>3}  {recalled.scores.final:.3f}  {printable(recalled.memory.text)}"))
            screen.print(Text(f"            {_notes(recalled)}"))
    screen.print(Text(_sum(answer, most), style="dim"))


def _nothing(answer: RecallAnswer) -> str:
    if answer.omitted:
        return f"nothing fitted: {answer.omitted} memories were considered; a larger --max-tokens lets them in"
    return "nothing found: the bank is empty, or no memory passes the filters (recallmesh bank show BANK)"


def _notes(recalled: RecalledMemory) -> str:
    memory = recalled.memory
    notes = [ranks_of(recalled), when(memory), " ".join(f"#{tag}" for tag in memory.tags)]
    if memory.fact_type is FactType.OBSERVATION:
        notes.append(f"observation of {count(memory.proof_count, 'fact')}")
    notes += [f"image {attachment}" for attachment in memory.attachments]
    if recalled.oversized:
        notes.append("longer than asked for: nothing else fitted")
    return "   ".join(printable(note) for note in notes if note)


def _sum(answer: RecallAnswer, most: int | None) -> str:
    hidden = len(answer.memories) - len(answer.memories[:most])
    parts = [f"{count(len(answer.memories), 'memory')}, {answer.tokens} tokens"]
    if hidden:
        parts.append(f"{hidden} of them not shown here")
    if answer.omitted:
        parts.append(f"{answer.omitted} more were considered")
    if answer.window is not None:
        named = f"{answer.window.phrase!r}, " if answer.window.phrase else ""
        parts.append(f"time: {named}{_days(answer.window.window)}")
    return " · ".join(parts)


def _print_troubles(screen: Console, answer: RecallAnswer) -> None:
    for arm in answer.arms:
        if arm.state in SILENT:
            screen.print(Text(f"the {arm.arm} arm did not answer ({arm.state}): {arm.detail}", style="yellow"))
    for part in answer.models:
        if part.state in SILENT:
            screen.print(Text(f"the {part.part} did not answer ({part.state}): {part.detail}", style="yellow"))


def _days(window: Window) -> str:
    first, last = _day(window.start), _day(window.end)
    return first if first == last else f"{first} to {last}"


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y}"
