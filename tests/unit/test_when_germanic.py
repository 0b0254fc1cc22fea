"""Times in German and Dutch, and what only looks like one."""

from datetime import UTC, datetime

import pytest

from recallmesh.core.time import Precision
from recallmesh.when import GrammarTimeReader

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)  # a Wednesday
READER = GrammarTimeReader()

GERMAN = (
    ("vorgestern", "2026-08-17", "2026-08-17", Precision.DAY),
    ("was haben wir gestern besprochen", "2026-08-18", "2026-08-18", Precision.DAY),
    ("vor drei Tagen", "2026-08-16", "2026-08-16", Precision.DAY),
    ("vor einem Jahr", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("vor zwei Monaten", "2026-06-01", "2026-06-30", Precision.MONTH),
    ("am letzten Freitag", "2026-08-14", "2026-08-14", Precision.DAY),
    ("letzte Woche", "2026-08-10", "2026-08-16", Precision.WEEK),
    ("im letzten Monat", "2026-07-01", "2026-07-31", Precision.MONTH),
    ("letztes Jahr", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("vorletzte Woche", "2026-08-03", "2026-08-09", Precision.WEEK),
    ("letztes Wochenende", "2026-08-15", "2026-08-16", Precision.RANGE),
    ("dieses Jahr", "2026-01-01", "2026-12-31", Precision.YEAR),
    ("am Freitag", "2026-08-14", "2026-08-14", Precision.DAY),
    ("am 13. Juli 2024", "2024-07-13", "2024-07-13", Precision.DAY),
    ("im Juli 2024", "2024-07-01", "2024-07-31", Precision.MONTH),
    ("im Mai", "2026-05-01", "2026-05-31", Precision.MONTH),
    ("im Mai letzten Jahres", "2025-05-01", "2025-05-31", Precision.MONTH),
    ("im letzten Sommer", "2025-06-01", "2025-08-31", Precision.SEASON),
    ("im Sommer 2022", "2022-06-01", "2022-08-31", Precision.SEASON),
    ("im zweiten Quartal 2025", "2025-04-01", "2025-06-30", Precision.QUARTER),
    ("in den 90er Jahren", "1990-01-01", "1999-12-31", Precision.DECADE),
    ("in den letzten zwei Wochen", "2026-08-05", "2026-08-19", Precision.RANGE),
    ("seit 2021", "2021-01-01", "2026-08-19", Precision.RANGE),
    ("seit letzter Woche", "2026-08-10", "2026-08-19", Precision.RANGE),
    ("vor 2023", "1900-01-01", "2022-12-31", Precision.RANGE),
    ("nach 2023", "2024-01-01", "2026-08-19", Precision.RANGE),
    ("bis März 2025", "1900-01-01", "2025-03-31", Precision.RANGE),
    ("zwischen dem 3. und dem 9. März", "2026-03-03", "2026-03-09", Precision.RANGE),
    ("vom 3. März bis zum 9. April 2025", "2025-03-03", "2025-04-09", Precision.RANGE),
    ("von November bis Januar 2025", "2024-11-01", "2025-01-31", Precision.RANGE),
    ("zwischen 2021 und 2023", "2021-01-01", "2023-12-31", Precision.RANGE),
    ("Freitag letzter Woche", "2026-08-14", "2026-08-14", Precision.DAY),
)

NOT_GERMAN = (
    "wir trafen Mark und August",
    "Port 9077",
    "in 2000 Schritten",
    "vor 100000 Jahren",
    "am 30. Februar 2026",
    "im Jahr 0000",
    "guten Morgen zusammen",
    "das war am Morgen",
    "der Fall 2024/17",
    "wie lange hat der letzte Tag gedauert",
    "jeden Freitag",
    "die Marschmusik",
    "der zweite Versuch",
    "hier war Anna",
    "so do mi",
)

DUTCH = (
    ("eergisteren", "2026-08-17", "2026-08-17", Precision.DAY),
    ("wat deden we gisteren", "2026-08-18", "2026-08-18", Precision.DAY),
    ("drie dagen geleden", "2026-08-16", "2026-08-16", Precision.DAY),
    ("een jaar geleden", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("afgelopen vrijdag", "2026-08-14", "2026-08-14", Precision.DAY),
    ("vorige week", "2026-08-10", "2026-08-16", Precision.WEEK),
    ("vorige maand", "2026-07-01", "2026-07-31", Precision.MONTH),
    ("vorig jaar", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("afgelopen weekend", "2026-08-15", "2026-08-16", Precision.RANGE),
    ("dit jaar", "2026-01-01", "2026-12-31", Precision.YEAR),
    ("op vrijdag", "2026-08-14", "2026-08-14", Precision.DAY),
    ("op 13 juli 2024", "2024-07-13", "2024-07-13", Precision.DAY),
    ("in juli 2024", "2024-07-01", "2024-07-31", Precision.MONTH),
    ("in mei", "2026-05-01", "2026-05-31", Precision.MONTH),
    ("in mei vorig jaar", "2025-05-01", "2025-05-31", Precision.MONTH),
    ("vorige zomer", "2025-06-01", "2025-08-31", Precision.SEASON),
    ("in de zomer van 2022", "2022-06-01", "2022-08-31", Precision.SEASON),
    ("het tweede kwartaal van 2025", "2025-04-01", "2025-06-30", Precision.QUARTER),
    ("in de jaren 90", "1990-01-01", "1999-12-31", Precision.DECADE),
    ("in de afgelopen twee weken", "2026-08-05", "2026-08-19", Precision.RANGE),
    ("sinds 2021", "2021-01-01", "2026-08-19", Precision.RANGE),
    ("voor 2023", "1900-01-01", "2022-12-31", Precision.RANGE),
    ("na 2023", "2024-01-01", "2026-08-19", Precision.RANGE),
    ("tot maart 2025", "1900-01-01", "2025-03-31", Precision.RANGE),
    ("tussen 3 en 9 maart", "2026-03-03", "2026-03-09", Precision.RANGE),
    ("van november tot januari 2025", "2024-11-01", "2025-01-31", Precision.RANGE),
    ("tussen 2021 en 2023", "2021-01-01", "2023-12-31", Precision.RANGE),
)

NOT_DUTCH = (
    "de zee is kalm",
    "een tweede poging",
    "100000 jaar geleden",
    "op 30 februari 2026",
    "in het jaar 0000",
    "in 2000 stappen",
    "elke vrijdag",
    "poort 9077",
    "goede morgen",
    "we doen het zo",
    "het meisje zag hem",
    "wat is hier gebeurd",
)


@pytest.mark.parametrize(("text", "first", "last", "precision"), [*GERMAN, *DUTCH])
def test_a_time_gives_its_window_and_keeps_its_precision(text, first, last, precision) -> None:
    reading = READER.read(text, NOW)
    assert reading is not None
    window = reading.occurrence.window
    assert (f"{window.start:%Y-%m-%d}", f"{window.end:%Y-%m-%d}") == (first, last)
    assert reading.occurrence.precision is precision


@pytest.mark.parametrize("text", [*NOT_GERMAN, *NOT_DUTCH])
def test_what_is_no_time_gives_no_window(text: str) -> None:
    assert READER.read(text, NOW) is None
