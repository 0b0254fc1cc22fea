"""The page of a trace in a real browser, without a network: it works, and no memory's text can do anything."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from browsing import open_browser
from playwright.async_api import Page

from recallmesh.cli.page.document import write_page
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.recall import (
    ArmReport,
    Outcome,
    PartState,
    Phase,
    Prefilter,
    RecallAnswer,
    RecallRequest,
    Scores,
    Trace,
    TraceCandidate,
)
from recallmesh.core.tuning import RecallTuning

pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

COMMAND = (sys.executable, "-c", "import sys; from recallmesh.cli import main; sys.exit(main())")
NOW = datetime(2026, 10, 6, 7, tzinfo=UTC)
MANY = 2000
ATTACKS = (
    "</script><img src=x onerror=\"window.ran='image'\"><script>window.ran='script'</script>",
    "<svg onload=\"window.ran='svg'\"><a href=\"javascript:window.ran='link'\">press</a><style>*{display:none}</style>",
    "<!--<script>window.ran='comment'</script> \x00 \u202eoverridden \u2028 ]]> ${window.ran='template'} `'\"&lt;",
)
RTL, EMOJI = "אתמול אימצתי כלב גרייהאונד", "👩‍🚀🐕 naïve café"


@dataclass
class Seen:
    """A browser's page, and what it said."""

    page: Page
    said: list[str] = field(default_factory=list)

    async def open(self, path: Path) -> Page:
        self.said.clear()
        await self.page.goto(path.as_uri())
        return self.page


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen():
    async with open_browser() as browser:
        context = await browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
        looked = Seen(await context.new_page())
        looked.page.on("console", lambda line: looked.said.append(f"{line.type}: {line.text}"))
        looked.page.on("pageerror", lambda error: looked.said.append(str(error)))
        looked.page.on("request", lambda asked: looked.said.append(asked.url) if "file:" not in asked.url else None)
        yield looked


