"""What is in force for a bank, as a person reads it: each value, who said so, and what it means."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from recallmesh.cli.keys import CONSOLIDATION, DEFENSE, RETAIN, written
from recallmesh.cli.screen import print_lines, printable
from recallmesh.core.bank import BankConfig, ConsolidationTuning, RetainTuning
from recallmesh.core.defense import DefenseTuning
from recallmesh.core.tunable import CONSOLIDATION_TUNABLES, DEFENSE_TUNABLES, RETAIN_TUNABLES, TUNABLES, value_at
from recallmesh.core.tuning import EffectiveTuning, TuningOrigin

HEADINGS = ("key", "value", "from", "meaning")
UNSET = "-"
"""A floor that is none, a text that is empty."""
STYLES = {TuningOrigin.SERVICE: "dim", TuningOrigin.BANK: "bold green", TuningOrigin.REQUEST: "bold yellow"}

Row = tuple[str, str, TuningOrigin, str]


def print_effective(screen: Console, effective: EffectiveTuning, config: BankConfig) -> None:
    """Print a table on a terminal, tab-separated lines with a heading in a pipe."""
    rows = [*_recall(effective), *_retain(config)]
    if not screen.is_terminal:
        print_lines(screen, [HEADINGS, *rows])
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold", no_wrap=heading in {"key", "from"})
    for key, value, origin, about in rows:
        style = STYLES[origin]
        table.add_row(Text(key), Text(printable(value), style), Text(origin, style), Text(about, "dim"))
    screen.print(table)


def _recall(effective: EffectiveTuning) -> Iterator[Row]:
    for one in TUNABLES:
        # A service of another version may not know it.
        if one.path in effective.origins:
            value = value_at(effective.tuning, one.path)
            yield one.path, _shown(value), effective.origins[one.path], one.about


def _retain(config: BankConfig) -> Iterator[Row]:
    for prefix, tunables, tuning, service in (
        (RETAIN, RETAIN_TUNABLES, config.retain, RetainTuning()),
        (CONSOLIDATION, CONSOLIDATION_TUNABLES, config.consolidation, ConsolidationTuning()),
        (DEFENSE, DEFENSE_TUNABLES, config.defense, DefenseTuning()),
    ):
        for one in tunables:
            value = value_at(tuning, one.path)
            origin = TuningOrigin.SERVICE if value == value_at(service, one.path) else TuningOrigin.BANK
            yield prefix + one.path, _shown(value), origin, one.about


def _shown(value: object) -> str:
    return UNSET if value is None else written(value) or UNSET
