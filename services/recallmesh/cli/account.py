"""A recall's trace as a person reads it: why this memory, why not that one."""

from rich.bar import Bar
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recallmesh.cli.answer import SIGNS
from recallmesh.core.arm import ArmName
from recallmesh.core.recall import Outcome, RecallAnswer, Trace, TraceCandidate

ROWS = 30
"""The most candidates shown; the JSON has all of them."""


def print_account(console: Console, answer: RecallAnswer, *, most: int = ROWS) -> None:
    """Print the window and its rule, the arms, the timeline, and a row for each of the best candidates."""
    trace = answer.trace
    if trace is None:
        return
    console.print()
    _print_window(console, trace)
    _print_arms(console, answer)
    _print_phases(console, trace)
    _print_candidates(console, trace, most)


def _print_window(console: Console, trace: Trace) -> None:
    if trace.window is None:
        console.print("time    none named in the query: the temporal arm was not asked")
        return
    window = trace.window
    named = f" from {window.phrase!r}" if window.phrase else ""
    start, end = window.window.start, window.window.end
    console.print(f"time    {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}{named} (rule: {window.rule})")


def _print_arms(console: Console, answer: RecallAnswer) -> None:
    for place, arm in enumerate(answer.arms):
        head = "arms    " if place == 0 else "        "
        note = f"  {arm.detail}" if arm.detail else ""
        milliseconds = arm.latency.total_seconds() * 1000
        console.print(Text(f"{head}{arm.arm:<9} {arm.state:<11} {arm.hits:>4} hits {milliseconds:>8.1f} ms{note}"))
    for part in answer.models:
        note = f"  {part.detail}" if part.detail else ""
        milliseconds = part.latency.total_seconds() * 1000
        console.print(
            Text(f"        {part.part:<9} {part.state:<11} {part.items:>4} texts {milliseconds:>7.1f} ms{note}")
        )


def _print_phases(console: Console, trace: Trace) -> None:
    total = max((phase.start + phase.duration for phase in trace.phases), default=None)
    if total is None or not total:
        return
    table = Table.grid(padding=(0, 1))
    whole = total.total_seconds()
    for place, phase in enumerate(trace.phases):
        begin = phase.start.total_seconds()
        length = phase.duration.total_seconds()
        bar = Bar(whole, begin, begin + max(length, whole / 400), width=40, color="cyan")
        table.add_row("phases " if place == 0 else "", phase.name, bar, f"{length * 1000:.1f} ms")
    console.print(table)


def _print_candidates(console: Console, trace: Trace, most: int) -> None:
    kept = trace.prefilter
    reranking = f"{kept.kept} kept for reranking (cap {kept.cap}), {kept.dropped} beyond it"
    console.print(f"fused   {len(trace.candidates)} candidates, {reranking}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    arms = tuple(arm for arm in ArmName if any(arm in row.ranks for row in trace.candidates))
    table.add_column("#", justify="right")
    for arm in arms:
        table.add_column(SIGNS[arm], justify="right")
    for heading in ("RRF", "reads", "recent", "time", "proof", "final", "tok"):
        table.add_column(heading, justify="right")
    table.add_column("became")
    table.add_column("memory", overflow="ellipsis", no_wrap=True)
    for row in sorted(trace.candidates, key=_order)[:most]:
        table.add_row(*_cells(row, arms), style="" if row.outcome is Outcome.PACKED else "dim")
    console.print(table)
    if len(trace.candidates) > most:
        console.print(Text(f"        {len(trace.candidates) - most} more candidates; --json has them all", style="dim"))


def _order(row: TraceCandidate) -> tuple[bool, int, int]:
    return (not row.final_rank, row.final_rank, row.fused_rank)


def _cells(row: TraceCandidate, arms: tuple[ArmName, ...]) -> list[Text]:
    scores = row.scores
    numbers = [str(row.ranks.get(arm, "")) for arm in arms]
    if scores is None:
        numbers += [""] * 6
    else:
        read = f"{scores.relevance:.3f}" if row.reranked else f"({scores.relevance:.3f})"
        boosts = [f"{boost:.3f}" for boost in (scores.recency_boost, scores.temporal_boost, scores.proof_boost)]
        numbers += [f"{scores.rrf:.4f}", read, *boosts, f"{scores.final:.3f}"]
    became = row.outcome.value if not row.detail else f"{row.outcome}: {row.detail}"
    cells = [str(row.final_rank or ""), *numbers, str(row.tokens or ""), became, row.text.replace("\n", " ")]
    return [Text(cell) for cell in cells]
