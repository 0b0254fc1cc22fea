"""Times in Korean and Japanese, and what only looks like one."""

from datetime import UTC, datetime

import pytest

from recallmesh.core.time import Precision
from recallmesh.when import GrammarTimeReader

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)  # a Wednesday
READER = GrammarTimeReader()

KOREAN = (
    ("그저께", "2026-08-17", "2026-08-17", Precision.DAY),
    ("어제 뭐 먹었지", "2026-08-18", "2026-08-18", Precision.DAY),
    ("3일 전", "2026-08-16", "2026-08-16", Precision.DAY),
    ("사흘 전에 만났다", "2026-08-16", "2026-08-16", Precision.DAY),
    ("두 달 전", "2026-06-01", "2026-06-30", Precision.MONTH),
    ("1년 전", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("지난 금요일", "2026-08-14", "2026-08-14", Precision.DAY),
    ("지난주 금요일", "2026-08-14", "2026-08-14", Precision.DAY),
    ("지난주", "2026-08-10", "2026-08-16", Precision.WEEK),
    ("지난달", "2026-07-01", "2026-07-31", Precision.MONTH),
    ("작년", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("재작년", "2024-01-01", "2024-12-31", Precision.YEAR),
    ("올해", "2026-01-01", "2026-12-31", Precision.YEAR),
    ("지난 주말", "2026-08-15", "2026-08-16", Precision.RANGE),
    ("2024년 7월 13일", "2024-07-13", "2024-07-13", Precision.DAY),
    ("2024년 7월", "2024-07-01", "2024-07-31", Precision.MONTH),
    ("2024년에", "2024-01-01", "2024-12-31", Precision.YEAR),
    ("5월에 뭐 했지", "2026-05-01", "2026-05-31", Precision.MONTH),
    ("작년 5월", "2025-05-01", "2025-05-31", Precision.MONTH),
    ("지난 여름", "2025-06-01", "2025-08-31", Precision.SEASON),
    ("2022년 여름", "2022-06-01", "2022-08-31", Precision.SEASON),
    ("2025년 2분기", "2025-04-01", "2025-06-30", Precision.QUARTER),
    ("90년대", "1990-01-01", "1999-12-31", Precision.DECADE),
    ("최근 2주 동안", "2026-08-05", "2026-08-19", Precision.RANGE),
    ("2021년부터", "2021-01-01", "2026-08-19", Precision.RANGE),
    ("2023년 이전", "1900-01-01", "2022-12-31", Precision.RANGE),
    ("2025년 3월까지", "1900-01-01", "2025-03-31", Precision.RANGE),
    ("3월 3일부터 9일까지", "2026-03-03", "2026-03-09", Precision.RANGE),
    ("3월 3일부터 4월 9일까지", "2026-03-03", "2026-04-09", Precision.RANGE),
    ("2021년부터 2023년까지", "2021-01-01", "2023-12-31", Precision.RANGE),
)

NOT_KOREAN = (
    "에어제트 기술",
    "포트 9077",
    "100000년 전",
    "0000년",
    "2026년 2월 30일",
    "매주 금요일",
    "그제야 알았다",
    "오늘날의 기술",
    "봄이 왔다",
    "두 번째 회의",
    "전체 회의",
    "티켓 20391",
)

JAPANESE = (
    ("一昨日", "2026-08-17", "2026-08-17", Precision.DAY),
    ("昨日何を食べた", "2026-08-18", "2026-08-18", Precision.DAY),
    ("3日前に会った", "2026-08-16", "2026-08-16", Precision.DAY),
    ("三日前の話", "2026-08-16", "2026-08-16", Precision.DAY),
    ("二か月前", "2026-06-01", "2026-06-30", Precision.MONTH),
    ("１年前のこと", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("先週の金曜日", "2026-08-14", "2026-08-14", Precision.DAY),
    ("先週", "2026-08-10", "2026-08-16", Precision.WEEK),
    ("先月の会議", "2026-07-01", "2026-07-31", Precision.MONTH),
    ("去年の話", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("一昨年", "2024-01-01", "2024-12-31", Precision.YEAR),
    ("今年の目標", "2026-01-01", "2026-12-31", Precision.YEAR),
    ("先週末", "2026-08-15", "2026-08-16", Precision.RANGE),
    ("2024年7月13日の会議", "2024-07-13", "2024-07-13", Precision.DAY),
    ("2024年7月のこと", "2024-07-01", "2024-07-31", Precision.MONTH),
    ("2024年の出来事", "2024-01-01", "2024-12-31", Precision.YEAR),
    ("5月に何をした", "2026-05-01", "2026-05-31", Precision.MONTH),
    ("去年の5月", "2025-05-01", "2025-05-31", Precision.MONTH),
    ("去年の夏", "2025-06-01", "2025-08-31", Precision.SEASON),
    ("2022年の夏", "2022-06-01", "2022-08-31", Precision.SEASON),
    ("2025年第2四半期", "2025-04-01", "2025-06-30", Precision.QUARTER),
    ("1990年代の音楽", "1990-01-01", "1999-12-31", Precision.DECADE),
    ("ここ二週間", "2026-08-05", "2026-08-19", Precision.RANGE),
    ("過去3か月の売上", "2026-05-19", "2026-08-19", Precision.RANGE),
    ("2021年以降の話", "2021-01-01", "2026-08-19", Precision.RANGE),
    ("2023年より前のこと", "1900-01-01", "2022-12-31", Precision.RANGE),
    ("2025年3月まで", "1900-01-01", "2025-03-31", Precision.RANGE),
    ("3月3日から9日まで", "2026-03-03", "2026-03-09", Precision.RANGE),
    ("3月3日から4月9日まで", "2026-03-03", "2026-04-09", Precision.RANGE),
    ("2021年から2023年まで", "2021-01-01", "2023-12-31", Precision.RANGE),
    ("金曜日に何をした", "2026-08-14", "2026-08-14", Precision.DAY),
)

NOT_JAPANESE = (
    "ポート9077",
    "毎週金曜日に会う",
    "2月30日に会う",
    "チケット20391",
    "二番目の会議",
    "月が綺麗",
    "100000年前の話",
    "0000年のこと",
    "部屋2041",
    "日曜大工が好き",
    "百人の客",
)


@pytest.mark.parametrize(("text", "first", "last", "precision"), [*KOREAN, *JAPANESE])
def test_a_time_gives_its_window_and_keeps_its_precision(text, first, last, precision) -> None:
    reading = READER.read(text, NOW)
    assert reading is not None
    window = reading.occurrence.window
    assert (f"{window.start:%Y-%m-%d}", f"{window.end:%Y-%m-%d}") == (first, last)
    assert reading.occurrence.precision is precision


@pytest.mark.parametrize("text", [*NOT_KOREAN, *NOT_JAPANESE])
def test_what_is_no_time_gives_no_window(text: str) -> None:
    assert READER.read(text, NOW) is None
