"""The table of candidates of a trace: where each memory stood at each stage, and what became of it."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from recallmesh.cli.answer import SIGNS
from recallmesh.cli.screen import one_line, print_lines
from recallmesh.core.arm import ArmName
from recallmesh.core.recall import Outcome, Trace, TraceCandidate

LEGEND = (
    ("#", "the place in the answer's order"),
    ("sem key gra tem", "the rank that each arm gave it: semantic, keyword, graph, temporal; empty: not found by it"),
    ("RRF", "the sum of 1/(60 + rank) over the arms: found by more of them, and higher, is better"),
    ("reads", "how well the cross-encoder, reading question and memory together, thinks it answers; in [0, 1]"),
    (
        "recent time proof",
        "factors around 1: how new it is, how near the asked time, how well an observation is proven",
    ),
    ("final", "what orders the answer: reads, weighed with the fused rank and the factors"),
    ("tok", "its length in tokens"),
    ("became", "packed: it came; budget: no room left; otherwise why it was dropped"),
)
BESIDE = 40
"""Columns that a memory needs to stand beside its numbers; with fewer it stands below them."""
GAP = "  "


def print_candidates(screen: Console, trace: Trace, most: int) -> None:
    """Print the candidates, best first. The numbers keep their columns at any width; the memory is what gives way."""
    kept = trace.prefilter
    rows = sorted(trace.candidates, key=_order)
    count = len(rows)
    screen.print(
        Text(f"fused    {count} candidates, {kept.kept} kept for reranking (cap {kept.cap}), {kept.dropped} beyond it")
    )
    if not rows:
        return
    arms = tuple(arm for arm in ArmName if any(arm in row.ranks for row in rows))
    headings = ("#", *(SIGNS[arm] for arm in arms), "RRF", "reads", "recent", "time", "proof", "final", "tok", "became")
    if not screen.is_terminal:
        screen.print()
        print_lines(screen, [(*headings, "memory"), *((*_cells(row, arms), row.text) for row in rows)])
        return
    _print_table(screen, headings, [(row, _cells(row, arms)) for row in rows[:most]])
    if count > most:
        screen.print(
            Text(f"{GAP}{count - most} more candidates; in a pipe, or with --json, come all of them", style="dim")
        )


def _print_table(
    screen: Console, headings: Sequence[str], rows: Sequence[tuple[TraceCandidate, Sequence[str]]]
) -> None:
    lines = [headings, *(cells for _, cells in rows)]
    widths = [max(cell_len(cells[place]) for cells in lines) for place in range(len(headings))]
    gap = GAP if sum(widths) + len(GAP) * len(widths) <= screen.width else " "
    room = screen.width - sum(widths) - len(gap) * len(widths)
    beside = room >= BESIDE
    screen.print(
        Text(gap.join((_justified(headings, widths, gap), "memory")[: 1 + beside])), style="bold", no_wrap=True
    )
    for row, cells in rows:
        style = "" if row.outcome is Outcome.PACKED else "dim"
        numbers = _justified(cells, widths, gap)
        if beside:
            screen.print(Text(numbers + gap + _fitted(row.text, room), style=style), no_wrap=True)
            continue
        screen.print(Text(numbers, style=style), no_wrap=True)
        indent = " " * (widths[0] + len(gap))
        screen.print(Text(indent + _fitted(row.text, screen.width - len(indent)), style=style), no_wrap=True)


def _justified(cells: Sequence[str], widths: Sequence[int], gap: str = GAP) -> str:
    """Write the numbers to the right, the last column to the left."""
    *numbers, last = (
        cell.ljust(width) if place == len(widths) - 1 else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return gap.join((*numbers, last))


def _fitted(text: str, room: int) -> str:
    line = one_line(text)
    return line if cell_len(line) <= room else set_cell_size(line, max(room - 1, 0)).rstrip() + "…"


def _order(row: TraceCandidate) -> tuple[bool, int, int]:
    return (not row.final_rank, row.final_rank, row.fused_rank)


def _cells(row: TraceCandidate, arms: tuple[ArmName, ...]) -> tuple[str, ...]:
    scores = row.scores
    numbers = [str(row.ranks.get(arm, "")) for arm in arms]
    if scores is None:
        numbers += [""] * 6
    else:
        read = f"{scores.relevance:.3f}" if row.reranked else f"({scores.relevance:.3f})"
        boosts = [f"{boost:.3f}" for boost in (scores.recency_boost, scores.temporal_boost, scores.proof_boost)]
        numbers += [f"{scores.rrf:.4f}", read, *boosts, f"{scores.final:.3f}"]
    became = row.outcome.value if not row.detail else f"{row.outcome}: {row.detail}"
    return (str(row.final_rank or ""), *numbers, str(row.tokens or ""), became)