def candidate(place):
    attack = ATTACKS[place % 3] if place % 2 else (RTL, EMOJI)[place % 4 // 2]
    ranks = {ArmName.SEMANTIC: place, ArmName.KEYWORD: MANY + 1 - place}
    ranked = place <= MANY // 2
    return TraceCandidate(
        memory_id=f"{attack}-{place}",
        text=f"{place} {attack}",
        outcome=Outcome.PACKED if place <= 12 else Outcome.BUDGET if ranked else Outcome.CAP,
        fused_rank=(place * 7) % MANY + 1,
        final_rank=place if ranked else 0,
        ranks=ranks,
        because={ArmName.KEYWORD: attack},
        scores=Scores(rrf=1 / (60 + place), relevance=0.9, final=1 / place, reranker_raw=float(-place)),
        reranked=ranked,
        tokens=MANY - place + 1,
    )


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """The page of an answer with as many candidates as there may be, all of whose texts mean harm or are odd."""
    phases = tuple(
        Phase(name, timedelta(milliseconds=20 * start), timedelta(milliseconds=20))
        for start, name in enumerate(ATTACKS)
    )
    rows = tuple(map(candidate, range(1, MANY + 1)))
    trace = Trace(phases, None, Prefilter(MANY // 2, 5, 100, {}, {}), rows, RecallTuning(), NOW, 300)
    arms = (ArmReport(ArmName.KEYWORD, PartState.FAILED, detail=ATTACKS[0]),)
    request = RecallRequest(BankRef(ATTACKS[1]), ATTACKS[0], trace=True)
    path = tmp_path_factory.mktemp("page") / "many.html"
    write_page(path, request, RecallAnswer((), arms, trace=trace))
    return path


@pytest.fixture(scope="module")
def diary(tmp_path_factory):
    """The page that the command itself writes."""
    folder = tmp_path_factory.mktemp("diary")
    env = {name: value for name, value in os.environ.items() if not name.startswith("RECALLMESH_")}
    told = (
        '{"content": "Nadia: I start in a bakery in May.", "time": "2026-03-03T18:20:00+01:00"}\n'
        '{"content": "Leo: I adopted a greyhound called Pixel.", "time": "2026-03-21T10:05:00+01:00"}\n'
    )
    place = ("--bank", "diary", "--data", str(folder / "data"))
    page = folder / "trace.html"
    for words, given in (
        (("retain", "-"), told),
        (("recall", "What did Leo adopt in March 2026?", "--trace-html", str(page)), ""),
    ):
        subprocess.run(
            (*COMMAND, *words, *place), input=given, text=True, check=True, env=env, stdout=subprocess.DEVNULL
        )
    return page


async def places(page):
    return await page.locator("#table tbody tr[data-place] td.number").all_inner_texts()


async def test_the_page_of_the_command_shows_the_memories_and_their_way(seen, diary, tmp_path):
    page = await seen.open(diary)
    assert await page.title() == "Why this memory? What did Leo adopt in March 2026?"
    assert "by the rule en.month" in await page.inner_text("#facts")
    assert "greyhound" in await page.inner_text("#table tbody tr:first-child td.memory")
    assert {"semantic", "temporal", "reranker"} <= set((await page.inner_text("#parts")).split())
    assert await page.locator("#phases > div").count() > 5
    assert [await one.text_content() for one in await page.locator("#lanes .name.whole").all()][-3:] == [
        "fused",
        "read",
        "final",
    ]
    picture = tmp_path / "page.png"
    await page.screenshot(path=picture, full_page=True)
    assert picture.stat().st_size > 20_000
    assert seen.said == []


async def test_no_text_of_a_memory_does_anything(seen, many):
    page = await seen.open(many)
    await page.click("#more")
    await page.click("#table tbody tr:first-child button")
    assert await page.evaluate("window.ran") is None
    assert await page.locator("img, iframe, a, svg svg script").count() == 0
    assert await page.locator("body").is_visible()
    assert await page.inner_text("h1") == ATTACKS[0]
    assert ATTACKS[1] in await page.inner_text("#table tbody tr:first-child td.memory")
    assert await page.inner_text("#table tr[data-place='3'] td.memory") == f"4 {RTL}"
    assert (
        await page.locator("#table tr[data-place='3'] td.memory button").evaluate(
            "each => getComputedStyle(each).direction"
        )
        == "rtl"
    )
    assert seen.said == []


async def test_a_script_that_got_into_the_page_after_all_does_not_run(seen, many, tmp_path):
    spoilt = tmp_path / "spoilt.html"
    spoilt.write_text(
        many.read_text().replace(
            "<main>", "<main><script>window.ran='policy'</script><img src=x onerror=\"window.ran='policy'\">"
        )
    )
    page = await seen.open(spoilt)
    assert await page.evaluate("window.ran") is None
    assert any("Content Security Policy" in said for said in seen.said)


async def test_thousands_of_candidates_come_in_pages_and_all_of_them_on_demand(seen, many):
    page = await seen.open(many)
    assert len(await places(page)) == 200
    assert await page.inner_text("#shown") == f"{MANY} of them"
    assert await page.locator("#lanes g.dot").count() < 400
    await page.click("#more")
    assert len(await places(page)) == MANY
    assert not await page.is_visible("#more")


async def test_a_heading_sorts_by_mouse_and_by_key(seen, many):
    page = await seen.open(many)
    heading = page.locator("#table th[data-name='tok']")
    await heading.locator("button").click()
    assert await heading.get_attribute("aria-sort") == "descending"
    assert (await places(page))[:2] == ["1", "2"]
    await heading.locator("button").press("Enter")
    assert await heading.get_attribute("aria-sort") == "ascending"
    # Those that were never ranked have no place; the last of them has one token.
    assert (await places(page))[:2] == ["", ""]
    assert await page.inner_text("#table tbody tr:first-child td.tok") == "1"
    # What has no value comes last, whichever way it is sorted.
    final = page.locator("#table th[data-name='#'] button")
    await final.click()
    assert (await places(page))[:3] == ["1", "2", "3"]
    await final.click()
    assert (await places(page))[:3] == ["1000", "999", "998"]
    assert await page.locator("#table th[aria-sort='descending']").count() == 1


async def test_a_memory_lights_up_in_every_lane_and_in_the_table(seen, many):
    page = await seen.open(many)
    await page.hover("#table tr[data-place='2'] td.number")
    assert await page.locator("#lanes .dot.lit").count() == 5
    assert {await each.get_attribute("data-place") for each in await page.locator(".lit").all()} == {"2"}
    # One that is not drawn is drawn while it is pointed at.
    assert await page.locator("#lanes .dot[data-place='150']").count() == 0
    await page.hover("#table tr[data-place='150'] td.number")
    assert await page.locator("#lanes .dot.lit[data-place='150']").count() == 5
    await page.hover("#lanes .dot[data-place='4'] >> nth=-1")
    assert await page.locator("#lanes .dot[data-place='150']").count() == 0
    assert await page.locator("#table tr.lit").get_attribute("data-place") == "4"
    assert "final 5" in await page.inner_text("#story")
    await page.focus("#lanes")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    assert "final 2" in await page.inner_text("#story")


async def test_words_and_outcomes_sieve_the_candidates(seen, many):
    page = await seen.open(many)
    await page.fill("#words", "café")
    assert await page.inner_text("#shown") == f"{MANY // 4} of {MANY}"
    await page.fill("#words", "")
    await page.click("#chips button[data-became='packed']")
    assert await places(page) == [str(place) for place in range(1, 13)]
    assert await page.locator("#chips [aria-pressed='true']").count() == 1


async def test_each_number_says_what_it_means(seen, many):
    page = await seen.open(many)
    await page.hover("#table th[data-name='reads']")
    assert "the cross-encoder" in await page.inner_text("#tip")
    await page.hover("#table tr[data-place='1'] td.became")
    assert await page.inner_text("#tip") == "became: it came"
    await page.keyboard.press("Escape")
    assert not await page.is_visible("#tip")


@pytest.mark.parametrize("width", [400, 1280])
async def test_nothing_is_wider_than_the_window(seen, many, width):
    page = await seen.open(many)
    await page.set_viewport_size({"width": width, "height": 900})
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    await page.set_viewport_size({"width": 1280, "height": 900})
