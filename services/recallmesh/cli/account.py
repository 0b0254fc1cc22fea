"""A recall's trace as a person reads it: why this memory, why not that one."""

from collections.abc import Iterator

from rich.bar import Bar
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recallmesh.cli.candidates import print_candidates
from recallmesh.cli.hops import print_hops
from recallmesh.cli.screen import print_lines, printable
from recallmesh.core.recall import RecallAnswer, Trace

ROWS = 30
"""The most candidates shown on a terminal; a pipe and the JSON have all of them."""
BAR = 40
"""The widest bar of a phase, in characters."""


def print_account(screen: Console, answer: RecallAnswer, *, most: int = ROWS) -> None:
    """Print what was asked when, the window, the arms, the timeline, the calls, and a row for each candidate."""
    trace = answer.trace
    if trace is None:
        return
    screen.print()
    asked, hits = trace.query_time, trace.budget_hits
    screen.print(Text(f"asked    {asked:%Y-%m-%d %H:%M %z}, {hits} hits an arm at most"))
    _print_window(screen, trace)
    _print_arms(screen, answer)
    _print_phases(screen, trace)
    print_hops(screen, trace.hops)
    print_candidates(screen, trace, most)


def _print_window(screen: Console, trace: Trace) -> None:
    if trace.window is None:
        screen.print("time     none named in the query: the temporal arm was not asked")
        return
    window = trace.window
    named = f" from {window.phrase!r}" if window.phrase else ""
    start, end = window.window.start, window.window.end
    screen.print(Text(f"time     {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}{named} (rule: {window.rule})"))


def _print_arms(screen: Console, answer: RecallAnswer) -> None:
    rows = list(_parts(answer))
    if not screen.is_terminal:
        screen.print()
        print_lines(screen, [("part", "state", "count", "ms", "detail"), *rows])
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "left", "left", "right", "left", "right"):
        table.add_column(justify="right" if justify == "right" else "left", no_wrap=True)
    table.add_column(overflow="fold")
    for place, (part, state, count, spent, detail) in enumerate(rows):
        unit = "hits" if place < len(answer.arms) else "texts"
        head = "arms" if place == 0 else "models" if place == len(answer.arms) else ""
        cells = (f"{head:<7}", part, state, count, unit, f"{spent} ms", printable(detail))
        table.add_row(*(Text(cell) for cell in cells))
    screen.print(table)


def _parts(answer: RecallAnswer) -> Iterator[tuple[str, str, str, str, str]]:
    for arm in answer.arms:
        yield arm.arm.value, arm.state.value, str(arm.hits), f"{arm.latency.total_seconds() * 1000:.1f}", arm.detail
    for model in answer.models:
        spent = f"{model.latency.total_seconds() * 1000:.1f}"
        yield model.part, model.state.value, str(model.items), spent, model.detail


def _print_phases(screen: Console, trace: Trace) -> None:
    if not screen.is_terminal:
        rows = [
            (phase.name, f"{phase.start.total_seconds() * 1000:.1f}", f"{phase.duration.total_seconds() * 1000:.1f}")
            for phase in trace.phases
        ]
        screen.print()
        print_lines(screen, [("phase", "start ms", "ms"), *rows])
        return
    whole = max(((phase.start + phase.duration).total_seconds() for phase in trace.phases), default=0.0)
    if not whole:
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for place, phase in enumerate(trace.phases):
        begin, length = phase.start.total_seconds(), phase.duration.total_seconds()
        bar = Bar(whole, begin, begin + max(length, whole / 400), width=min(BAR, screen.width // 2), color="cyan")
        table.add_row(f"{'phases' if place == 0 else '':<7}", phase.name, f"{length * 1000:.1f} ms", bar)
    screen.print(table)
