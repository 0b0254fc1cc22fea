"""How Italian names times; names of months and weekdays as in CLDR (it)."""

from recallmesh.when.grammar import NOT_COUNTED, Grammar, Phrase

MONTHS = {
    # "mar" (sea), "ago" (needle) and "set" are left out of the short forms.
    name: number
    for number, names in enumerate(
        (
            ("gennaio", "gen"),
            ("febbraio", "feb"),
            ("marzo",),
            ("aprile", "apr"),
            ("maggio", "mag"),
            ("giugno", "giu"),
            ("luglio", "lug"),
            ("agosto",),
            ("settembre", "sett"),
            ("ottobre", "ott"),
            ("novembre", "nov"),
            ("dicembre", "dic"),
        ),
        start=1,
    )
    for name in names
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            ("lunedì", "lunedi"),
            ("martedì", "martedi"),
            ("mercoledì", "mercoledi"),
            ("giovedì", "giovedi"),
            ("venerdì", "venerdi"),
            ("sabato",),
            ("domenica",),
        ),
    )
    for name in names
}
UNITS = {
    form: unit
    for unit, forms in (
        ("hour", "ora ore"),
        ("day", "giorno giorni"),
        ("week", "settimana settimane"),
        ("month", "mese mesi"),
        ("quarter", "trimestre trimestri"),
        ("year", "anno anni"),
        ("decade", "decennio decenni"),
    )
    for form in forms.split()
}
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("un", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci", "undici", "dodici"), start=1
    )
} | {"una": 1, "un'": 1, "un paio di": 2, "pochi": 3, "poche": 3, "alcuni": 3, "alcune": 3, "qualche": 3}
NUMBERS |= {"diversi": 4, "diverse": 4, "quindici": 15, "venti": 20}
NUMBERS |= {"tredici": 13, "quattordici": 14, "sedici": 16, "diciassette": 17, "diciotto": 18, "diciannove": 19}
NUMBERS |= {"trenta": 30, "quaranta": 40, "cinquanta": 50, "sessanta": 60, "novanta": 90}
SEASONS = {"primavera": "spring", "estate": "summer", "autunno": "autumn", "inverno": "winter"}
YEARS = {
    f"{noun} {adjective}": -1
    for noun in ("l'anno", "l’anno", "dell'anno", "dell’anno", "anno")
    for adjective in ("scorso", "passato")
} | {"quest'anno": 0, "quest’anno": 0, "di quest'anno": 0, "di quest’anno": 0}

LAST = "(?:scors[oa]|passat[oa])"
NEXT = "(?:prossim[oa])"
THE = "(?:il |la |lo |l['’])?"
DI = "(?:di |del |dell['’])?"
YEARLY = f"(?: {DI}(?:{{year}}|{{rel}}))?"
IN = (
    "(?P<lead>(?:in|a|nel(?:l['’]anno| mese di)?|durante(?: il)?|da|dal|prima di|prima del|dopo(?: il)?|fino a|fino al|"
    "entro(?: il)?|(?:a |da |fino a )?(?:inizio|metà|fine)) )"
)
TO = r"(?: (?:al|all['’]|e(?: il)?|fino al) |\s?[-–]\s?)"

FUNCTION_WORDS = (
    "il lo la i gli le l un una uno di del della dello dei degli delle dell a al alla da dal dalla in nel "
    "nella nell con per su e è o era erano ha hanno aveva abbiamo ho hai io tu lui lei noi che cosa quando chi "
    "dove come perché non si ci mi ti sono stato fatto detto questo questa quale più ma ieri oggi"
)
"""Small words that tell the language."""

