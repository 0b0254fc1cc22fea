"""How English names times."""

from recallmesh.when.grammar import NOT_COUNTED, Grammar, Phrase

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}
WEEKDAYS = {
    name: number
    for number, name in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
}
UNITS = {
    form: unit for unit in ("hour", "day", "week", "month", "quarter", "year", "decade") for form in (unit, f"{unit}s")
}
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), start=1
    )
} | {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "several": 4}
SEASONS = {"spring": "spring", "summer": "summer", "autumn": "autumn", "fall": "autumn", "winter": "winter"}

IN = (
    "(?P<lead>(?:in|during|throughout|for|of|around|about|early(?: in)?|mid|late(?: in)?) "
    "(?:the )?(?:(?:start|beginning|middle|end|month|year) of )?)"
)
FROM = "(?P<lead>(?:since|until|till|before|after|from|to|through|between|and|by) (?:the )?)"
TO = "(?:to|and|through|until|till)"
LAST = "(?:last|past|previous)"

ENGLISH = Grammar(
    language="en",
    months=MONTHS,
    weekdays=WEEKDAYS,
    units=UNITS,
    numbers=NUMBERS,
    seasons=SEASONS,
    phrases=(
        Phrase("(?:the )?day before yesterday", "day", -2),
        Phrase("(?:the )?day after tomorrow", "day", 2),
        Phrase("yesterday|last night", "day", -1),
        Phrase("today|tonight|this (?:morning|afternoon|evening)", "day", 0),
        Phrase("tomorrow", "day", 1),
        Phrase("{day}(?: of)? {month}(?:,? {year})?", "date"),
        Phrase("{month} {day}(?:,? {year})?", "date"),
        Phrase(
            f"(?:from |between )?(?:the )?{{first}}(?: {TO} (?:the )?|-|–){{day}}(?: of)? {{month}}(?:,? {{year}})?",
            "days",
        ),
        Phrase(f"(?:from |between )?{{month}} {{first}}(?: {TO} |-|–){{day}}(?:,? {{year}})?", "days"),
        Phrase("{day}(?: of)? {month},? (?:of )?{rel}", "date"),
        Phrase("{month} {day},? (?:of )?{rel}", "date"),
        Phrase("{month},? (?:of )?{rel}", "month"),
        Phrase("{season},? (?:of )?{rel}", "season"),
        Phrase("{weekday},? (?:of )?last week", "weekday_of_week", -1),
        Phrase("(?:{month}),? {year}", "month"),
        Phrase("{month} (?:of )?(?:{year})", "month"),
        Phrase(f"{IN}{{month}}", "month"),
        Phrase(f"{FROM}{{month}}", "month"),
        Phrase(f"{LAST} {{month}}", "month", -1),
        Phrase("next {month}", "month", 1),
        Phrase("q{quarter}(?:,? (?:of )?{year})?", "quarter"),
        Phrase(
            "(?:the )?(?P<quarter>first|second|third|fourth) quarter(?: of(?: the year)?,?(?: {year})?)?", "quarter"
        ),
        Phrase("{season}(?: of|,)? {year}", "season"),
        Phrase(f"(?:{LAST}) {{season}}", "season", -1),
        Phrase("next {season}", "season", 1),
        Phrase("(?P<lead>(?:this|that) ){season}", "season"),
        Phrase("(?P<lead>(?:in|during|since) (?:the )?){season}", "season", asked_only=True),
        Phrase("(?:the )?{decade}'?s", "decade"),
        Phrase("{n} {unit} ago", "ago", -1),
        Phrase("a fortnight ago", "ago", -2, unit="week"),
        Phrase("in {n} {unit}(?! of)", "ago", 1),
        Phrase("(?:in|over|during|within|for) (?:the )?(?:last|past) {n} {unit}", "rolling"),
        Phrase("(?:the )?(?:last|past) {n} {unit}", "rolling"),
        Phrase("(?:in|over|during|within) the (?:last|past) {unit}", "rolling"),
        Phrase("(?:the )?past {unit}", "rolling"),
        Phrase("(?:last|previous) weekend|(?:the )?past weekend", "weekend", -1),
        Phrase("this weekend|(?:on|at) the weekend", "weekend", 0),
        Phrase("next weekend", "weekend", 1),
        Phrase("(?:last|previous|the previous) (?!day|hour){unit}", "unit", -1),
        Phrase("this {unit}", "unit", 0),
        Phrase("(?:next|the coming|the following) {unit}", "unit", 1),
        Phrase("(?:last|this past|the past|the previous|past) {weekday}", "weekday", -1),
        Phrase("(?:next|this coming) {weekday}", "weekday", 1),
        Phrase("this {weekday}", "weekday", 0),
        Phrase(f"{IN}{{year}}{NOT_COUNTED}", "year"),
        Phrase(f"{FROM}{{year}}{NOT_COUNTED}", "year"),
        Phrase("(?P<lead>(?:the )?year ){year}", "year"),
        Phrase("on {weekday}", "weekday", -1, asked_only=True),
    ),
    since="(?:ever )?since",
    after="after|following",
    before="before|prior to|earlier than",
    until="until|till|up to|by",
    start="from|starting|as of",
    between="between",
    to="to|until|till|through|–|-|—",
    both="and",
    article="the",
    month_leads=r"(?:in|during|throughout|of|early|late|mid)\b",
    years={"last year": -1, "this year": 0},
    ordinals={"first": 1, "second": 2, "third": 3, "fourth": 4},
    function_words=frozenset(
        {"the", "a", "an", "is", "was", "were", "did", "do", "does", "what", "when", "where", "who", "why", "how", "of"}
        | {
            "we",
            "he",
            "she",
            "it",
            "they",
            "that",
            "this",
            "have",
            "has",
            "had",
            "be",
            "are",
            "said",
            "from",
            "by",
            "his",
        }
        | {"her", "our", "your", "not", "but", "or", "an", "which", "there", "been", "will", "would", "may", "can"}
        | {"in", "on", "at", "to", "for", "and", "my", "i", "you", "me", "about", "with"}
    ),
    shy_months=frozenset({"march", "may", "mar", "april", "june", "august", "jan", "dec", "sep", "jun"}),
)
