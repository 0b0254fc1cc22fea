"""A recall's answer as a person reads it."""

from datetime import datetime

from rich.console import Console
from rich.text import Text

from recallmesh.core.arm import ArmName
from recallmesh.core.memory import Memory
from recallmesh.core.recall import PartState, RecallAnswer, RecalledMemory
from recallmesh.core.time import Precision

SIGNS = {ArmName.SEMANTIC: "sem", ArmName.KEYWORD: "key", ArmName.GRAPH: "gra", ArmName.TEMPORAL: "tem"}
SILENT = (PartState.FAILED, PartState.TIMED_OUT, PartState.UNAVAILABLE)


def when(memory: Memory) -> str:
    """Say when a memory was, as exactly as it is known."""
    if memory.occurred is not None:
        start, end = memory.occurred.window.start, memory.occurred.window.end
        match memory.occurred.precision:
            case Precision.YEAR:
                return f"{start:%Y}"
            case Precision.MONTH:
                return f"{start:%b %Y}"
            case Precision.DAY | Precision.INSTANT:
                return _day(start)
            case _:
                return f"{_day(start)} to {_day(end)}"
    return "" if memory.mentioned is None else f"said {_day(memory.mentioned)}"


def ranks_of(recalled: RecalledMemory) -> str:
    """Say where each arm had the memory: ``sem 1 · key 3``."""
    return " · ".join(f"{SIGNS.get(arm, arm)} {rank}" for arm, rank in sorted(recalled.ranks.items()))


def print_answer(console: Console, answer: RecallAnswer, *, most: int | None = None) -> None:
    """Print the memories, best first, each with its score, its ranks and its time."""
    _print_troubles(console, answer)
    if not answer.memories:
        console.print(Text("nothing found", style="dim"))
        return
    for place, recalled in enumerate(answer.memories[:most], start=1):
        _print_memory(console, place, recalled)
    hidden = len(answer.memories) - len(answer.memories[:most])
    parts = [f"{len(answer.memories)} memories, {answer.tokens} tokens"]
    if hidden:
        parts.append(f"{hidden} of them not shown here")
    if answer.omitted:
        parts.append(f"{answer.omitted} more were considered")
    if answer.window is not None:
        window = answer.window.window
        named = f"{answer.window.phrase!r}, " if answer.window.phrase else ""
        parts.append(f"time: {named}{_day(window.start)} to {_day(window.end)}")
    console.print(Text("  ".join(parts), style="dim"))


def _print_memory(console: Console, place: int, recalled: RecalledMemory) -> None:
    memory = recalled.memory
    line = Text()
    line.append(f"{place:>3}  ", style="bold")
    line.append(f"{recalled.scores.final:.3f}  ", style="cyan")
    line.append(memory.text)
    console.print(line)
    notes = [ranks_of(recalled), when(memory), " ".join(f"#{tag}" for tag in memory.tags)]
    if recalled.oversized:
        notes.append("longer than asked for: nothing else fitted")
    console.print(Text("            " + "   ".join(note for note in notes if note), style="dim"))


def _print_troubles(console: Console, answer: RecallAnswer) -> None:
    for arm in answer.arms:
        if arm.state in SILENT:
            console.print(Text(f"the {arm.arm} arm did not answer ({arm.state}): {arm.detail}", style="yellow"))
    for part in answer.models:
        if part.state in SILENT:
            console.print(Text(f"the {part.part} did not answer ({part.state}): {part.detail}", style="yellow"))


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y}"
