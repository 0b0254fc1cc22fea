"""Times in French and Spanish, and what only looks like one."""

from datetime import UTC, datetime

import pytest

from recallmesh.core.time import Precision
from recallmesh.when import GrammarTimeReader

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)  # a Wednesday
READER = GrammarTimeReader()

FRENCH = (
    ("avant-hier", "2026-08-17", "2026-08-17", Precision.DAY),
    ("qu'avons-nous dit hier", "2026-08-18", "2026-08-18", Precision.DAY),
    ("il y a trois jours", "2026-08-16", "2026-08-16", Precision.DAY),
    ("il y a un an", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("vendredi dernier", "2026-08-14", "2026-08-14", Precision.DAY),
    ("la semaine dernière", "2026-08-10", "2026-08-16", Precision.WEEK),
    ("le mois dernier", "2026-07-01", "2026-07-31", Precision.MONTH),
    ("l'année dernière", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("le week-end dernier", "2026-08-15", "2026-08-16", Precision.RANGE),
    ("cette année", "2026-01-01", "2026-12-31", Precision.YEAR),
    ("le 13 juillet 2024", "2024-07-13", "2024-07-13", Precision.DAY),
    ("en juillet 2024", "2024-07-01", "2024-07-31", Precision.MONTH),
    ("le 1er mai", "2026-05-01", "2026-05-01", Precision.DAY),
    ("en mars", "2026-03-01", "2026-03-31", Precision.MONTH),
    ("en mai de l'année dernière", "2025-05-01", "2025-05-31", Precision.MONTH),
    ("l'été dernier", "2025-06-01", "2025-08-31", Precision.SEASON),
    ("à l'été 2022", "2022-06-01", "2022-08-31", Precision.SEASON),
    ("le deuxième trimestre 2025", "2025-04-01", "2025-06-30", Precision.QUARTER),
    ("dans les années 90", "1990-01-01", "1999-12-31", Precision.DECADE),
    ("les trois derniers mois", "2026-05-19", "2026-08-19", Precision.RANGE),
    ("depuis 2021", "2021-01-01", "2026-08-19", Precision.RANGE),
    ("depuis la semaine dernière", "2026-08-10", "2026-08-19", Precision.RANGE),
    ("avant 2023", "1900-01-01", "2022-12-31", Precision.RANGE),
    ("après 2023", "2024-01-01", "2026-08-19", Precision.RANGE),
    ("jusqu'en mars 2025", "1900-01-01", "2025-03-31", Precision.RANGE),
    ("entre le 3 et le 9 mars", "2026-03-03", "2026-03-09", Precision.RANGE),
    ("du 3 au 9 mars 2025", "2025-03-03", "2025-03-09", Precision.RANGE),
    ("de novembre à janvier 2025", "2024-11-01", "2025-01-31", Precision.RANGE),
    ("entre 2021 et 2023", "2021-01-01", "2023-12-31", Precision.RANGE),
    ("qu'a-t-elle dit vendredi", "2026-08-14", "2026-08-14", Precision.DAY),
)

NOT_FRENCH = (
    "la planète Mars",
    "j'ai été malade",
    "sept personnes sont là",
    "mission vers Mars",
    "il y a 100000 ans",
    "le 30 février 2026",
    "l'année 0000",
    "le vendredi on mange du poisson",
    "en 2000 pas",
    "il a un an",
    "ça marche",
    "le port 9077",
)

SPANISH = (
    ("anteayer", "2026-08-17", "2026-08-17", Precision.DAY),
    ("qué comimos ayer", "2026-08-18", "2026-08-18", Precision.DAY),
    ("hace tres días", "2026-08-16", "2026-08-16", Precision.DAY),
    ("hace un año", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("el viernes pasado", "2026-08-14", "2026-08-14", Precision.DAY),
    ("la semana pasada", "2026-08-10", "2026-08-16", Precision.WEEK),
    ("el mes pasado", "2026-07-01", "2026-07-31", Precision.MONTH),
    ("el año pasado", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("el fin de semana pasado", "2026-08-15", "2026-08-16", Precision.RANGE),
    ("este año", "2026-01-01", "2026-12-31", Precision.YEAR),
    ("qué pasó el viernes", "2026-08-14", "2026-08-14", Precision.DAY),
    ("13 de julio de 2024", "2024-07-13", "2024-07-13", Precision.DAY),
    ("en julio de 2024", "2024-07-01", "2024-07-31", Precision.MONTH),
    ("en mayo", "2026-05-01", "2026-05-31", Precision.MONTH),
    ("en mayo del año pasado", "2025-05-01", "2025-05-31", Precision.MONTH),
    ("el verano pasado", "2025-06-01", "2025-08-31", Precision.SEASON),
    ("en el verano de 2022", "2022-06-01", "2022-08-31", Precision.SEASON),
    ("el segundo trimestre de 2025", "2025-04-01", "2025-06-30", Precision.QUARTER),
    ("en los años 90", "1990-01-01", "1999-12-31", Precision.DECADE),
    ("en los últimos tres meses", "2026-05-19", "2026-08-19", Precision.RANGE),
    ("desde 2021", "2021-01-01", "2026-08-19", Precision.RANGE),
    ("antes de 2023", "1900-01-01", "2022-12-31", Precision.RANGE),
    ("después de 2023", "2024-01-01", "2026-08-19", Precision.RANGE),
    ("hasta marzo de 2025", "1900-01-01", "2025-03-31", Precision.RANGE),
    ("entre el 3 y el 9 de marzo", "2026-03-03", "2026-03-09", Precision.RANGE),
    ("de noviembre a enero de 2025", "2024-11-01", "2025-01-31", Precision.RANGE),
    ("entre 2021 y 2023", "2021-01-01", "2023-12-31", Precision.RANGE),
)

NOT_SPANISH = (
    "el mar está en calma",
    "vamos al mar",
    "fue por la mañana",
    "la segunda vez",
    "un segundo más",
    "hace 100000 años",
    "el 30 de febrero de 2026",
    "el año 0000",
    "el puerto 9077",
    "en 2000 pasos",
    "nos vimos en la Plaza de Mayo",
    "once personas",
)


@pytest.mark.parametrize(("text", "first", "last", "precision"), [*FRENCH, *SPANISH])
def test_a_time_gives_its_window_and_keeps_its_precision(text, first, last, precision) -> None:
    reading = READER.read(text, NOW)
    assert reading is not None
    window = reading.occurrence.window
    assert (f"{window.start:%Y-%m-%d}", f"{window.end:%Y-%m-%d}") == (first, last)
    assert reading.occurrence.precision is precision


@pytest.mark.parametrize("text", [*NOT_FRENCH, *NOT_SPANISH])
def test_what_is_no_time_gives_no_window(text: str) -> None:
    assert READER.read(text, NOW) is None
