"""The table of candidates of a trace: where each memory stood at each stage, and what became of it."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from recallmesh.cli.answer import SIGNS
from recallmesh.cli.screen import one_line, print_lines
from recallmesh.core.arm import ArmName
from recallmesh.core.recall import Outcome, Trace, TraceCandidate

FORMULA = "o / (1 + o), o = reads / (1 - reads) · place · context · names · (recent · time · proof · favour)²"
"""How ``final`` is made of the columns (docs/adr/0010-final-score.md)."""
LEGEND = (
    ("#", "the place in the answer's order"),
    ("sem key gra tem", "the rank that each arm gave it: semantic, keyword, graph, temporal; empty: not found by it"),
    ("reads", "how well the cross-encoder, reading question and memory together, thinks it answers, 0 to 1"),
    ("", "(1.000) in brackets: not reranked, so final keeps the fused order"),
    ("place", "1 for the first of the fused lists, less for each behind it"),
    ("context", "over 1: with the memory before it, it is nearer to the question than its own words say"),
    ("names", "0.25: the question names somebody whom it does not mention; else 1"),
    ("recent", "1.1 for what is new, 0.92 after a year, 1 without a time"),
    ("time", "1.1 in the middle of the asked period, 0.9 at its ends and outside; 1 where none was asked for"),
    ("", "0.1 outside it where the question is about the period alone"),
    ("proof favour", "how well an observation is proven; the lift of a favoured arm: shown where not always 1"),
    ("final", f"{FORMULA}; it orders, and is no confidence"),
    ("tok", "its length in tokens"),
    ("became", "packed: it came; budget: no room left; limit: enough came before it; else why it was dropped"),
    ("RRF", "in a pipe, where numbers have more digits: the sum of 1/(60 + rank) over the arms"),
)
NEUTRAL = "1.000"
"""A factor that changes nothing."""
ON_DEMAND = ("proof", "favour")
"""Factors that few banks have: on a terminal they have a column only where they differ from 1."""
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
    if not screen.is_terminal:
        screen.print()
        table = [_cells(row, arms, digits=6) for row in rows]
        print_lines(
            screen,
            [
                (*_headings(arms), "memory"),
                *((*line.values(), row.text) for line, row in zip(table, rows, strict=True)),
            ],
        )
        return
    shown = [(row, _cells(row, arms, digits=3)) for row in rows[:most]]
    headings = [
        name
        for name in _headings(arms)
        if name != "RRF" and (name not in ON_DEMAND or any(cells[name] not in ("", NEUTRAL) for _, cells in shown))
    ]
    _print_table(screen, headings, [(row, [cells[name] for name in headings]) for row, cells in shown])
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


def _headings(arms: tuple[ArmName, ...]) -> tuple[str, ...]:
    factors = ("place", "context", "names", "recent", "time", *ON_DEMAND)
    return ("#", *(SIGNS[arm] for arm in arms), "RRF", "reads", *factors, "final", "tok", "became")


def _cells(row: TraceCandidate, arms: tuple[ArmName, ...], *, digits: int) -> dict[str, str]:
    became = row.outcome.value
    if row.detail:
        # What a limit cut had room: that is all its detail says.
        became = row.detail if row.outcome is Outcome.BUDGET else f"{row.outcome}: {row.detail}"
    ranks = [str(row.ranks.get(arm, "")) for arm in arms]
    cells = (str(row.final_rank or ""), *ranks, *_numbers(row, digits), str(row.tokens or ""), became)
    return dict(zip(_headings(arms), cells, strict=True))


def _numbers(row: TraceCandidate, digits: int) -> tuple[str, ...]:
    scores = row.scores
    if scores is None:
        return ("",) * 10
    reads = f"{scores.relevance:.{digits}f}"
    factors = (
        scores.fusion_prior,
        scores.context_prior,
        scores.naming_prior,
        scores.recency_boost,
        scores.temporal_boost,
        scores.proof_boost,
        scores.strategy_boost,
    )
    return (
        f"{scores.rrf:.{digits}f}",
        reads if row.reranked else f"({reads})",
        *(f"{factor:.{digits}f}" for factor in factors),
        f"{scores.final:.{digits}f}",
    )
