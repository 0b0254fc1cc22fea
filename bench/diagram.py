"""Lines over a logarithmic axis, written as SVG: readable in light and in dark, and a few kilobytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

Line = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 44, 46
LEGEND = 20
COLOURS = (
    ("#0969da", "#58a6ff"),
    ("#cf222e", "#ff7b72"),
    ("#1a7f37", "#3fb950"),
    ("#9a6700", "#d29922"),
    ("#8250df", "#bc8cff"),
    ("#57606a", "#8b949e"),
)
"""Of each line, on white and on black."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram: lines by name, each of points from left to right, all above 0; both axes are logarithmic."""

    title: str
    below: str
    lines: Mapping[str, Line]


def draw(title: str, panels: Sequence[Panel]) -> str:
    """Return a picture of panels side by side, with one legend for all."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    columns = 3
    height = HEIGHT + LEGEND * -(-len(names) // columns) + 8
    width = WIDTH * len(panels)
    body = "".join(
        f'<g transform="translate({WIDTH * place} 0)">{_panel(panel, names)}</g>' for place, panel in enumerate(panels)
    )
    legend = "".join(
        _entry(
            name, number, LEFT + (number % columns) * (width - LEFT) / columns, HEIGHT + LEGEND * (number // columns)
        )
        for number, name in enumerate(names)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="title">\n<title id="title">{escape(title)}</title>\n<style>{_style(len(names))}'
        f'</style>\n<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6"/>\n'
        f"{body}{legend}</svg>\n"
    )


def _panel(panel: Panel, names: Sequence[str]) -> str:
    points = [point for line in panel.lines.values() for point in line]
    across, up = _Axis([x for x, _ in points]), _Axis([y for _, y in points])

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + across.share(x) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up.share(y) * (HEIGHT - TOP - BOTTOM),
        )

    written = [f'<text class="name" x="{LEFT}" y="26">{escape(panel.title)}</text>']
    for value in up.marks():
        _, y = at(across.least, value)
        written.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        written.append(f'<text class="mark" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:,g}</text>')
    for value in sorted({x for x, _ in points}):
        x, y = at(value, up.least)
        written.append(f'<text class="mark" x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{value:,g}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    written.append(
        f'<text class="mark" x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{escape(panel.below)}</text>'
    )
    for name, line in panel.lines.items():
        places = [at(*point) for point in line]
        number = names.index(name)
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        written.append(f'<path class="line l{number}" d="M{path}"/>')
        written += [f'<circle class="dot d{number}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places]
    return "\n".join(written)


def _entry(name: str, number: int, x: float, y: float) -> str:
    return (
        f'<path class="line l{number}" d="M{x:.1f} {y + 4}h22"/><circle class="dot d{number}" cx="{x + 11:.1f}" '
        f'cy="{y + 4}" r="3"/><text class="mark" x="{x + 28:.1f}" y="{y + 8}">{escape(name)}</text>\n'
    )


class _Axis:
    """A logarithmic axis that begins and ends at 1, 2 or 5 times a power of ten."""

    def __init__(self, values: Sequence[float]) -> None:
        steps = [factor * 10.0**power for power in range(-6, 13) for factor in (1, 2, 5)]
        low, high = min(values), max(values)
        self.least = max(step for step in steps if step <= low)
        self.most = min(step for step in steps if step >= high and step > self.least)
        self._steps = [step for step in steps if self.least <= step <= self.most]

    def share(self, value: float) -> float:
        """Return where a value is, from 0 to 1."""
        return log10(value / self.least) / log10(self.most / self.least)

    def marks(self) -> list[float]:
        """Return the values that are written: not so many that they touch."""
        if len(self._steps) <= 8:
            return self._steps
        return [10.0**power for power in range(ceil(log10(self.least)), floor(log10(self.most)) + 1)]


def _style(lines: int) -> str:
    light: list[str] = []
    dark: list[str] = []
    for number in range(lines):
        for written, colour in zip((light, dark), COLOURS[number % len(COLOURS)], strict=True):
            written.append(f".l{number}{{stroke:{colour}}}.d{number}{{fill:{colour}}}")
    return (
        'text{font-family:-apple-system,"Segoe UI","DejaVu Sans",Helvetica,Arial,sans-serif}'
        ".card{fill:#fff;stroke:#d0d7de}.name{fill:#1f2328;font-weight:600;font-size:14px}"
        ".mark{fill:#424a53;font-size:12px}.grid{stroke:#d0d7de}.line{fill:none;stroke-width:2}"
        f"{''.join(light)}@media (prefers-color-scheme: dark){{.card{{fill:#0d1117;stroke:#30363d}}"
        f".name{{fill:#f0f6fc}}.mark{{fill:#c9d1d9}}.grid{{stroke:#30363d}}{''.join(dark)}}}"
    )
