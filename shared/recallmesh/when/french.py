"""How French names times; names of months and weekdays as in CLDR (fr)."""

from recallmesh.when.grammar import NOT_COUNTED, Grammar, Phrase

MONTHS = {
    # "sept" (seven) and "mar" are left out of the short forms.
    name: number
    for number, names in enumerate(
        (
            ("janvier", "janv"),
            ("février", "fevrier", "févr"),
            ("mars",),
            ("avril", "avr"),
            ("mai",),
            ("juin",),
            ("juillet", "juil"),
            ("août", "aout"),
            ("septembre",),
            ("octobre", "oct"),
            ("novembre", "nov"),
            ("décembre", "decembre", "déc"),
        ),
        start=1,
    )
    for name in names
}
WEEKDAYS = {
    name: number
    for number, name in enumerate(("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"))
}
UNITS = {
    form: unit
    for unit, forms in (
        ("hour", "heure heures"),
        ("day", "jour jours"),
        ("week", "semaine semaines"),
        ("month", "mois"),
        ("quarter", "trimestre trimestres"),
        ("year", "an ans année années annee annees"),
        ("decade", "décennie décennies decennie decennies"),
    )
    for form in forms.split()
}
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze"), start=1
    )
} | {"une": 1, "quelques": 3, "plusieurs": 4, "quinze": 15, "vingt": 20}
NUMBERS |= {"treize": 13, "quatorze": 14, "seize": 16, "dix-sept": 17, "dix-huit": 18, "dix-neuf": 19}
NUMBERS |= {"trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60}
SEASONS = {"printemps": "spring", "été": "summer", "automne": "autumn", "hiver": "winter"}
LAST = "(?:derni[eè]re?s?|pass[ée]e?s?)"
YEARS = {
    "l'année dernière": -1,
    "l’année dernière": -1,
    "l'an dernier": -1,
    "l’an dernier": -1,
    "l'année passée": -1,
    "l’année passée": -1,
    "l'an passé": -1,
    "l’an passé": -1,
    "cette année": 0,
}

DE = "(?:de |d['’])?"
YEARLY = f"(?: {DE}(?:{{year}}|{{rel}}))?"
IN = (
    "(?P<lead>(?:en(?: l['’]an(?:née)?)?|pendant|courant|dès|depuis|avant|après|jusqu['’]en|jusqu['’]à|fin|début|"
    "(?:au |du )?mois (?:de |d['’]))\\s?)"
)
TO = r"(?: (?:au|et(?: le)?|jusqu['’]au) |\s?[-–]\s?)"
THE = "(?:l['’]|la |le )?"

FUNCTION_WORDS = (
    "le la les l un une des du de d et ou est était étaient a ont avait nous je j tu il elle on vous ils elles "
    "que qu quoi quand qui où comment pourquoi quel quelle quels quelles en dans sur au aux à avec pour pas ne "
    "ce cet cette ces s c n y été se sa son mon ma mes notre nos avons ai as par plus mais hier aujourd"
)
"""Small words that tell the language."""

FRENCH = Grammar(
    language="fr",
    months=MONTHS,
    weekdays=WEEKDAYS,
    units=UNITS,
    numbers=NUMBERS,
    seasons=SEASONS,
    years=YEARS,
    phrases=(
        Phrase("avant(?:-| )hier", "day", -2),
        Phrase("après(?:-| )demain", "day", 2),
        # "hier" is "here" in German and Dutch.
        Phrase("hier", "day", -1, own_only=True),
        Phrase("hier (?:matin|soir|midi|après-midi)|la nuit dernière", "day", -1),
        Phrase("aujourd['’]hui|ce (?:matin|soir|midi)|cet après-midi", "day", 0),
        Phrase(r"(?<!après.)demain", "day", 1),
        Phrase(f"(?:(?:du|entre le|le) )?{{first}}{TO}{{day}} {{month}}{YEARLY}", "days"),
        Phrase(f"(?:le )?{{day}} {{month}}{YEARLY}", "date"),
        Phrase(f"(?:entre|de|d['’])\\s?{{from}} (?:et|à) {{month}}{YEARLY}", "months"),
        Phrase("{month} (?:de |d['’])?(?:{year}|{rel})", "month"),
        Phrase(f"{IN}{{month}}", "month"),
        Phrase(f"(?:en )?{{month}} {LAST}", "month", -1),
        Phrase("(?:en )?{month} prochain", "month", 1),
        Phrase(f"t{{quarter}}(?: {DE}(?:{{year}}|{{rel}}))", "quarter"),
        Phrase(f"q{{quarter}}{YEARLY}", "quarter"),
        Phrase(
            f"(?P<quarter>premier|1er|deuxième|second|2e|2ème|troisième|3e|3ème|quatrième|4e|4ème) trimestre{YEARLY}",
            "quarter",
        ),
        Phrase(f"(?:premier|1er) semestre{YEARLY}", "half", 1),
        Phrase(f"(?:deuxième|second|2e|2ème) semestre{YEARLY}", "half", 2),
        Phrase(f"{THE}{{season}} {DE}(?:{{year}}|{{rel}})", "season"),
        Phrase(f"{THE}{{season}} {LAST}", "season", -1),
        Phrase(f"{THE}{{season}} prochaine?", "season", 1),
        # "été" is also "been", which has no such article or preposition before it.
        Phrase(
            "(?P<lead>(?:en |cet |cette |ce |au |depuis l['’]|pendant l['’]|durant l['’]|de l['’])){season}", "season"
        ),
        Phrase("(?:les )?années {decade}", "decade"),
        Phrase("il y a {n} {unit}", "ago", -1),
        Phrase("il y a {n} minutes?", "ago", -1, unit="minute"),
        Phrase("depuis {n} {unit}", "rolling"),
        Phrase("(?:la |le |cette )derni[eè]re? (?!jour|heure){unit}(?! d)", "rolling"),
        Phrase("(?:le )?dernier week-?end", "weekend", -1),
        Phrase("dans {n} {unit}", "ago", 1),
        Phrase(f"(?:(?:dans|pendant|au cours|durant|ces|sur) )?(?:les |des )?{{n}} (?:{LAST}) {{unit}}", "rolling"),
        Phrase("(?:ces|les|des) derniers jours", "rolling_days", 3),
        Phrase(f"(?:le )?week-?end {LAST}", "weekend", -1),
        Phrase("ce week-?end", "weekend", 0),
        Phrase("(?:le )?week-?end prochain", "weekend", 1),
        Phrase(f"{THE}(?!jour|heure){{unit}} (?:derni[eè]re?|pass[ée]e?)", "unit", -1),
        Phrase("(?:ce|cette|cet) (?!jour|heure){unit}", "unit", 0),
        Phrase(f"{THE}(?!jour|heure){{unit}} prochaine?", "unit", 1),
        Phrase("{weekday} (?:de )?la semaine (?:dernière|passée)", "weekday_of_week", -1),
        Phrase(f"(?:le )?{{weekday}} {LAST}", "weekday", -1),
        Phrase("(?:le )?{weekday} prochain", "weekday", 1),
        Phrase("ce {weekday}", "weekday", 0),
        # "le vendredi" is every Friday.
        Phrase(r"(?<!le\s)(?<!chaque\s)(?<!du\s)(?<!un\s){weekday}(?! gras)", "weekday", -1, asked_only=True),
        Phrase(
            "(?P<lead>(?:depuis|dès|avant|après|entre|jusqu['’]à) (?:le )?){weekday}", "weekday", -1, asked_only=True
        ),
        Phrase(f"(?:entre|de) {{from_year}} (?:et|à) {{year}}{NOT_COUNTED}", "years"),
        Phrase(f"{IN}{{year}}{NOT_COUNTED}", "year"),
    ),
    since="depuis|dès|à partir de|à partir du",
    after="après",
    before="avant",
    until="jusqu['’]en|jusqu['’]à|jusqu['’]au",
    start="de|du|depuis",
    between="entre",
    to="à|au|jusqu['’]au|jusqu['’]à|–|-|—",
    both="et",
    article="le|la|les|l['’]",
    ordinals={
        "premier": 1,
        "1er": 1,
        "deuxième": 2,
        "second": 2,
        "2e": 2,
        "2ème": 2,
        "troisième": 3,
        "3e": 3,
        "3ème": 3,
        "quatrième": 4,
        "4e": 4,
        "4ème": 4,
    },
    function_words=frozenset(FUNCTION_WORDS.split()),
    small=frozenset({"month", "weekday", "day"}),
    letters=frozenset("éèêëàâùûçœîïô"),
    past=r"(?:a|ont|avons|avez|ai|avait|avaient|était|étaient)\b",
    day_first=True,
)
