"""How Spanish names times; names of months and weekdays as in CLDR (es)."""

from recallmesh.when.grammar import NOT_COUNTED, Grammar, Phrase

MONTHS = {
    # "mar" (sea) is left out of the short forms.
    name: number
    for number, names in enumerate(
        (
            ("enero", "ene"),
            ("febrero", "feb"),
            ("marzo",),
            ("abril", "abr"),
            ("mayo",),
            ("junio", "jun"),
            ("julio", "jul"),
            ("agosto", "ago"),
            ("septiembre", "setiembre", "sept", "sep"),
            ("octubre", "oct"),
            ("noviembre", "nov"),
            ("diciembre", "dic"),
        ),
        start=1,
    )
    for name in names
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            ("lunes",),
            ("martes",),
            ("miércoles", "miercoles"),
            ("jueves",),
            ("viernes",),
            ("sábado", "sabado"),
            ("domingo",),
        ),
    )
    for name in names
}
UNITS = {
    form: unit
    for unit, forms in (
        ("hour", "hora horas"),
        ("day", "día días dia dias"),
        ("week", "semana semanas"),
        ("month", "mes meses"),
        ("quarter", "trimestre trimestres"),
        ("year", "año años"),
        ("decade", "década décadas decada decadas"),
    )
    for form in forms.split()
}
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("un", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce"), start=1
    )
} | {"una": 1, "un par de": 2, "unos": 3, "unas": 3, "pocos": 3, "pocas": 3, "varios": 4, "varias": 4}
NUMBERS |= {"quince": 15, "veinte": 20, "algunos": 3, "algunas": 3}
NUMBERS |= {"trece": 13, "catorce": 14, "dieciséis": 16, "diecisiete": 17, "dieciocho": 18, "diecinueve": 19}
NUMBERS |= {"treinta": 30, "cuarenta": 40, "cincuenta": 50, "sesenta": 60, "noventa": 90}
SEASONS = {"primavera": "spring", "verano": "summer", "otoño": "autumn", "invierno": "winter"}
YEARS = {"año pasado": -1, "este año": 0}

LAST = "(?:pasad[oa]|últim[oa]|ultim[oa])"
NEXT = "(?:próxim[oa]|proxim[oa]|que viene)"
YEARLY = "(?:,? (?:de |del )?(?:{year}|{rel}))?"
IN = (
    "(?P<lead>(?:en(?: el(?: año| mes de)?)?|durante|desde|a partir de|antes de|después de|hasta|"
    "(?:a |hasta |desde )?(?:principios|mediados|finales|fines) de|(?:el |del )?mes de|(?:el |del )?año) )"
)
TO = r"(?: (?:al|y(?: el)?|hasta el) |\s?[-–]\s?)"

FUNCTION_WORDS = (
    "el la los las un una unos unas y o es era fue eran ha han había hemos yo tú él ella nosotros que qué "
    "cuándo cuando quién quien dónde donde cómo como por para con en de del al a no se lo le su mi tu nos me "
    "te dos tres atrás sobre cuál cual está pasó hizo dijo esta este pero más ayer hoy"
)
"""Small words that tell the language."""

