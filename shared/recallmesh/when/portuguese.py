"""How Portuguese names times; names of months and weekdays as in CLDR (pt)."""

from recallmesh.when.grammar import NOT_COUNTED, Grammar, Phrase

MONTHS = {
    # "mar" (sea), "set" and "out" are left out of the short forms.
    name: number
    for number, names in enumerate(
        (
            ("janeiro", "jan"),
            ("fevereiro", "fev"),
            ("março", "marco"),
            ("abril", "abr"),
            ("maio",),
            ("junho", "jun"),
            ("julho", "jul"),
            ("agosto", "ago"),
            ("setembro",),
            ("outubro",),
            ("novembro", "nov"),
            ("dezembro", "dez"),
        ),
        start=1,
    )
    for name in names
}
FULL_WEEKDAYS = {
    f"{name}{joint}feira": number
    for number, names in enumerate((("segunda",), ("terça", "terca"), ("quarta",), ("quinta",), ("sexta",)))
    for name in names
    for joint in ("-", " ")
} | {"sábado": 5, "sabado": 5, "domingo": 6}
WEEKDAYS = FULL_WEEKDAYS | {
    name.split("-")[0]: number for name, number in FULL_WEEKDAYS.items() if name.endswith("-feira")
}
UNITS = {
    form: unit
    for unit, forms in (
        ("hour", "hora horas"),
        ("day", "dia dias"),
        ("week", "semana semanas"),
        ("month", "mês meses mes"),
        ("quarter", "trimestre trimestres"),
        ("year", "ano anos"),
        ("decade", "década décadas decada decadas"),
    )
    for form in forms.split()
}
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("um", "dois", "três", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez", "onze", "doze"), start=1
    )
} | {"uma": 1, "duas": 2, "tres": 3, "um par de": 2, "poucos": 3, "poucas": 3, "alguns": 3, "algumas": 3}
NUMBERS |= {"vários": 4, "várias": 4, "quinze": 15, "vinte": 20}
NUMBERS |= {"treze": 13, "catorze": 14, "quatorze": 14, "dezesseis": 16, "dezessete": 17, "dezoito": 18}
NUMBERS |= {"dezenove": 19, "trinta": 30, "quarenta": 40, "cinquenta": 50, "sessenta": 60, "noventa": 90}
SEASONS = {
    "primavera": "spring",
    "verão": "summer",
    "verao": "summer",
    "outono": "autumn",
    "inverno": "winter",
}
YEARS = {"ano passado": -1, "este ano": 0, "deste ano": 0}

DE = "(?:de |do )?"
YEARLY = f"(?:,? {DE}(?:{{year}}|{{rel}}))?"
LAST = "(?:passad[oa])"
NEXT = "(?:próxim[oa]|que vem)"
IN = (
    "(?P<lead>(?:em|no ano(?: de)?|no mês de|durante|desde|antes de|depois de|após|até|a partir de|"
    "(?:em |no |até |desde )?(?:início|começo|meados|final|fim|finais) de|(?:o )?ano de) )"
)
TO = r"(?: (?:a|ao|e(?: o)?|até(?: o| ao)?) |\s?[-–]\s?)"
FULL = "(?P<weekday>(?:segunda|ter[çc]a|quarta|quinta|sexta)(?:-| )feira|s[áa]bado|domingo)"

FUNCTION_WORDS = (
    "o a os as um uma de do da dos das em no na nos nas e é ou era foi foram eram tem tinha temos eu tu você "
    "ele ela nós que quê quando quem onde como porque para com não se por pelo pela ao à me te meu minha seu "
    "sua nosso qual quais sobre isso este esta mas mais está fez disse ontem hoje"
)
"""Small words that tell the language."""

