"""How Chinese names times, in simplified and traditional characters."""

from recallmesh.when.grammar import YEAR, Grammar, Phrase
from recallmesh.when.numeral import HAN

WEEKDAYS = {
    f"{week}{day}": number
    for week in ("星期", "周", "週", "礼拜", "禮拜")
    for days, number in (("一", 0), ("二", 1), ("三", 2), ("四", 3), ("五", 4), ("六", 5), ("日天", 6))
    for day in days
    if (week, day) not in {("周", "天"), ("週", "天")}
}
UNITS = {
    form: unit
    for unit, forms in (
        ("hour", "小时 小時 个小时 個小時 钟头 鐘頭 个钟头 個鐘頭"),
        ("day", "天 日"),
        ("week", "周 週 星期 礼拜 禮拜 个星期 個星期 个礼拜 個禮拜"),
        ("month", "月 个月 個月"),
        ("quarter", "季度 季 个季度 個季度"),
        ("year", "年"),
    )
    for form in forms.split()
}
SEASONS = {
    f"{season}{suffix}": name
    for season, name in (("春", "spring"), ("夏", "summer"), ("秋", "autumn"), ("冬", "winter"))
    for suffix in ("天", "季")
}
YEARS = {"去年": -1, "前年": -2, "大前年": -3, "今年": 0, "本年": 0, "上一年": -1}
NUMBERS = {"几": 3, "幾": 3, "数": 3, "數": 3}

FIGURE = "(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
MONTH = rf"(?<![\d{HAN}]){FIGURE}\s?月(?!亮|球|饼|餅|光|台|河|嫂)"
DAY = "{day} ?[日号號]"
WHEN = "(?:{year} ?年(?:的)?|{rel}(?:的)?)"
LAST = "上(?:一)?(?:个|個)?"
NEXT = "下(?:一)?(?:个|個)?"
THIS = "(?:这(?:一)?(?:个)?|這(?:一)?(?:個)?|本)"
PAST = "(?:过去|過去|最近|近|这|這)"
AGO = "(?:之前|以前|前(?!端|台|期|后|後|半|提|途|景|沿|线|線|面|往|锋|鋒|任|辈|輩|排|列))"
THEN = "(?:之后|之後|以后|以後|[后後](?!端|勤|台|期|面|续|續|果|悔|卫|衛|备|備|代|排))"
# "上月球" is to the moon, "这周边" is around here.
NO_WORD = "(?![亮球饼餅光台边邊围圍期转轉密刊杰傑易])"
NO_YEAR = rf"(?!{YEAR} ?年)"