ITALIAN = Grammar(
    language="it",
    months=MONTHS,
    weekdays=WEEKDAYS,
    units=UNITS,
    numbers=NUMBERS,
    seasons=SEASONS,
    years=YEARS,
    phrases=(
        Phrase("l['’]altro ieri|altroieri|ieri l['’]altro|avantieri", "day", -2),
        Phrase("dopodomani", "day", 2),
        Phrase("ieri(?: (?:mattina|sera|notte|pomeriggio))?|stanotte", "day", -1),
        Phrase("(?<!d['’])oggi|stamattina|stamani|stasera|questa (?:mattina|sera)", "day", 0),
        Phrase("domani", "day", 1),
        Phrase(f"(?:(?:dal|tra il|fra il|il) )?{{first}}{TO}{{day}} {{month}}{YEARLY}", "days"),
        Phrase(f"(?:il |l['’])?{{day}} {{month}}{YEARLY}", "date"),
        Phrase(f"(?:il )?(?P<day>primo) {{month}}{YEARLY}", "date"),
        Phrase(f"(?:tra|fra|da) {{from}} (?:e|a) {{month}}{YEARLY}", "months"),
        Phrase(f"{{month}} {DI}(?:{{year}}|{{rel}})", "month"),
        Phrase(f"{IN}{{month}}", "month"),
        Phrase("(?:lo )?scorso {month}", "month", -1),
        Phrase("(?:a )?{month} scorso", "month", -1),
        Phrase(f"[tq]{{quarter}} {DI}(?:{{year}}|{{rel}})", "quarter"),
        Phrase(f"(?P<quarter>primo|secondo|terzo|quarto) trimestre{YEARLY}", "quarter"),
        Phrase(f"primo semestre{YEARLY}", "half", 1),
        Phrase(f"secondo semestre{YEARLY}", "half", 2),
        Phrase(f"{THE}{{season}} {DI}(?:{{year}}|{{rel}})", "season"),
        Phrase(f"{THE}{{season}} {LAST}", "season", -1),
        Phrase(f"{THE}scors[oa] {{season}}", "season", -1),
        Phrase(f"{THE}{{season}} {NEXT}", "season", 1),
        # "in estate" is English too.
        Phrase("(?P<lead>in ){season}", "season", own_only=True),
        Phrase(
            "(?P<lead>(?:quest['’]|questa|questo|d['’]|durante l['’]|dall['’]|dalla|nell['’]|nella)\\s?){season}",
            "season",
        ),
        Phrase("(?:gli )?anni ['’]?{decade}", "decade"),
        Phrase("{n} {unit} fa", "ago", -1),
        Phrase("un['’]ora fa", "ago", -1, unit="hour"),
        Phrase("{n} minut[oi] fa", "ago", -1, unit="minute"),
        Phrase("da {n} {unit}", "rolling"),
        Phrase("(?:tra|fra) {n} {unit}", "ago", 1),
        Phrase("(?:negli|nelle|nei|gli|le|i) (?:ultim[ie]|scors[ie]|passat[ie]) {n} {unit}", "rolling"),
        Phrase("(?:nell|l)['’]ultim[oa] (?!giorno|ora){unit}(?! d)", "rolling"),
        Phrase("(?:negli|gli) ultimi giorni", "rolling_days", 3),
        Phrase(
            "(?:lo |nello )?scorso (?:fine settimana|weekend)|(?:il )?(?:fine settimana|weekend) scorso", "weekend", -1
        ),
        Phrase("questo (?:fine settimana|weekend)", "weekend", 0),
        Phrase("nel (?:fine settimana|weekend)", "weekend_gone", asked_only=True),
        Phrase("(?:il )?prossimo (?:fine settimana|weekend)", "weekend", 1),
        Phrase(f"(?:{THE}|nell['’])(?!giorno|ora|ore|anni|mesi){{unit}} {LAST}", "unit", -1),
        Phrase("(?:la |lo |il |nello )?scors[oa] (?!giorno|ora|anni|mesi){unit}", "unit", -1),
        Phrase("(?:quest['’]\\s?|questa |questo )(?!giorno|ora){unit}", "unit", 0),
        Phrase(f"{THE}(?:(?!giorno|ora){{unit}} {NEXT})", "unit", 1),
        Phrase(f"{THE}{NEXT} (?!giorno|ora){{unit}}", "unit", 1),
        Phrase("{weekday} della settimana (?:scorsa|passata)", "weekday_of_week", -1),
        Phrase(f"{{weekday}} {LAST}", "weekday", -1),
        Phrase("(?:lo |la )?scors[oa] {weekday}", "weekday", -1),
        Phrase(f"{{weekday}} {NEXT}", "weekday", 1),
        Phrase("quest[oa] {weekday}", "weekday", 0),
        # "il venerdì" and "di venerdì" are every Friday.
        Phrase(r"(?<!il\s)(?<!la\s)(?<!di\s)(?<!ogni\s)(?<!un\s)(?<!una\s){weekday}", "weekday", -1, asked_only=True),
        Phrase(f"(?:tra il|fra il|dal|tra|fra) {{from_year}} (?:e il|al|e) {{year}}{NOT_COUNTED}", "years"),
        Phrase(f"{IN}{{year}}{NOT_COUNTED}", "year"),
    ),
    since="da|dal|dalla|dall['’]|a partire da|a partire dal",
    after="dopo",
    before="prima di|prima del|prima della|prima dell['’]",
    until="fino a|fino al|fino alla|entro",
    start="da|dal|dalla",
    between="tra|fra",
    to="a|al|alla|fino a|fino al|–|-|—",
    both="e",
    article="il|lo|la|l['’]|i|gli|le",
    ordinals={"primo": 1, "secondo": 2, "terzo": 3, "quarto": 4},
    function_words=frozenset(FUNCTION_WORDS.split()),
    small=frozenset({"month", "weekday", "day"}),
    letters=frozenset("àèéìòù"),
    past=r"(?:ha|hanno|abbiamo|avete|hai|ho|aveva|avevano|era|erano|è stat[oa])\b",
    day_first=True,
)
