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
}
NUMBERS |= {"thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18}
NUMBERS |= {"nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "several": 4}
SEASONS = {"spring": "spring", "summer": "summer", "autumn": "autumn", "fall": "autumn", "winter": "winter"}

IN = (
    "(?P<lead>(?:in|during|throughout|for|of|around|about|early(?: in)?|mid|late(?: in)?) "
    "(?:the )?(?:(?:start|beginning|middle|end|month|year) of )?)"
)
FROM = "(?P<lead>(?:since|until|till|up to|before|after|from|between|by) (?:the )?)"
FROM_YEAR = "(?P<lead>(?:since|until|till|up to|before|after|from|by) (?:the )?)"
FROM_DAY = "(?P<lead>(?:since|until|till|before|after|from|between) )"
NEXT_OF = "(?P<lead>(?:to|and|through|until|till) (?:the )?)"
IN_YEAR = (
    "(?P<lead>(?:in|during|throughout|of|early(?: in)?|mid|late(?: in)?) "
    "(?:the )?(?:(?:start|beginning|middle|end|year) of )?)"
)
# "2001: A Space Odyssey".
NO_TITLE = "(?!:[^\\d])"
# Behind these a number is as well a count: "plans for 2027" but not "a hall for 2000 guests".
LAST_WORD = "(?=(?:$|[.,;!?)]| (?:and|or|in|on|at|with|by|was|were|is|are)\\b))"
NO_RANGE = "(?! (?:to|and|or|through) [\\d])(?!-\\d)"
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
        Phrase("(?<!usa\\s)today|tonight|this (?:morning|afternoon|evening)", "day", 0),
        Phrase("tomorrow", "day", 1),
        Phrase("{day}(?: of)? {month}(?:(?:,? |,){year})?", "date"),
        Phrase("{month} {day}(?:(?:,? |,){year})?", "date"),
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
        Phrase(f"{NEXT_OF}{{month}}", "month", bound=True),
        Phrase(f"{LAST} {{month}}", "month", -1),
        Phrase("next {month}", "month", 1),
        Phrase("q{quarter}(?:,? (?:of )?(?:{year}|{rel}))?", "quarter"),
        Phrase(
            "(?:the )?(?P<quarter>first|second|third|fourth) quarter(?:(?: of)?,? (?:the year|{year}|{rel}))?(?! of)",
            "quarter",
        ),
        Phrase("(?:the )?first half (?:of )?(?:{year}|{rel})", "half", 1),
        Phrase("(?:the )?second half (?:of )?(?:{year}|{rel})", "half", 2),
        Phrase("{season}(?: of|,)? {year}", "season"),
        Phrase(f"(?:{LAST}) {{season}}", "season", -1),
        Phrase("next {season}", "season", 1),
        Phrase("(?P<lead>(?:this|that) ){season}", "season"),
        Phrase("(?P<lead>(?:in|during|since) (?:the )?){season}(?! of)", "season", asked_only=True),
        # "a 60s timeout" and "in her 40s" are no decades.
        Phrase("(?:the )?(?P<decade>(?:1[89]|20)\\d0)'?s", "decade"),
        Phrase("the '?(?P<decade>[1-9]0)'?s", "decade"),
        Phrase("the (?P<decade>thirties|forties|fifties|sixties|seventies|eighties|nineties)", "decade"),
        Phrase("{n} {unit} ago", "ago", -1),
        Phrase("{n} minutes? ago", "ago", -1, unit="minute"),
        Phrase("half a year ago", "ago", -6, unit="month"),
        Phrase("(?:in|over|during|within) (?:the )?(?:last|past) {n} minutes", "rolling", unit="minute"),
        Phrase("(?:the )?(?!day|hour){unit} before last", "unit", -2),
        Phrase("a fortnight ago", "ago", -2, unit="week"),
        Phrase("in {n} {unit}(?! of)", "ago", 1),
        Phrase("(?:in|over|during|within|for) (?:the )?(?:last|past) {n} {unit}", "rolling"),
        Phrase("(?:the )?(?:last|past) {n} {unit}", "rolling"),
        Phrase("(?:in|over|during|within) the (?:last|past) {unit}", "rolling"),
        Phrase("(?:the )?past {unit}", "rolling"),
        Phrase("(?:last|previous) weekend|(?:the )?past weekend", "weekend", -1),
        Phrase("this weekend", "weekend", 0),
        Phrase("(?:on|at|over) the weekend", "weekend_gone", asked_only=True),
        Phrase("next weekend", "weekend", 1),
        Phrase("(?:last|previous|the previous) (?!day|hour){unit}", "unit", -1),
        Phrase("this {unit}", "unit", 0),
        Phrase("(?:next|the coming|the following) {unit}", "unit", 1),
        Phrase("(?:last|this past|the past|the previous|past) {weekday}", "weekday", -1),
        Phrase("(?:next|this coming) {weekday}", "weekday", 1),
        Phrase("this {weekday}", "weekday", 0),
        Phrase(f"{IN_YEAR}{{year}}{NOT_COUNTED}{NO_TITLE}", "year"),
        Phrase(f"(?P<lead>(?:for|about|around) ){{year}}{LAST_WORD}", "year"),
        Phrase(f"{FROM_YEAR}{{year}}{NOT_COUNTED}{NO_RANGE}", "year"),
        Phrase(f"{NEXT_OF}{{year}}{NOT_COUNTED}", "year", bound=True),
        Phrase(f"(?:between|from|in) {{from_year}}(?: {TO} |[-–]){{year}}{NOT_COUNTED}", "years"),
        Phrase("(?P<lead>(?:the )?year ){year}", "year"),
        Phrase(f"{FROM_DAY}{{weekday}}", "weekday", -1, asked_only=True),
        Phrase(f"{NEXT_OF}{{weekday}}", "weekday", -1, asked_only=True, bound=True),
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
    ordinals={"first": 1, "second": 2, "third": 3, "fourth": 4}
    | {"thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70, "eighties": 80, "nineties": 90},
    past=r"(?:(?:did|was|were|had|has|have)(?:n['’]t)?|took|needed)\b",
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
