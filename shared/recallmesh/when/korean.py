"""How Korean names times."""

from recallmesh.when.grammar import YEAR, Grammar, Phrase

WEEKDAYS = {f"{day}요일": number for number, day in enumerate("월화수목금토일")}
UNITS = {
    form: unit
    for unit, forms in (
        ("hour", "시간"),
        ("day", "일"),
        ("week", "주 주일 주간"),
        ("month", "개월 달 개월간"),
        ("quarter", "분기"),
        ("year", "년 해 년간"),
    )
    for form in forms.split()
}
DAYS = {
    word: number
    for number, word in enumerate(
        ("하루", "이틀", "사흘", "나흘", "닷새", "엿새", "이레", "여드레", "아흐레", "열흘"), start=1
    )
} | {"보름": 15, "며칠": 3}
NUMBERS = {
    word: number
    for words in (
        ("한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열", "열한", "열두"),
        ("일", "이", "삼", "사", "오", "육", "칠", "팔", "구", "십"),
    )
    for number, word in enumerate(words, start=1)
} | {"몇": 3}
SEASONS = {"봄": "spring", "여름": "summer", "가을": "autumn", "겨울": "winter"}
YEARS = {"작년": -1, "지난해": -1, "지난 해": -1, "재작년": -2, "올해": 0, "금년": 0}

MONTH = r"(?<!\d)(?:1[0-2]|0?[1-9])\s?월(?!요일|드|세|급)"
WHEN = "(?:{year} ?년(?:도)?|{rel})(?: ?의)?"
TO = "(?: ?(?:부터|에서|-|–|~|～) ?)"
NO_YEAR = rf"(?!{YEAR} ?년)"
ENDING = "(?=$|[^가-힣]|에|의|은|는|이|을|를|엔|만|부터|까지|간|동안|내내|중|와|과|로|초|말)"
"""What may stand behind 주, 달, 해: else they begin another word, as in 이번 주제 and 다음 해결책."""
WEEK = "주(?!의사|의점|의할|의해|간지|말|이슈)(?:일)?" + ENDING
AGO = "전(?=$|[^가-힣]|에|의|부터|까지|쯤|엔|이|인|과|만)"
THEN = "(?:후|뒤)(?=$|[^가-힣]|에|의|부터|까지|쯤|엔|로)"
LAST = "(?:지난|저번)"