SPANISH = Grammar(
    language="es",
    months=MONTHS,
    weekdays=WEEKDAYS,
    units=UNITS,
    numbers=NUMBERS,
    seasons=SEASONS,
    years=YEARS,
    phrases=(
        Phrase("anteayer|antier|antes de ayer", "day", -2),
        Phrase("pasado mañana", "day", 2),
        Phrase("ayer|anoche", "day", -1),
        Phrase("hoy(?! en día)|esta (?:mañana|tarde|noche)", "day", 0),
        # "la mañana" is the morning.
        Phrase(r"(?<!la\s)(?<!esta\s)(?<!cada\s)(?<!una\s)(?<!buena\s)(?<!misma\s)(?<!tu\s)(?<!mi\s)mañana", "day", 1),
        Phrase(f"(?:(?:del|entre el|el|desde el) )?{{first}}{TO}{{day}} de {{month}}{YEARLY}", "days"),
        Phrase(f"(?:el )?{{day}} (?:de )?{{month}}{YEARLY}", "date"),
        Phrase(f"(?:entre|de|desde) {{from}} (?:y|a|hasta) {{month}}{YEARLY}", "months"),
        Phrase("{month},? (?:de |del )?(?:{year}|{rel})", "month"),
        Phrase(f"{IN}{{month}}", "month"),
        Phrase("(?:en |el )?{month} pasado", "month", -1),
        Phrase("(?:en |el )?pasado {month}", "month", -1),
        Phrase("(?:en )?{month} próximo", "month", 1),
        Phrase("[qt]{quarter} (?:de |del )?(?:{year}|{rel})", "quarter"),
        Phrase(f"(?P<quarter>primer|segundo|tercer|cuarto) trimestre{YEARLY}", "quarter"),
        Phrase(f"(?:el )?primer semestre{YEARLY}", "half", 1),
        Phrase(f"(?:el )?segundo semestre{YEARLY}", "half", 2),
        Phrase("(?:la |el )?{season} (?:de |del )?(?:{year}|{rel})", "season"),
        Phrase("(?:la |el )?{season} pasad[oa]", "season", -1),
        Phrase(f"(?:la |el )?{{season}} {NEXT}", "season", 1),
        Phrase(
            "(?P<lead>(?:en|este|esta|durante|desde|en el|en la|durante el|durante la|desde el|desde la) ){season}",
            "season",
        ),
        Phrase("(?:(?:los|las) )?(?:años |década de los ){decade}", "decade"),
        Phrase("hace {n} {unit}", "ago", -1),
        Phrase("hace {n} minutos?", "ago", -1, unit="minute"),
        Phrase("hace medio año", "ago", -6, unit="month"),
        Phrase("desde hace {n} {unit}", "rolling"),
        Phrase("{n} {unit} atrás", "ago", -1),
        Phrase("(?:dentro de|en) {n} {unit}", "ago", 1),
        Phrase(r"(?:en |durante )?(?:los|las) (?:últim[oa]s|ultim[oa]s|pasad[oa]s) {n} {unit}", "rolling"),
        Phrase("(?:en |durante )?(?:los|las) {n} (?:últim[oa]s|ultim[oa]s) {unit}", "rolling"),
        Phrase("(?:en |durante )?(?:el|la) últim[oa] (?!día|dia|hora){unit}(?! del?)", "rolling"),
        Phrase("(?:en |durante )?(?:los|estos) últimos días", "rolling_days", 3),
        Phrase("(?:el )?(?:fin de semana pasado|pasado fin de semana|último fin de semana)", "weekend", -1),
        Phrase("este fin de semana", "weekend", 0),
        Phrase("el fin de semana", "weekend_gone", asked_only=True),
        Phrase("(?:la |el )?(?!día|dia|hora){unit} antepasad[oa]", "unit", -2),
        Phrase("(?:el )?(?:próximo fin de semana|fin de semana que viene)", "weekend", 1),
        Phrase("(?:la |el )?(?!día|dia|hora|años|meses|semanas){unit} pasad[oa]", "unit", -1),
        Phrase("(?:la |el )?pasad[oa] (?!día|dia|hora|años|meses|semanas){unit}", "unit", -1),
        Phrase("est[ea] (?!día|dia|hora|años|meses|semanas){unit}", "unit", 0),
        Phrase(f"(?:la |el )?(?!día|dia|hora){{unit}} {NEXT}", "unit", 1),
        Phrase("(?:la |el )?próxim[oa] (?!día|dia|hora){unit}", "unit", 1),
        Phrase("(?:el )?{weekday} de la semana pasada", "weekday_of_week", -1),
        Phrase("(?:el )?{weekday} pasado", "weekday", -1),
        Phrase("(?:el )?(?:pasado|último) {weekday}", "weekday", -1),
        Phrase("(?:el )?{weekday} (?:próximo|que viene)", "weekday", 1),
        Phrase("(?:el )?próximo {weekday}", "weekday", 1),
        Phrase("este {weekday}", "weekday", 0),
        Phrase("el {weekday}", "weekday", -1, asked_only=True),
        Phrase("(?P<lead>(?:antes|después) del ){weekday}", "weekday", -1, asked_only=True),
        Phrase(f"(?:entre|de|desde) {{from_year}} (?:y|a|hasta) {{year}}{NOT_COUNTED}", "years"),
        Phrase(f"{IN}{{year}}{NOT_COUNTED}", "year"),
    ),
    since="desde|a partir de",
    after="después de|después del|despues de|tras",
    before="antes de|antes del",
    until="hasta",
    start="de|del|desde",
    between="entre",
    to="a|al|hasta|–|-|—",
    both="y",
    article="el|la|los|las",
    ordinals={"primer": 1, "segundo": 2, "tercer": 3, "cuarto": 4},
    function_words=frozenset(FUNCTION_WORDS.split()),
    small=frozenset({"month", "weekday", "day"}),
    shy_months=frozenset({"ago"}),
    letters=frozenset("ñáéíóú¿¡"),
    past=r"(?:\w+[óé]|\w+(?:aron|ieron)|ha|han|había|fue|fueron|hizo|dijo|tuvo)\b",
    day_first=True,
)
