"""How Dutch names times; names of months and weekdays as in CLDR (nl)."""

from recallmesh.when.grammar import NOT_COUNTED, Grammar, Phrase

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("januari", "jan"),
            ("februari", "feb"),
            ("maart", "mrt"),
            ("april", "apr"),
            ("mei",),
            ("juni", "jun"),
            ("juli", "jul"),
            ("augustus", "aug"),
            ("september", "sept", "sep"),
            ("oktober", "okt"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}
WEEKDAYS = {
    name: number
    for number, name in enumerate(
        ("maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"),
    )
}
UNITS = {
    form: unit
    for unit, forms in (
        ("hour", "uur uren"),
        ("day", "dag dagen"),
        ("week", "week weken"),
        ("month", "maand maanden"),
        ("quarter", "kwartaal kwartalen"),
        ("year", "jaar jaren"),
        ("decade", "decennium decennia"),
    )
    for form in forms.split()
}
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("een", "twee", "drie", "vier", "vijf", "zes", "zeven", "acht", "negen", "tien", "elf", "twaalf"), start=1
    )
} | {"één": 1, "een paar": 3, "paar": 3, "enkele": 3, "veertien": 14, "twintig": 20}
NUMBERS |= {"dertien": 13, "vijftien": 15, "zestien": 16, "zeventien": 17, "achttien": 18, "negentien": 19}
NUMBERS |= {"dertig": 30, "veertig": 40, "vijftig": 50, "zestig": 60, "negentig": 90}
SEASONS = {
    "lente": "spring",
    "voorjaar": "spring",
    "zomer": "summer",
    "herfst": "autumn",
    "najaar": "autumn",
    "winter": "winter",
}
YEARS = {"vorig jaar": -1, "afgelopen jaar": -1, "dit jaar": 0}

LAST = "(?:vorige?|afgelopen)"
NEXT = "(?:volgende?|komende?)"
IN = (
    "(?P<lead>(?:in(?: het jaar)?|tijdens|sinds|vanaf|voor|vóór|na|tot|"
    "(?:sinds |vanaf |tot )?(?:begin|half|midden|eind)) )"
)
TO = r"(?: (?:tot(?: en met)?|t/m|en) |\s?[-–]\s?)"

FUNCTION_WORDS = (
    "de het een en of is was waren heeft hebben had we wij ik jij je hij zij ze wat wanneer wie waar hoe "
    "waarom welke in op aan te met van voor niet over uit bij na tot hier ons mij mijn dat die dit deze er om "
    "naar ook maar zijn werd worden heb hebt jullie gisteren vandaag"
)
"""Small words that tell the language."""