PORTUGUESE = Grammar(
    language="pt",
    months=MONTHS,
    weekdays=WEEKDAYS,
    units=UNITS,
    numbers=NUMBERS,
    seasons=SEASONS,
    years=YEARS,
    phrases=(
        Phrase("anteontem|antes de ontem", "day", -2),
        Phrase("depois de amanhã", "day", 2),
        Phrase("ontem(?: (?:à noite|de manhã|à tarde))?", "day", -1),
        Phrase("hoje(?! em dia)|(?:esta|nesta) (?:manhã|tarde|noite)", "day", 0),
        Phrase(r"(?<!depois\sde\s)amanhã", "day", 1),
        Phrase(f"(?:(?:de|do dia|entre|entre o|entre os dias|do) )?{{first}}{TO}{{day}} de {{month}}{YEARLY}", "days"),
        Phrase(f"(?:(?:o )?dia )?{{day}} (?:de )?{{month}}{YEARLY}", "date"),
        Phrase(f"(?:entre|de|desde) {{from}} (?:e|a|até) {{month}}{YEARLY}", "months"),
        Phrase(f"{{month}},? {DE}(?:{{year}}|{{rel}})", "month"),
        Phrase(f"{IN}{{month}}", "month"),
        Phrase("(?:em )?{month} passado", "month", -1),
        Phrase("(?:em )?{month} próximo", "month", 1),
        Phrase(f"[qt]{{quarter}} {DE}(?:{{year}}|{{rel}})", "quarter"),
        Phrase(f"(?P<quarter>primeiro|segundo|terceiro|quarto) trimestre{YEARLY}", "quarter"),
        Phrase(f"primeiro semestre{YEARLY}", "half", 1),
        Phrase(f"segundo semestre{YEARLY}", "half", 2),
        Phrase(f"{{season}} {DE}(?:{{year}}|{{rel}})", "season"),
        Phrase(f"{{season}} {LAST}", "season", -1),
        Phrase(f"(?:{NEXT} {{season}})", "season", 1),
        Phrase("(?P<lead>(?:n[oa]|neste|nesta|este|esta|durante [oa]|desde [oa]) ){season}", "season"),
        Phrase("(?:(?:os |n?os )?anos |(?:na )?década de )(?:19)?{decade}", "decade"),
        Phrase("(?:há|faz|ha) {n} {unit}", "ago", -1),
        Phrase("(?:há|faz|ha) {n} minutos?", "ago", -1, unit="minute"),
        Phrase("(?:há|faz|ha) meio ano", "ago", -6, unit="month"),
        Phrase("{n} {unit} atrás", "ago", -1),
        Phrase("(?:daqui a|dentro de|em) {n} {unit}", "ago", 1),
        Phrase("(?:n?[oa]s )?(?:últim[oa]s|ultim[oa]s|passad[oa]s) {n} {unit}", "rolling"),
        Phrase("n[oa] últim[oa] (?!dia|hora){unit}(?! d)", "rolling"),
        Phrase("n?os últimos dias", "rolling_days", 3),
        Phrase("(?:n?o )?(?:fim de semana passado|último fim de semana|fim-de-semana passado)", "weekend", -1),
        Phrase("n?este fim(?:-| )de(?:-| )semana", "weekend", 0),
        Phrase("no fim(?:-| )de(?:-| )semana", "weekend_gone", asked_only=True),
        Phrase("(?:n?[oa] )?(?!dia|hora){unit} retrasad[oa]", "unit", -2),
        Phrase("(?:n?o )?(?:próximo fim(?:-| )de(?:-| )semana|fim(?:-| )de(?:-| )semana que vem)", "weekend", 1),
        Phrase(f"(?:n?[oa] )?(?!dia|hora|anos|meses){{unit}} {LAST}", "unit", -1),
        Phrase("n?est[ea] (?!dia|hora|anos|meses){unit}", "unit", 0),
        Phrase(f"(?:n?[oa] )?(?!dia|hora|anos|meses){{unit}} {NEXT}", "unit", 1),
        Phrase("(?:n?[oa] )?próxim[oa] (?!dia|hora){unit}", "unit", 1),
        Phrase("{weekday} da semana passada", "weekday_of_week", -1),
        Phrase(f"(?:n?[oa] )?{{weekday}} {LAST}(?! semana)", "weekday", -1),
        Phrase(f"(?:n?[oa] )?últim[oa] {FULL}", "weekday", -1),
        Phrase("(?:n?[oa] )?{weekday} (?:que vem|próxim[oa])", "weekday", 1),
        Phrase(f"(?:n?[oa] )?próxim[oa] {FULL}", "weekday", 1),
        Phrase(f"n?est[ea] {FULL}", "weekday", 0),
        # "na segunda" may be "in the second"; only the full name is a day of its own.
        Phrase(f"n[oa] {FULL}", "weekday", -1, asked_only=True),
        Phrase(
            f"(?P<lead>(?:desde|até|antes d[ea]|depois d[ea]|de|entre) (?:[oa] )?){FULL}",
            "weekday",
            -1,
            asked_only=True,
        ),
        Phrase(f"(?P<lead>(?:a|à|e|até)(?: [oa])? ){FULL}", "weekday", -1, asked_only=True, bound=True),
        Phrase(f"(?:entre|de|desde) {{from_year}} (?:e|a|até) {{year}}{NOT_COUNTED}", "years"),
        Phrase(f"{IN}{{year}}{NOT_COUNTED}", "year"),
    ),
    since="desde|a partir de",
    after="depois de|depois do|depois da|após",
    before="antes de|antes do|antes da",
    until="até|até ao",
    start="de|do|da|desde",
    between="entre",
    to="a|ao|à|até|–|-|—",
    both="e",
    article="o|a|os|as",
    ordinals={"primeiro": 1, "segundo": 2, "terceiro": 3, "quarto": 4},
    function_words=frozenset(FUNCTION_WORDS.split()),
    # Months were written large until 2009.
    small=frozenset({"weekday", "day"}),
    letters=frozenset("ãõáâéêíóôúàç"),
    past=r"(?:\w+(?:ou|eu|iu|aram|eram|iram)|foi|foram|fez|fizeram|tinha|disse|teve)\b",
    day_first=True,
    shy_months=frozenset({"marco", "ago"}),
)
