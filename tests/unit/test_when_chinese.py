"""Times in Chinese, and what only looks like one."""

from datetime import UTC, datetime

import pytest

from recallmesh.core.time import Precision
from recallmesh.when import GrammarTimeReader

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)  # a Wednesday
READER = GrammarTimeReader()

CHINESE = (
    ("前天", "2026-08-17", "2026-08-17", Precision.DAY),
    ("昨天我们吃了什么", "2026-08-18", "2026-08-18", Precision.DAY),
    ("三天前", "2026-08-16", "2026-08-16", Precision.DAY),
    ("十二天前", "2026-08-07", "2026-08-07", Precision.DAY),
    ("两个月前", "2026-06-01", "2026-06-30", Precision.MONTH),
    ("一年前", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("上周五", "2026-08-14", "2026-08-14", Precision.DAY),
    ("上周", "2026-08-10", "2026-08-16", Precision.WEEK),
    ("上週", "2026-08-10", "2026-08-16", Precision.WEEK),
    ("上个月", "2026-07-01", "2026-07-31", Precision.MONTH),
    ("上個月", "2026-07-01", "2026-07-31", Precision.MONTH),
    ("去年", "2025-01-01", "2025-12-31", Precision.YEAR),
    ("前年", "2024-01-01", "2024-12-31", Precision.YEAR),
    ("今年", "2026-01-01", "2026-12-31", Precision.YEAR),
    ("上周末", "2026-08-15", "2026-08-16", Precision.RANGE),
    ("2024年7月13日", "2024-07-13", "2024-07-13", Precision.DAY),
    ("2024 年 7 月 13 日", "2024-07-13", "2024-07-13", Precision.DAY),
    ("二〇二四年七月十三日", "2024-07-13", "2024-07-13", Precision.DAY),
    ("2024年7月", "2024-07-01", "2024-07-31", Precision.MONTH),
    ("2024年發生了什麼", "2024-01-01", "2024-12-31", Precision.YEAR),
    ("5月发生了什么", "2026-05-01", "2026-05-31", Precision.MONTH),
    ("去年5月", "2025-05-01", "2025-05-31", Precision.MONTH),
    ("去年夏天", "2025-06-01", "2025-08-31", Precision.SEASON),
    ("2022年夏天", "2022-06-01", "2022-08-31", Precision.SEASON),
    ("2025年第二季度", "2025-04-01", "2025-06-30", Precision.QUARTER),
    ("90年代", "1990-01-01", "1999-12-31", Precision.DECADE),
    ("最近两周", "2026-08-05", "2026-08-19", Precision.RANGE),
    ("过去三个月", "2026-05-19", "2026-08-19", Precision.RANGE),
    ("2021年以来", "2021-01-01", "2026-08-19", Precision.RANGE),
    ("2023年以前", "1900-01-01", "2022-12-31", Precision.RANGE),
    ("2023年之后", "2024-01-01", "2026-08-19", Precision.RANGE),
    ("到2025年3月为止", "1900-01-01", "2025-03-31", Precision.RANGE),
    ("3月3日到9日", "2026-03-03", "2026-03-09", Precision.RANGE),
    ("三月三日到四月九日", "2026-03-03", "2026-04-09", Precision.RANGE),
    ("从2021年到2023年", "2021-01-01", "2023-12-31", Precision.RANGE),
    ("在2021年和2023年之间", "2021-01-01", "2023-12-31", Precision.RANGE),
    ("星期五说了什么", "2026-08-14", "2026-08-14", Precision.DAY),
)

NOT_CHINESE = (
    "100000年前",
    "0000年",
    "2026年2月30日",
    "每周五开会",
    "端口9077",
    "月亮很圆",
    "第二次会议",
    "五月天的歌",
    "工单20391",
    "房间2041",
    "三个人来了",
    "周到的服务",
)


@pytest.mark.parametrize(("text", "first", "last", "precision"), CHINESE)
def test_a_time_gives_its_window_and_keeps_its_precision(text, first, last, precision) -> None:
    reading = READER.read(text, NOW)
    assert reading is not None
    window = reading.occurrence.window
    assert (f"{window.start:%Y-%m-%d}", f"{window.end:%Y-%m-%d}") == (first, last)
    assert reading.occurrence.precision is precision


@pytest.mark.parametrize("text", NOT_CHINESE)
def test_what_is_no_time_gives_no_window(text: str) -> None:
    assert READER.read(text, NOW) is None