KOREAN = Grammar(
    language="ko",
    months={},
    month_pattern=MONTH,
    weekdays=WEEKDAYS,
    units=UNITS,
    numbers=NUMBERS | DAYS,
    seasons=SEASONS,
    years=YEARS,
    spaced=False,
    script="가-힣",
    edge=r"(?<![\d.가-힣])",
    phrases=(
        Phrase("그끄저께", "day", -3),
        Phrase("그저께|그제(?![야서])", "day", -2),
        Phrase("엊그제|엊그저께", "rolling_days", 3),
        Phrase("어제|어젯밤|어저께|간밤", "day", -1),
        Phrase("오늘(?!날|의집)", "day", 0),
        Phrase("내일(?!모레|배움)", "day", 1),
        Phrase("모레|내일모레", "day", 2),
        Phrase(f"(?:{WHEN} )?{{month}} {{first}} ?일?{TO}{{day}} ?일", "days"),
        Phrase(f"(?:{WHEN} )?{{month}} {{day}} ?일", "date"),
        Phrase(
            r"(?<!버전)(?<!버전\s)(?<![A-Za-z])(?<![A-Za-z]\s){year}\. ?(?P<month_figure>1[0-2]|0?[1-9])\. ?{day}"
            r"(?![\d]|\.\d)\.?",
            "date",
        ),
        Phrase(f"(?:{WHEN} )?{{from}}{TO}{{month}}", "months"),
        Phrase(f"{WHEN} {{month}}", "month"),
        Phrase(f"{LAST} {{month}}", "month", -1),
        Phrase("{month}", "month"),
        Phrase(f"(?:{WHEN} )?{{quarter}} ?(?:사)?분기", "quarter"),
        Phrase(f"(?:{WHEN} )?상반기", "half", 1),
        Phrase(f"(?:{WHEN} )?하반기", "half", 2),
        Phrase(f"{WHEN} {{season}}", "season"),
        Phrase(f"{LAST} {{season}}", "season", -1),
        Phrase("(?:이번 |올){season}", "season"),
        Phrase("{season}(?=에(?!는|만|도))", "season", asked_only=True),
        Phrase("다음 {season}", "season", 1),
        Phrase("{decade} ?년대", "decade"),
        Phrase(f"{NO_YEAR}{{n}} {{unit}} {AGO}", "ago", -1),
        Phrase(f"(?P<n>{'|'.join(DAYS)}) {AGO}", "ago", -1, unit="day"),
        Phrase(f"{{n}} 분 {AGO}", "ago", -1, unit="minute"),
        Phrase(f"반 ?년 {AGO}", "ago", -6, unit="month"),
        Phrase(f"{NO_YEAR}{{n}} {{unit}} {THEN}", "ago", 1),
        Phrase(f"(?P<n>{'|'.join(DAYS)}) {THEN}", "ago", 1, unit="day"),
        Phrase("(?:지난|최근) {n} 분(?!기)(?: ?(?:동안|간))?", "rolling", unit="minute"),
        Phrase("(?:지난|최근|과거) {n} {unit}(?: ?(?:동안|간))?", "rolling"),
        Phrase("(?:지난|최근) 며칠", "rolling_days", 3),
        Phrase(f"{LAST} ?주말", "weekend", -1),
        Phrase("이번 ?주말", "weekend", 0),
        Phrase("다음 ?주말", "weekend", 1),
        Phrase(r"(?<!매주\s)주말에(?!는|만|도)", "weekend_gone", asked_only=True),
        Phrase(f"(?:지지난|저저번) {WEEK}", "unit", -2, unit="week"),
        Phrase(f"{LAST} {WEEK}", "unit", -1, unit="week"),
        Phrase(f"(?:이번|금) {WEEK}", "unit", 0, unit="week"),
        Phrase(f"다음 {WEEK}", "unit", 1, unit="week"),
        Phrase(f"지지난 ?달{ENDING}", "unit", -2, unit="month"),
        Phrase(f"{LAST} 달{ENDING}", "unit", -1, unit="month"),
        Phrase(f"(?:이번 ?달|이달){ENDING}", "unit", 0, unit="month"),
        Phrase(f"다음 ?달{ENDING}", "unit", 1, unit="month"),
        Phrase(f"{LAST} 분기", "unit", -1, unit="quarter"),
        Phrase("이번 ?분기", "unit", 0, unit="quarter"),
        Phrase("재작년", "unit", -2, unit="year"),
        Phrase(f"작년|지난 ?해{ENDING}", "unit", -1, unit="year"),
        Phrase("올해|금년", "unit", 0, unit="year"),
        Phrase(f"내년|다음 ?해{ENDING}", "unit", 1, unit="year"),
        Phrase(f"{LAST} 주 {{weekday}}", "weekday_of_week", -1),
        Phrase("이번 주 {weekday}", "weekday_of_week", 0),
        Phrase("다음 주 {weekday}", "weekday_of_week", 1),
        Phrase(f"{LAST} {{weekday}}", "weekday", -1),
        Phrase("다음 {weekday}", "weekday", 1),
        Phrase("이번 {weekday}", "weekday", 0),
        # "매주 금요일" and "금요일마다" are every Friday.
        Phrase(r"(?<!매주\s)(?<!매주){weekday}(?=에|의|날)(?!에는|에만)", "weekday", -1, asked_only=True),
        Phrase(f"{{from_year}} ?년?{TO}{{year}} ?년", "years"),
        Phrase("{year} ?년(?:도)?(?!대)", "year"),
    ),
    to="부터|에서|-|–|—|~|～",
    both="와|과|하고",
    past="했|었|았|였|갔|왔|봤",
    closing="까지|사이(?:에)?",
    tails={
        "since": "부터|이후|이래",
        "after": "(?:이 ?)?지난 ?후|다음에",
        "before": f"이전|{AGO}",
        "until": "까지",
    },
)
