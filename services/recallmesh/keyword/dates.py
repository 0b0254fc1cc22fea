"""A memory's own time in the words people ask with: "8 May 2023, Monday"."""

from datetime import datetime

from recallmesh.core.time import Occurrence, Precision

_MONTHS = {
    "english": "January February March April May June July August September October November December",
    "german": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "french": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "spanish": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "italian": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "portuguese": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "dutch": "januari februari maart april mei juni juli augustus september oktober november december",
}
_WEEKDAYS = {
    "english": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "german": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "french": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "spanish": "lunes martes miércoles jueves viernes sábado domingo",
    "italian": "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "portuguese": "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    "dutch": "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
}


def date_words(occurred: Occurrence | None, mentioned: datetime | None, language: str = "english") -> str:
    """Return when it occurred, no more exactly than is known, else the day it was mentioned, else nothing.

    A language without a list here gets the English words.
    """
    if occurred is None:
        return "" if mentioned is None else _day(mentioned, language)
    start, end = occurred.window.start, occurred.window.end
    match occurred.precision:
        case Precision.DECADE:
            return f"{start.year // 10 * 10}s"
        case Precision.YEAR:
            return str(start.year)
        case Precision.MONTH | Precision.QUARTER | Precision.SEASON:
            return _months(start, end, language)
        case Precision.WEEK | Precision.RANGE if start.date() != end.date():
            return f"{_day(start, language)} – {_day(end, language)}"
        case _:
            return _day(start, language)


def _day(moment: datetime, language: str) -> str:
    weekday = _WEEKDAYS.get(language, _WEEKDAYS["english"]).split()[moment.weekday()]
    return f"{moment.day} {_month(moment.month, language)} {moment.year}, {weekday}"


def _months(start: datetime, end: datetime, language: str) -> str:
    first, last = start.year * 12 + start.month - 1, end.year * 12 + end.month - 1
    last = min(last, first + 11)  # a season has three; an odd window must not write a book
    named = [(number // 12, _month(number % 12 + 1, language)) for number in range(first, last + 1)]
    years = sorted({year for year, _ in named})
    return " ".join([*(month for _, month in named), *map(str, years)])


def _month(number: int, language: str) -> str:
    return _MONTHS.get(language, _MONTHS["english"]).split()[number - 1]
