"""The table of candidates of a trace: where each memory stood at each stage, and what became of it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from recallmesh.cli.columns import ABOUT, FACTORS, OUTCOMES, SIGNS, became, order
from recallmesh.cli.screen import one_line, print_lines, printable
from recallmesh.core.arm import ArmName
from recallmesh.core.recall import Outcome, Prefilter, Trace, TraceCandidate

LEGEND = (
    ("#", ABOUT["#"]),
    (" ".join(SIGNS.values()), "the rank that each arm gave it: semantic, keyword, graph, temporal; empty: not by it"),
    *((name, about) for name, about in ABOUT.items() if name != "#" and name not in SIGNS.values()),
)
NEUTRAL = "1.000"
"""A factor that changes nothing."""
ON_DEMAND = ("words", "length", "around", "proof", "favour")
"""Factors that not every answer has: on a terminal they have a column only where they differ from 1."""
IN_A_PIPE = ("raw", "says")
"""Columns that a terminal has no room for: ``reads`` tells as much."""
GIVE_WAY = ("tok", "length", "words", "around")
"""What gives way where it is narrower still, in this order."""
BESIDE = 40
"""Columns that a memory needs to stand beside its numbers; with fewer it stands below them."""
GAP = "  "
TERMINAL_DIGITS = 3
PIPE_DIGITS = 6
"""A pipe has room for more: of numbers, and of what an outcome says beside its word."""


def print_candidates(screen: Console, trace: Trace, most: int) -> None:
    """Print the candidates, best first. The numbers keep their columns at any width; the memory is what gives way."""
    rows = sorted(trace.candidates, key=order)
    _print_fusion(screen, trace.prefilter, rows)
    if not rows:
        return
    arms = tuple(arm for arm in ArmName if any(arm in row.ranks for row in rows))
    if not screen.is_terminal:
        screen.print()
        print_lines(screen, [(*_headings(arms), *_own(arms), "id", "memory"), *(_line(row, arms) for row in rows)])
        return
    shown = [(row, _cells(row, arms, digits=TERMINAL_DIGITS)) for row in rows[:most]]
    headings = _fitting(_headings(arms), [cells for _, cells in shown], screen.width)
    _print_table(screen, headings, [(row, [cells[name] for name in headings]) for row, cells in shown])
    if len(rows) > most:
        more = f"{len(rows) - most} more candidates; in a pipe, with --json or --trace-html, come all of them"
        screen.print(Text(GAP + more, style="dim"))


def _print_fusion(screen: Console, kept: Prefilter, rows: Sequence[TraceCandidate]) -> None:
    """Print what the fusion kept, what it came from, and how many ended how."""
    read = "none of them reranked"
    if kept.kept:
        read = f"{kept.kept} kept for reranking (cap {kept.cap}), {kept.dropped} beyond it"
    screen.print(Text(f"fused    {len(rows)} candidates, {read}"))
    if kept.stopped:
        screen.print(Text(f"         reading stopped early: {printable(kept.stopped)}"))
    if kept.composition:
        found = " · ".join(f"{arm} {count}" for arm, count in kept.composition.items())
        screen.print(Text(f"         found by {found}"))
    if kept.boosts:
        screen.print(Text("favoured " + " · ".join(f"{arm} {level}" for arm, level in kept.boosts.items())))
    ended = Counter(became(row) for row in rows)
    for place, (word, why) in enumerate((word, why) for word, why in OUTCOMES.items() if word in ended):
        screen.print(Text(f"{'' if place else 'became':<8} {ended[word]:>4} {word:<11} {why}"))


def _fitting(headings: Sequence[str], table: Sequence[Mapping[str, str]], width: int) -> list[str]:
    """Choose the columns: those that say something; where it is narrow, RRF gives way, then factors that are all 1."""
    neutral = [name for name in FACTORS if all(cells[name] in ("", NEUTRAL) for cells in table)]
    kept = [name for name in headings if name not in IN_A_PIPE and (name not in ON_DEMAND or name not in neutral)]

    for name in ("RRF", *reversed(neutral), *GIVE_WAY):
        widest = (max(cell_len(cells[each]) for cells in ({each: each}, *table)) for each in kept)
        if sum(widest) + len(kept) - 1 <= width:
            break
        kept = [each for each in kept if each != name]
    return kept


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
            screen.print(Text(numbers + gap + _fitted(_told(row), room), style=style), no_wrap=True)
            continue
        screen.print(Text(numbers, style=style), no_wrap=True)
        indent = " " * (widths[0] + len(gap))
        screen.print(Text(indent + _fitted(_told(row), screen.width - len(indent)), style=style), no_wrap=True)


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


def _told(row: TraceCandidate) -> str:
    """Return the text, or the id of a memory whose text the asker is not shown."""
    return row.text or f"({row.memory_id})"


def _headings(arms: tuple[ArmName, ...]) -> tuple[str, ...]:
    return ("#", *(SIGNS[arm] for arm in arms), "fus", "RRF", "raw", "reads", *FACTORS, "final", "tok", "became")


def _own(arms: tuple[ArmName, ...]) -> Iterator[str]:
    for arm in arms:
        yield from (f"{SIGNS[arm]} score", f"{SIGNS[arm]} because")


def _line(row: TraceCandidate, arms: tuple[ArmName, ...]) -> tuple[str, ...]:
    own = (
        word
        for arm in arms
        for word in (f"{row.arm_scores[arm]:.6g}" if arm in row.arm_scores else "", row.because.get(arm, ""))
    )
    return (*_cells(row, arms, digits=PIPE_DIGITS).values(), *own, row.memory_id, row.text)


def _cells(row: TraceCandidate, arms: tuple[ArmName, ...], *, digits: int) -> dict[str, str]:
    word = became(row)
    if row.detail and word == row.outcome.value and digits > TERMINAL_DIGITS:
        word = f"{word}: {row.detail}"
    ranks = (str(row.ranks.get(arm, "")) for arm in arms)
    cells = (
        str(row.final_rank or ""),
        *ranks,
        str(row.fused_rank),
        *_numbers(row, digits),
        str(row.tokens or ""),
        word,
    )
    return dict(zip(_headings(arms), cells, strict=True))


def _numbers(row: TraceCandidate, digits: int) -> tuple[str, ...]:
    scores = row.scores
    if scores is None:
        return ("",) * (len(FACTORS) + 4)
    # RRF is a small number: the sum of 1/60 or less each.
    rrf = f"{scores.rrf:.{max(digits, 4)}f}"
    if not row.final_rank:
        return (rrf, *("",) * (len(FACTORS) + 3))
    reads = f"{scores.relevance:.{digits}f}"
    factors = [getattr(scores, field) for field in FACTORS.values()]
    return (
        rrf,
        "" if scores.reranker_raw is None else f"{scores.reranker_raw:.{digits}f}",
        reads if row.reranked else f"({reads})",
        *(f"{factor:.{digits}f}" for factor in factors),
        f"{scores.final:.{digits}f}",
    )