DUTCH = Grammar(
    language="nl",
    months=MONTHS,
    weekdays=WEEKDAYS,
    units=UNITS,
    numbers=NUMBERS,
    seasons=SEASONS,
    years=YEARS,
    phrases=(
        Phrase("eergisteren", "day", -2),
        Phrase("overmorgen", "day", 2),
        Phrase("gisteren|gisteravond|gisterenavond|gistermiddag|gisterochtend|vannacht", "day", -1),
        Phrase("vandaag|vanavond|vanmiddag|vanochtend|vanmorgen", "day", 0),
        # "de morgen" is the morning.
        Phrase(
            r"(?<!goede\s)(?<!goeden\s)(?<!guten\s)(?<!de\s)(?<!deze\s)(?<!een\s)(?<!elke\s)(?<!iedere\s)(?<!'s\s)morgen",
            "day",
            1,
        ),
        Phrase(f"(?:(?:van|tussen) )?{{first}}{TO}{{day}} {{month}}(?: (?:{{year}}|(?:van )?{{rel}}))?", "days"),
        Phrase("{day} {month}(?: (?:{year}|(?:van )?{rel}))?", "date"),
        Phrase(
            "(?:tussen|van|vanaf) {from} (?:en|tot(?: en met)?|t/m) {month}(?: (?:{year}|(?:van )?{rel}))?", "months"
        ),
        Phrase("{month} (?:{year}|(?:van )?{rel})", "month"),
        Phrase(f"{IN}{{month}}", "month"),
        Phrase(f"{LAST} {{month}}", "month", -1),
        Phrase(f"{NEXT} {{month}}", "month", 1),
        Phrase("q{quarter}(?: (?:{year}|(?:van )?{rel}))?", "quarter"),
        Phrase(
            "(?P<quarter>eerste|tweede|derde|vierde) kwartaal(?: (?:van )?(?:{year}|{rel}))?",
            "quarter",
        ),
        Phrase("(?:de )?eerste helft van (?:{year}|{rel})", "half", 1),
        Phrase("(?:de )?tweede helft van (?:{year}|{rel})", "half", 2),
        Phrase("{season} (?:van )?(?:{year}|{rel})", "season"),
        Phrase(f"{LAST} {{season}}", "season", -1),
        Phrase(f"{NEXT} {{season}}", "season", 1),
        Phrase("(?P<lead>(?:in de|in het|deze|dit|van de|sinds de|tijdens de) ){season}", "season"),
        Phrase("(?:de )?jaren '?{decade}", "decade"),
        Phrase("{n} {unit} geleden", "ago", -1),
        Phrase("{n} minuten geleden|(?:één|een) minuut geleden", "ago", -1, unit="minute"),
        Phrase("een half jaar geleden", "ago", -6, unit="month"),
        Phrase("sinds {n} {unit}", "rolling"),
        Phrase("over {n} {unit}", "ago", 1),
        Phrase(f"(?:in |gedurende )?(?:de )?(?:laatste|{LAST}) {{n}} {{unit}}", "rolling"),
        Phrase("(?:in |gedurende )?(?:de )?afgelopen dagen", "rolling_days", 3),
        Phrase(f"(?:het )?{LAST} weekend", "weekend", -1),
        Phrase("dit weekend", "weekend", 0),
        Phrase("in het weekend", "weekend_gone", asked_only=True),
        Phrase(f"(?:het )?{NEXT} weekend", "weekend", 1),
        Phrase(f"(?:de |het )?{LAST} (?!dag|uur|uren|weken|maanden|jaren){{unit}}", "unit", -1),
        Phrase("(?:deze|dit) (?!dag|uur|uren|weken|maanden|jaren){unit}", "unit", 0),
        Phrase(f"{NEXT} (?!dag|uur|uren|weken|maanden|jaren){{unit}}", "unit", 1),
        Phrase("{weekday} vorige week", "weekday_of_week", -1),
        Phrase("vorige week {weekday}", "weekday_of_week", -1),
        Phrase(f"{LAST} {{weekday}}", "weekday", -1),
        Phrase(f"(?:aanstaande|{NEXT}) {{weekday}}", "weekday", 1),
        Phrase("deze {weekday}", "weekday", 0),
        Phrase("op {weekday}", "weekday", -1, asked_only=True),
        Phrase("(?P<lead>(?:sinds|vanaf|voor|vóór|na|tot|van|tussen) ){weekday}", "weekday", -1, asked_only=True),
        Phrase("(?P<lead>(?:tot|en|tot en met|t/m) ){weekday}", "weekday", -1, asked_only=True, bound=True),
        Phrase(f"(?:tussen|van) {{from_year}} (?:en|tot(?: en met)?) {{year}}{NOT_COUNTED}", "years"),
        Phrase(f"{IN}{{year}}{NOT_COUNTED}", "year"),
    ),
    since="sinds|vanaf",
    after="na",
    before="voor|vóór",
    until="tot|tot en met|tot aan",
    start="van|vanaf|sinds",
    between="tussen",
    to="tot|tot en met|t/m|–|-|—",
    both="en",
    article="de|het",
    ordinals={"eerste": 1, "tweede": 2, "derde": 3, "vierde": 4},
    function_words=frozenset(FUNCTION_WORDS.split()),
    small=frozenset({"month", "weekday", "day"}),
    letters=frozenset("ëï"),
    past=r"(?:heeft|hebben|hebt|heb|hadden|had|was|waren|werd|duurde)\b",
    day_first=True,
    shy_months=frozenset({"jan", "sep", "sept"}),
    month_leads=r"(?:in|sinds|vanaf|tot|begin|half|midden|eind)\b",
)
