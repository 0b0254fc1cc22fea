"""Line charts as SVG by themselves: readable in light and dark, both axes logarithmic, each line named at its end."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from pathlib import Path

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 40, 48
LABEL_GAP = 15
"""Pixels between two names, at least."""
LIGHT = ("#1f6feb", "#bf3989", "#1a7f37", "#9a6700", "#8250df", "#cf222e", "#57606a", "#0a7ea4")
DARK = ("#6cb6ff", "#f778ba", "#56d364", "#e3b341", "#d2a8ff", "#ff8e86", "#adbac7", "#76e3ea")
Line = Sequence[tuple[float, float]]


def draw_lines(path: Path, title: str, lines: Mapping[str, Line], *, across: str, up: str) -> None:
    """Write a chart of named lines of points, each of positive numbers."""
    across_of, up_of = _scale(lines, 0, LEFT, WIDTH - RIGHT), _scale(lines, 1, HEIGHT - BOTTOM, TOP)
    parts = [_opening(title, len(lines))]
    for value in across_of.ticks:
        x = across_of.at(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{_short(value)}</text>')
    for value in up_of.ticks:
        y = up_of.at(value)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_short(value)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(across)}</text>')
    parts.append(f'<text x="{LEFT - 52}" y="{TOP - 14}">{escape(up)}</text>')
    places = _apart([up_of.at(line[-1][1]) for line in lines.values()])
    for number, ((name, line), place) in enumerate(zip(lines.items(), places, strict=True)):
        points = [(across_of.at(x), up_of.at(y)) for x, y in line]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline class="line c{number}" points="{drawn}"/>')
        parts += [f'<circle class="dot c{number}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]
        parts.append(
            f'<text class="name c{number}" x="{points[-1][0] + 10:.1f}" y="{place + 4:.1f}">{escape(name)}</text>'
        )
    path.write_text("\n".join((*parts, "</svg>", "")), encoding="utf-8")


class _Scale:
    """Places of numbers on a logarithmic axis."""

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self._low, self._high = log10(low), log10(high)
        self._begin, self._end = begin, end
        self.ticks = [
            step * 10.0**power
            for power in range(floor(self._low), ceil(self._high) + 1)
            for step in (1, 2, 5)
            if low * 0.999 <= step * 10.0**power <= high * 1.001 and (step == 1 or self._high - self._low < 2.6)
        ]

    def at(self, value: float) -> float:
        share = (log10(value) - self._low) / (self._high - self._low or 1)
        return self._begin + share * (self._end - self._begin)


def _scale(lines: Mapping[str, Line], axis: int, begin: float, end: float) -> _Scale:
    values = [point[axis] for line in lines.values() for point in line]
    low, high = min(values), max(values)
    if axis == 1:
        low, high = low * 0.8, high * 1.25
    return _Scale(low, high, begin, end)


def _apart(places: Sequence[float]) -> list[float]:
    """Move places down that are too near to the one above."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    moved = list(places)
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + LABEL_GAP)
    return moved


def _opening(title: str, lines: int) -> str:
    def colours(palette: Sequence[str]) -> str:
        chosen = [palette[number % len(palette)] for number in range(lines)]
        return "".join(
            f".line.c{n}{{stroke:{colour}}}.dot.c{n},.name.c{n}{{fill:{colour}}}" for n, colour in enumerate(chosen)
        )

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{escape(title)}">\n'
        "<style>text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600;font-size:13px}"
        ".grid{stroke:#8c959f;stroke-opacity:.25}.line{fill:none;stroke-width:2}"
        f"{colours(LIGHT)}@media(prefers-color-scheme:dark){{text{{fill:#e6edf3}}{colours(DARK)}}}</style>\n"
        f'<text class="title" x="{LEFT}" y="14">{escape(title)}</text>'
    )


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
