"""A picture of quality against milliseconds, as SVG: readable in light and in dark."""

from collections.abc import Mapping
from html import escape

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 150, 46, 48
LINES = {
    "pack_4096": ("pack of 4,096 tokens", "#0969da", "#58a6ff"),
    "recall_20": ("among the first 20", "#1a7f37", "#3fb950"),
    "recall_10": ("among the first 10", "#9a6700", "#d29922"),
    "mrr": ("MRR", "#8250df", "#bc8cff"),
}
"""What is drawn: the figure, its name, its colour on white and on black."""
ACROSS_STEPS = (10, 20, 50, 100, 200, 500, 1000, 2000)
MARKS = 6
GRID = 0.1
TITLE = "Evidence found against the CPU time of a recall, by how many candidates are read"


def draw(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Return the picture of figures by how much is read."""
    most = max(row["cpu_ms"] for row in rows.values())
    step = next((step for step in ACROSS_STEPS if most / step <= MARKS), ACROSS_STEPS[-1])
    right = step * -(-most // step)
    low = GRID * (min(row[name] for row in rows.values() for name in LINES) // GRID)

    def x(value: float) -> float:
        return LEFT + value / right * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / (1 - low) * (HEIGHT - TOP - BOTTOM)

    body = [f'<text class="name" x="{LEFT}" y="26">{escape(TITLE)}</text>']
    for nth in range(round((1 - low) / GRID) + 1):
        level = low + nth * GRID
        body.append(f'<path class="grid" d="M{LEFT} {y(level):.1f}H{WIDTH - RIGHT}"/>')
        body.append(f'<text class="mark" x="{LEFT - 8}" y="{y(level) + 4:.1f}" text-anchor="end">{level:.1f}</text>')
    body += [
        f'<text class="mark" x="{x(at):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{at:,g}</text>'
        for at in (nth * step for nth in range(round(right / step) + 1))
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    body.append(
        f'<text class="mark" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">CPU milliseconds of a recall, models '
        "included; beside the points how many are read</text>"
    )
    for name, (title, _, _) in LINES.items():
        points = [(x(row["cpu_ms"]), y(row[name])) for row in rows.values()]
        body.append(f'<path class="line {name}" d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in points)}"/>')
        body += [f'<circle class="dot {name}" cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in points]
        body.append(f'<text class="mark" x="{points[-1][0] + 10:.1f}" y="{points[-1][1] + 4:.1f}">{title}</text>')
    top = next(iter(LINES))
    body += [
        f'<text class="mark" x="{x(row["cpu_ms"]):.1f}" y="{y(row[top]) - 9:.1f}" text-anchor="middle">{read}</text>'
        for read, row in rows.items()
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-labelledby="title">\n<title id="title">{escape(TITLE)}</title>\n<style>{_style()}</style>\n'
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="6"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _style() -> str:
    light = "".join(
        f".line.{name}{{stroke:{colour}}}.dot.{name}{{fill:{colour}}}" for name, (_, colour, _) in LINES.items()
    )
    dark = "".join(
        f".line.{name}{{stroke:{colour}}}.dot.{name}{{fill:{colour}}}" for name, (_, _, colour) in LINES.items()
    )
    return (
        'text{font-family:-apple-system,"Segoe UI","DejaVu Sans",Helvetica,Arial,sans-serif}'
        ".card{fill:#fff;stroke:#d0d7de}.name{fill:#1f2328;font-weight:600;font-size:14px}"
        ".mark{fill:#424a53;font-size:12px}.grid{stroke:#d0d7de}.line{fill:none;stroke-width:2}"
        f"{light}@media (prefers-color-scheme: dark){{.card{{fill:#0d1117;stroke:#30363d}}"
        f".name{{fill:#f0f6fc}}.mark{{fill:#c9d1d9}}.grid{{stroke:#30363d}}{dark}}}"
    )
