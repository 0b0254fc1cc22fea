"""Times in Italian and Portuguese, and what only looks like one."""

from datetime import UTC, datetime

import pytest

from recallmesh.core.time import Precision
from recallmesh.when import GrammarTimeReader

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)  # a Wednesday
READER = GrammarTimeReader()

ITALIAN = (
    ("l'altro ieri", "2026-08-17", "2026-08-17", Precision.DAY),
    ("cosa abbiamo detto ieri", "2026-08-18", "2026-08-18", Precision.DAY),
    ("tre giorni fa", "2026-08-16", "2026-08-16", Precision.DAY),
    ("un anno fa", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("venerdì scorso", "2026-08-14", "2026-08-14", Precision.DAY),
    ("la settimana scorsa", "2026-08-10", "2026-08-16", Precision.WEEK),
    ("il mese scorso", "2026-07-01", "2026-07-31", Precision.MONTH),
    ("l'anno scorso", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("lo scorso fine settimana", "2026-08-15", "2026-08-16", Precision.RANGE),
    ("quest'anno", "2026-01-01", "2026-12-31", Precision.YEAR),
    ("cosa ha detto venerdì", "2026-08-14", "2026-08-14", Precision.DAY),
    ("il 13 luglio 2024", "2024-07-13", "2024-07-13", Precision.DAY),
    ("nel luglio 2024", "2024-07-01", "2024-07-31", Precision.MONTH),
    ("a maggio", "2026-05-01", "2026-05-31", Precision.MONTH),
    ("nel maggio dell'anno scorso", "2025-05-01", "2025-05-31", Precision.MONTH),
    ("l'estate scorsa", "2025-06-01", "2025-08-31", Precision.SEASON),
    ("nell'estate del 2022", "2022-06-01", "2022-08-31", Precision.SEASON),
    ("il secondo trimestre del 2025", "2025-04-01", "2025-06-30", Precision.QUARTER),
    ("negli anni 90", "1990-01-01", "1999-12-31", Precision.DECADE),
    ("negli ultimi due mesi", "2026-06-19", "2026-08-19", Precision.RANGE),
    ("dal 2021", "2021-01-01", "2026-08-19", Precision.RANGE),
    ("prima del 2023", "1900-01-01", "2022-12-31", Precision.RANGE),
    ("dopo il 2023", "2024-01-01", "2026-08-19", Precision.RANGE),
    ("fino a marzo 2025", "1900-01-01", "2025-03-31", Precision.RANGE),
    ("tra il 3 e il 9 marzo", "2026-03-03", "2026-03-09", Precision.RANGE),
    ("da novembre a gennaio 2025", "2024-11-01", "2025-01-31", Precision.RANGE),
    ("tra il 2021 e il 2023", "2021-01-01", "2023-12-31", Precision.RANGE),
)

NOT_ITALIAN = (
    "il mare è calmo",
    "sei venuto tu",
    "il secondo tentativo",
    "100000 anni fa",
    "il 30 febbraio 2026",
    "nel 0000",
    "ogni venerdì",
    "di venerdì si mangia pesce",
    "in 2000 passi",
    "la prima volta",
    "la porta 9077",
)

PORTUGUESE = (
    ("anteontem", "2026-08-17", "2026-08-17", Precision.DAY),
    ("o que fizemos ontem", "2026-08-18", "2026-08-18", Precision.DAY),
    ("há três dias", "2026-08-16", "2026-08-16", Precision.DAY),
    ("há um ano", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("três meses atrás", "2026-05-01", "2026-05-31", Precision.MONTH),
    ("na sexta passada", "2026-08-14", "2026-08-14", Precision.DAY),
    ("na semana passada", "2026-08-10", "2026-08-16", Precision.WEEK),
    ("no mês passado", "2026-07-01", "2026-07-31", Precision.MONTH),
    ("no ano passado", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("no fim de semana passado", "2026-08-15", "2026-08-16", Precision.RANGE),
    ("este ano", "2026-01-01", "2026-12-31", Precision.YEAR),
    ("o que ele disse na sexta-feira", "2026-08-14", "2026-08-14", Precision.DAY),
    ("13 de julho de 2024", "2024-07-13", "2024-07-13", Precision.DAY),
    ("em julho de 2024", "2024-07-01", "2024-07-31", Precision.MONTH),
    ("em maio", "2026-05-01", "2026-05-31", Precision.MONTH),
    ("em maio do ano passado", "2025-05-01", "2025-05-31", Precision.MONTH),
    ("no verão passado", "2025-06-01", "2025-08-31", Precision.SEASON),
    ("no verão de 2022", "2022-06-01", "2022-08-31", Precision.SEASON),
    ("o segundo trimestre de 2025", "2025-04-01", "2025-06-30", Precision.QUARTER),
    ("nos anos 90", "1990-01-01", "1999-12-31", Precision.DECADE),
    ("nos últimos dois meses", "2026-06-19", "2026-08-19", Precision.RANGE),
    ("desde 2021", "2021-01-01", "2026-08-19", Precision.RANGE),
    ("antes de 2023", "1900-01-01", "2022-12-31", Precision.RANGE),
    ("depois de 2023", "2024-01-01", "2026-08-19", Precision.RANGE),
    ("até março de 2025", "1900-01-01", "2025-03-31", Precision.RANGE),
    ("entre 3 e 9 de março", "2026-03-03", "2026-03-09", Precision.RANGE),
    ("de novembro a janeiro de 2025", "2024-11-01", "2025-01-31", Precision.RANGE),
    ("entre 2021 e 2023", "2021-01-01", "2023-12-31", Precision.RANGE),
)

NOT_PORTUGUESE = (
    "o mar está calmo",
    "na sexta posição",
    "na segunda reunião",
    "um segundo só",
    "há 100000 anos",
    "30 de fevereiro de 2026",
    "no ano 0000",
    "em 2000 passos",
    "a porta 9077",
    "a terça parte",
    "a quarta vez",
    "foi de manhã",
)


@pytest.mark.parametrize(("text", "first", "last", "precision"), [*ITALIAN, *PORTUGUESE])
def test_a_time_gives_its_window_and_keeps_its_precision(text, first, last, precision) -> None:
    reading = READER.read(text, NOW)
    assert reading is not None
    window = reading.occurrence.window
    assert (f"{window.start:%Y-%m-%d}", f"{window.end:%Y-%m-%d}") == (first, last)
    assert reading.occurrence.precision is precision


@pytest.mark.parametrize("text", [*NOT_ITALIAN, *NOT_PORTUGUESE])
def test_what_is_no_time_gives_no_window(text: str) -> None:
    assert READER.read(text, NOW) is None
