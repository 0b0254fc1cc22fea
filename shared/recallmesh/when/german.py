"""How German names times; names of months and weekdays as in CLDR (de)."""

from recallmesh.when.grammar import NOT_COUNTED, Grammar, Phrase

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("januar", "jänner", "jan"),
            ("februar", "feber", "feb"),
            ("märz", "maerz", "mär"),
            ("april", "apr"),
            ("mai",),
            ("juni", "jun"),
            ("juli", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("oktober", "okt"),
            ("november", "nov"),
            ("dezember", "dez"),
        ),
        start=1,
    )
    for name in names
}
WEEKDAYS = {
    name: number
    for number, name in enumerate(
        ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"),
    )
} | {"sonnabend": 5}
UNITS = {
    form: unit
    for unit, forms in (
        ("hour", "stunde stunden"),
        ("day", "tag tage tagen"),
        ("week", "woche wochen"),
        ("month", "monat monate monaten monats"),
        ("quarter", "quartal quartale quartalen quartals"),
        ("year", "jahr jahre jahren jahres jahrs"),
        ("decade", "jahrzehnt jahrzehnte jahrzehnten jahrzehnts"),
    )
    for form in forms.split()
}
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"), start=1
    )
} | {
    "einem": 1,
    "einer": 1,
    "eine": 1,
    "ein paar": 3,
    "wenigen": 3,
    "einigen": 3,
    "mehreren": 4,
    "vierzehn": 14,
    "zwanzig": 20,
}
NUMBERS |= {"dreizehn": 13, "fünfzehn": 15, "sechzehn": 16, "siebzehn": 17, "achtzehn": 18, "neunzehn": 19}
NUMBERS |= {"dreißig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60, "neunzig": 90}
SEASONS = {"frühling": "spring", "frühjahr": "spring", "sommer": "summer", "herbst": "autumn", "winter": "winter"}
YEARS = {
    f"{adjective} {noun}": offset
    for adjective, offset in (("letzten", -1), ("vorigen", -1), ("vergangenen", -1), ("dieses", 0))
    for noun in ("jahres", "jahrs", "jahr")
}

LAST = "(?:letzte|vorige|vergangene|vorherige)[nrsm]?"
NEXT = "(?:nächste|kommende)[nrsm]?"
THIS = "diese[nrsm]?"
NOT_MANY = "(?! (?-i:[A-ZÄÖÜ]))"
"""A number before a noun counts it: "vor 2000 Zuschauern"."""
IN = (
    "(?P<lead>(?:im(?: jahre?| monat)?|in|während des|seit(?: dem)?|ab|vor(?: dem)?|nach(?: dem)?|bis(?: zum)?"
    "|(?:seit |ab |bis )?(?:anfang|mitte|ende)) )"
)
OPEN = "(?:(?:vom|von|zwischen|ab)(?: dem)? )?"
TO = r"(?: (?:bis(?: zum)?|und(?: dem)?) |\s?[-–]\s?)"

FUNCTION_WORDS = (
    "der die das den dem des ein eine einen einem einer und oder ist war waren hat haben hatte wir ich du er "
    "sie es was wann wer wo wie warum welche welcher welches in im am an auf zu zum zur mit von vom für nicht "
    "über aus bei guten gute gestern heute nach vor seit bis hier uns mir mich dich wurde worden sind man so "
    "auch noch nur als"
)
"""Small words that tell the language."""

GERMAN = Grammar(
    language="de",
    months=MONTHS,
    weekdays=WEEKDAYS,
    units=UNITS,
    numbers=NUMBERS,
    seasons=SEASONS,
    years=YEARS,
    phrases=(
        Phrase("vorgestern", "day", -2),
        Phrase("übermorgen", "day", 2),
        Phrase("gestern|letzte nacht", "day", -1),
        Phrase("heute|heut(?!-show)", "day", 0),
        # "am Morgen" is the morning, "morgen" is tomorrow.
        Phrase(
            r"(?<!guten\s)(?<!goede\s)(?<!de\s)(?<!gestern\s)(?<!heute\s)(?<!jeden\s)(?<!am\s)(?-i:morgen)", "day", 1
        ),
        Phrase(f"{OPEN}{{first}}\\.?{TO}{{day}}\\.?\\s?{{month}}(?: (?:{{year}}|{{rel}}))?", "days"),
        Phrase(r"{day}\.?\s?{month}(?: (?:{year}|{rel}))?", "date"),
        Phrase(r"(?P<lead>(?:am|vom|zum|seit dem|bis zum) ){day}\.\s?(?P<month_figure>1[0-2]|0?[1-9])\.(?!\d)", "date"),
        Phrase("(?:zwischen|von|ab) {from} (?:und|bis) {month}(?: (?:{year}|{rel}))?", "months"),
        Phrase("{month} (?:{year}|{rel})", "month"),
        Phrase(f"{IN}{{month}}", "month"),
        Phrase(f"(?:im )?{LAST} {{month}}", "month", -1),
        Phrase(f"(?:im )?{NEXT} {{month}}", "month", 1),
        Phrase(r"q{quarter}(?: (?:{year}|{rel}))?", "quarter"),
        Phrase(r"(?P<quarter>erste|zweite|dritte|vierte)[ns]? quartal[s]?(?: (?:{year}|{rel}))?", "quarter"),
        Phrase(r"{quarter}\. quartal[s]?(?: (?:{year}|{rel}))?", "quarter"),
        Phrase("erste[sn]? halbjahr[s]?(?: (?:{year}|{rel}))?", "half", 1),
        Phrase("zweite[sn]? halbjahr[s]?(?: (?:{year}|{rel}))?", "half", 2),
        Phrase("{season} (?:{year}|{rel})", "season"),
        Phrase(f"{LAST} {{season}}", "season", -1),
        Phrase(f"{NEXT} {{season}}", "season", 1),
        Phrase(f"(?P<lead>(?:im|in {THIS}|{THIS}|seit dem|während des) ){{season}}s?", "season"),
        # "eine 30er Zone", "ein 20er" are no decades.
        Phrase("{decade}er(?:-| )jahren?", "decade"),
        Phrase("vor {n} {unit}", "ago", -1),
        Phrase("vor {n} minuten?", "ago", -1, unit="minute"),
        Phrase("vor einem halben jahr", "ago", -6, unit="month"),
        Phrase(f"(?:(?:in|während) )?den {LAST} {{n}} minuten", "rolling", unit="minute"),
        Phrase("seit {n} {unit}", "rolling"),
        Phrase("in {n} {unit}", "ago", 1),
        Phrase(f"(?:(?:in|während) )?(?:den|der|die) {LAST} {{n}} {{unit}}", "rolling"),
        Phrase(f"(?:(?:in|während) )?(?:den|der|die) {LAST} (?:tage|tagen)", "rolling_days", 3),
        Phrase(f"(?:am |das )?{LAST} wochenende", "weekend", -1),
        Phrase(f"(?:am |an )?{THIS} wochenende", "weekend", 0),
        Phrase("am wochenende", "weekend_gone", asked_only=True),
        Phrase(f"(?:am |das )?{NEXT} wochenende", "weekend", 1),
        Phrase(
            f"(?:(?:in|im|am|die|der|das|den) )?{LAST} (?!tag|stunde|jahren|jahrzehnten|wochen|monaten){{unit}}",
            "unit",
            -1,
        ),
        Phrase(f"(?:in )?{THIS} (?!tag|stunde){{unit}}", "unit", 0),
        Phrase(f"(?:(?:in|im|die|der|das|den) )?{NEXT} (?!tag|stunde){{unit}}", "unit", 1),
        Phrase("vorletzte[nrsm]? (?!tag|stunde){unit}", "unit", -2),
        Phrase("{weekday} (?:der )?(?:letzte[rn]?|vorige[rn]?) woche", "weekday_of_week", -1),
        Phrase("(?:letzte|vorige) woche {weekday}", "weekday_of_week", -1),
        Phrase(f"(?:am |den )?{LAST} {{weekday}}", "weekday", -1),
        Phrase(f"(?:am |den )?{NEXT} {{weekday}}", "weekday", 1),
        Phrase(f"(?:an )?{THIS} {{weekday}}", "weekday", 0),
        Phrase("am {weekday}", "weekday", -1, asked_only=True),
        Phrase(
            "(?P<lead>(?:seit|ab|vor|nach|bis|von|vom|zwischen)(?: dem)? ){weekday}", "weekday", -1, asked_only=True
        ),
        Phrase("(?P<lead>(?:bis|und)(?: zum| dem)? ){weekday}", "weekday", -1, asked_only=True, bound=True),
        Phrase(f"(?:zwischen|von) {{from_year}} (?:und|bis) {{year}}{NOT_MANY}", "years"),
        Phrase(f"{IN}{{year}}{NOT_COUNTED}{NOT_MANY}", "year"),
    ),
    since="seit|ab",
    after="nach",
    before="vor",
    until="bis|bis zum|bis zur|bis ende",
    start="von|vom|ab|seit",
    between="zwischen",
    to="bis|bis zum|bis zur|–|-|—",
    both="und",
    article="dem|der|den|die|das|jahre?",
    ordinals={"erste": 1, "zweite": 2, "dritte": 3, "vierte": 4},
    function_words=frozenset(FUNCTION_WORDS.split()),
    letters=frozenset("äöüß"),
    past=r"(?:hat|haben|habt|hast|habe|hatten?|waren?|wurden?|brauchten?)\b",
    day_first=True,
    shy_months=frozenset({"jan", "mär", "august"}),
    month_leads=r"(?:im|seit|ab|nach|vor|bis|anfang|mitte|ende)\b",
)