CHINESE = Grammar(
    language="zh",
    months={},
    month_pattern=MONTH,
    weekdays=WEEKDAYS,
    units=UNITS,
    numbers=NUMBERS,
    numeral=HAN,
    seasons=SEASONS,
    years=YEARS,
    spaced=False,
    script="一-鿿",
    phrases=(
        Phrase("大前天", "day", -3),
        Phrase("前天(?!堂)|前日", "day", -2),
        Phrase("昨天|昨日|昨晚|昨夜", "day", -1),
        Phrase("今天|今日(?!头条|頭條|子)|今晚|今早", "day", 0),
        Phrase("明天|明日(?!方舟|之|香)|明晚|明早", "day", 1),
        Phrase("[后後]天(?!性|因素|培养|培養|努力|形成|习得|習得)", "day", 2),
        Phrase("大[后後]天", "day", 3),
        Phrase(f"(?:{WHEN} )?{{month}} {{first}} ?[日号號]? ?(?:到|至|-|–|~|～) ?{DAY}", "days"),
        Phrase(f"(?:{WHEN} )?{{month}} {DAY}", "date"),
        Phrase(
            r"(?<!版本)(?<!版本\s)(?<![A-Za-z])(?<![A-Za-z]\s){year}\. ?(?P<month_figure>1[0-2]|0?[1-9])\. ?{day}"
            r"(?![\d]|\.\d)",
            "date",
        ),
        Phrase(f"(?:{WHEN} )?{{from}}(?: ?(?:到|至|-|–|~|～) ?){{month}}", "months"),
        Phrase(f"{WHEN} {{month}}(?:份)?", "month"),
        # "五月天" is a band, "三月前" may be three months ago.
        Phrase("{month}(?:份)?(?!天)", "month"),
        Phrase(f"(?:{WHEN} )?第?{{quarter}} ?季度", "quarter"),
        Phrase(f"(?:{WHEN} )?q{{quarter}}(?!\\w)", "quarter"),
        Phrase(f"(?:{WHEN} )?上半年", "half", 1),
        Phrase(f"(?:{WHEN} )?下半年", "half", 2),
        Phrase(f"{WHEN} (?:的)?{{season}}", "season"),
        Phrase(f"{LAST}{{season}}", "season", -1),
        Phrase("(?P<lead>在|这个|這個|今){season}", "season"),
        Phrase("{decade} ?年代", "decade"),
        Phrase(f"{NO_YEAR}{{n}} {{unit}} ?{AGO}", "ago", -1),
        Phrase(f"{{n}} ?分[钟鐘] ?{AGO}", "ago", -1, unit="minute"),
        Phrase(f"半年 ?{AGO}", "ago", -6, unit="month"),
        Phrase(f"{NO_YEAR}{{n}} {{unit}} ?{THEN}", "ago", 1),
        Phrase(f"{PAST}(?:的)? ?{{n}} ?分[钟鐘]", "rolling", unit="minute"),
        Phrase("前[几幾两兩]天", "rolling_days", 3),
        Phrase(f"{PAST}(?:的)? ?{{n}} ?{{unit}}", "rolling"),
        Phrase(f"{PAST}(?:的)? ?几天|{PAST}(?:的)? ?幾天", "rolling_days", 3),
        Phrase("(?:过去|過去|最近)的?(?:一)?(?:个|個)?(?P<unit>周|週|月|年|星期)", "rolling"),
        Phrase("上(?:个|個)?(?:周末|週末)", "weekend", -1),
        Phrase("(?:这(?:个)?|這(?:個)?|本)(?:周末|週末)", "weekend", 0),
        Phrase("下(?:个|個)?(?:周末|週末)", "weekend", 1),
        Phrase("上上(?:个|個)?(?P<unit>周|週|星期|礼拜|禮拜|月|季度)", "unit", -2),
        Phrase(f"{LAST}(?P<unit>周|週|星期|礼拜|禮拜|月|季度){NO_WORD}", "unit", -1),
        Phrase(f"{THIS}(?P<unit>周|週|星期|礼拜|禮拜|月|季度){NO_WORD}", "unit", 0),
        Phrase(f"{NEXT}(?P<unit>周|週|星期|礼拜|禮拜|月|季度){NO_WORD}", "unit", 1),
        Phrase("(?:去年|上一年)", "unit", -1, unit="year"),
        Phrase("大前年(?!龄|齡)", "unit", -3, unit="year"),
        Phrase("前年(?!龄|齡)", "unit", -2, unit="year"),
        Phrase("(?:今年|本年度?)", "unit", 0, unit="year"),
        Phrase("明年", "unit", 1, unit="year"),
        Phrase("后年|後年", "unit", 2, unit="year"),
        Phrase("上(?:个|個)?{weekday}", "weekday_of_week", -1),
        Phrase("(?:这(?:个)?|這(?:個)?|本){weekday}", "weekday_of_week", 0),
        Phrase("下(?:个|個)?{weekday}", "weekday_of_week", 1),
        # "每周五" and "周一到周五" are every week.
        Phrase(
            r"(?<![每到至个個一二两兩三四五六七八九十几幾半\d]){weekday}(?![到至次回遍趟])",
            "weekday",
            -1,
            asked_only=True,
        ),
        Phrase("{from_year} ?年?(?: ?(?:到|至|-|–|~|～) ?){year} ?年", "years"),
        Phrase("{year} ?年(?!代)", "year"),
    ),
    since="自从?|自從|从|從",
    between="在",
    to="到|至|-|–|—|~|～",
    both="和|与|與|跟",
    start="从|從|自",
    past="[了过過]",
    closing="之间|之間|期间|期間",
    tails={
        "since": "以来|以來|起|开始|開始",
        "after": f"{THEN}(?!天|年|来|來)",
        "before": f"{AGO}(?!天|年)",
        "until": "为止|為止|底前",
    },
    ordinals={"一": 1, "二": 2, "三": 3, "四": 4},
)
