"""How Japanese names times."""

from recallmesh.when.grammar import YEAR, Grammar, Phrase
from recallmesh.when.numeral import HAN

WEEKDAYS = {f"{day}{suffix}": number for number, day in enumerate("月火水木金土日") for suffix in ("曜日", "曜")}
UNITS = {
    form: unit
    for unit, forms in (
        ("hour", "時間"),
        ("day", "日 日間"),
        ("week", "週 週間"),
        ("month", "か月 ヶ月 カ月 ヵ月 ケ月 箇月 か月間 ヶ月間 カ月間"),
        ("quarter", "四半期"),
        ("year", "年 年間"),
    )
    for form in forms.split()
}
SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
YEARS = {"去年": -1, "昨年": -1, "一昨年": -2, "おととし": -2, "今年": 0, "本年": 0}
ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}
"""The year before the first of each reign."""
NUMBERS = {"数": 3, "幾": 3}

MONTH = rf"(?<![\d{HAN}])(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])\s?月(?!曜|見|光|天|雨|病|蝿|人形|堂)"
WHEN = "(?:{year} ?年(?:の)?|{rel}(?:の)?)"
TO = "(?: ?(?:から|〜|～|~|-|–) ?)"
AGO = "前(?!端|台|期|半|後|者|提|年|科|線|任|菜|面|払)"
NO_YEAR = rf"(?!{YEAR} ?年)"

JAPANESE = Grammar(
    language="ja",
    months={},
    month_pattern=MONTH,
    weekdays=WEEKDAYS,
    units=UNITS,
    numbers=NUMBERS,
    numeral=HAN,
    seasons=SEASONS,
    years=YEARS,
    spaced=False,
    script="ぁ-ゖァ-ヺ一-鿿",
    phrases=(
        Phrase("一昨日|おととい", "day", -2),
        Phrase("昨日|きのう|昨夜|昨晩|ゆうべ", "day", -1),
        Phrase("今日(?!子)|きょう(?![ぁ-ゖ])|きょう(?=[のも]|は(?!く))|本日|今朝|今夜|今晩", "day", 0),
        Phrase("明日(?!香|葉|菜|子|美)|あした(?![ぁ-ゖ])|あした(?=[はのも])|明朝", "day", 1),
        Phrase("明後日|あさって", "day", 2),
        Phrase(f"(?:{WHEN} )?{{month}} {{first}} ?日?{TO}{{day}} ?日", "days"),
        Phrase(f"(?:{WHEN} )?{{month}} {{day}} ?日", "date"),
        Phrase(
            r"(?<!版本)(?<![A-Za-zァ-ヺー])(?<![A-Za-zァ-ヺー]\s)"
            r"{year}\. ?(?P<month_figure>1[0-2]|0?[1-9])\. ?{day}(?![\d]|\.\d)",
            "date",
        ),
        Phrase(f"(?:{WHEN} )?{{from}}{TO}{{month}}", "months"),
        Phrase(f"{WHEN} {{month}}", "month"),
        Phrase("{month}", "month"),
        # Behind 年度 it is a quarter of the business year.
        Phrase(f"(?<!度)(?<!度の)(?:{WHEN} )?第 ?{{quarter}} ?四半期", "quarter"),
        Phrase(f"(?:{WHEN} )?q{{quarter}}(?!\\w)", "quarter"),
        Phrase(f"{WHEN} {{season}}", "season"),
        Phrase("(?:この前の|前の){season}", "season", -1),
        Phrase("(?P<lead>この|今度の){season}(?!休)", "season"),
        Phrase("(?<![一-鿿])(?<!毎年の){season}(?=に(?!は|も))", "season", asked_only=True),
        Phrase("{decade} ?年代", "decade"),
        Phrase(f"{NO_YEAR}{{n}} {{unit}} ?(?:ほど|くらい|ぐらい)?{AGO}", "ago", -1),
        Phrase(f"{{n}} 分 ?(?:ほど|くらい|ぐらい)?{AGO}", "ago", -1, unit="minute"),
        Phrase(f"半年 ?(?:ほど|くらい|ぐらい)?{AGO}", "ago", -6, unit="month"),
        Phrase(f"{NO_YEAR}{{n}} {{unit}} ?後(?!半|輩|期|者|任|継|編)", "ago", 1),
        Phrase("(?:ここ|過去|直近|最近) ?(?:の)?{n} 分(?!の)", "rolling", unit="minute"),
        Phrase("(?:ここ|過去|この|直近|最近) ?(?:の)?{n} {unit}", "rolling"),
        Phrase("(?:ここ|この)数日", "rolling_days", 3),
        Phrase("(?:先週末|先週の(?:週末|土日)|前の週末)", "weekend", -1),
        Phrase("今週末|この週末|今週の週末", "weekend", 0),
        Phrase("来週末|来週の週末", "weekend", 1),
        Phrase("(?<!毎)週末に(?!は|も)", "weekend_gone", asked_only=True),
        Phrase("先々週|先先週", "unit", -2, unit="week"),
        Phrase("先週", "unit", -1, unit="week"),
        Phrase("今週", "unit", 0, unit="week"),
        Phrase("来週", "unit", 1, unit="week"),
        Phrase("再来週", "unit", 2, unit="week"),
        Phrase("再来月", "unit", 2, unit="month"),
        Phrase("再来年(?!度)", "unit", 2, unit="year"),
        Phrase("先々月|先先月", "unit", -2, unit="month"),
        Phrase("先月", "unit", -1, unit="month"),
        Phrase("今月", "unit", 0, unit="month"),
        Phrase("来月", "unit", 1, unit="month"),
        Phrase("前四半期|前の四半期", "unit", -1, unit="quarter"),
        Phrase("今四半期|今期の四半期", "unit", 0, unit="quarter"),
        Phrase("一昨年(?!度)|おととし", "unit", -2, unit="year"),
        Phrase("去年|昨年(?!度)", "unit", -1, unit="year"),
        Phrase("今年(?!度)|本年(?!度)", "unit", 0, unit="year"),
        Phrase("来年(?!度)", "unit", 1, unit="year"),
        Phrase("先週の?{weekday}", "weekday_of_week", -1),
        Phrase("今週の?{weekday}", "weekday_of_week", 0),
        Phrase("来週の?{weekday}", "weekday_of_week", 1),
        Phrase("(?:この前の|前の|先日の){weekday}", "weekday", -1),
        Phrase("(?:次の|今度の){weekday}", "weekday", 1),
        # "毎週金曜日" is every Friday.
        Phrase("(?<!毎週)(?<!毎週の){weekday}(?![ァ-ヺ日]|から|大|は|も)", "weekday", -1, asked_only=True),
        Phrase(f"{{from_year}} ?年?{TO}{{year}} ?年", "years"),
        Phrase("{year} ?年(?!代|度)", "year"),
    ),
    to="から|〜|～|~|-|–|—",
    both="と",
    eras=ERAS,
    past="た[。?？か]*$|ました",
    closing="まで(?:の間)?|の間",
    tails={
        "since": "以降|以来|から(?!まで)",
        "after": "より後|の後",
        "before": "より前|の前|以前に?は?",
        "until": "まで",
    },
    ordinals={"一": 1, "二": 2, "三": 3, "四": 4},
)
