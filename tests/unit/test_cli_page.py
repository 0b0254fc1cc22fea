"""The page of a trace: what it holds, and that no text in it can be anything but text."""

import json
import re
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from recallmesh.cli.columns import ABOUT, OUTCOMES
from recallmesh.cli.page.content import content
from recallmesh.cli.page.document import check_place, document, write_page
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.hop import Hop
from recallmesh.core.memory import FactType, Memory
from recallmesh.core.recall import (
    ArmReport,
    Outcome,
    PartReport,
    PartState,
    Phase,
    Prefilter,
    RecallAnswer,
    RecalledMemory,
    RecallRequest,
    Scores,
    Trace,
    TraceCandidate,
    WindowReading,
)
from recallmesh.core.time import Window
from recallmesh.core.tuning import BoostLevel, Budget, MinScores, RecallTuning

NOW = datetime(2026, 10, 6, 7, tzinfo=UTC)
HOSTILE = "</script><img src=x onerror=alert(1)><!--<script>${document}\x00\u2028\u202eevil\ud83d"
REQUEST = RecallRequest(BankRef("diary"), "What happened in May?", max_tokens=60, trace=True)
MS = timedelta(milliseconds=1)
HOPS = (
    Hop("keyword", "search", 1 * MS, 4 * MS, there=True, inside=3 * MS, sent=412, received=25_600),
    Hop("ledger", "read", 12 * MS, 2 * MS, there=True, sent=None, received=None, reason="STORE_UNAVAILABLE"),
)
NEIGHBOUR = "40fd1132-26a6-433f-bf3f-7930a2228881"


def row(memory_id, place, **fields):
    scores = Scores(
        rrf=0.0656, relevance=0.9841234567, final=0.977, reranker_raw=fields.pop("raw", 4.1), context_prior=1.25
    )
    given = {"outcome": Outcome.PACKED, "fused_rank": place, "final_rank": place, "scores": scores, "reranked": True}
    return TraceCandidate(
        memory_id, **({"text": f"memory {memory_id}", "ranks": {ArmName.KEYWORD: place}} | given | fields)
    )


def answered(*rows, **fields):
    trace = Trace(
        phases=(Phase("arms", timedelta(milliseconds=1), timedelta(milliseconds=20)),),
        window=WindowReading(Window(NOW, NOW + timedelta(days=1)), "en.month", "May"),
        prefilter=Prefilter(2, 1, 300, {ArmName.GRAPH: BoostLevel.HIGH}, {ArmName.KEYWORD: 2}, "no more can enter"),
        candidates=rows,
        tuning=RecallTuning(
            reranking=True, recency_alpha=0.2, budget_hits={Budget.LOW: 100}, min_scores=MinScores(final=0.1)
        ),
        query_time=NOW,
        budget_hits=300,
        hops=HOPS,
    )
    arms = (ArmReport(ArmName.GRAPH, PartState.TIMED_OUT, 0, timedelta(milliseconds=2000), "after 2 s"),)
    models = (PartReport("reranker", PartState.OK, 2, timedelta(milliseconds=300)),)
    return RecallAnswer(fields.pop("memories", ()), arms, models, trace=trace, **fields)


def shown(*rows, **fields):
    answer = answered(*rows, **fields)
    return content(REQUEST, answer, answer.trace)


class Elements(HTMLParser):
    """The elements of a page as a browser finds them, and the text within each."""

    def __init__(self, page):
        super().__init__()
        self.found, self.within = [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.within = []
        self.found.append((tag, dict(attrs), self.within))

    def handle_endtag(self, tag):  # noqa: ARG002 - HTMLParser names it
        self.within = None

    def handle_data(self, data):
        if self.within is not None:
            self.within.append(data)

    def named(self, name):
        return [(attrs, "".join(text)) for tag, attrs, text in self.found if tag == name]


def test_a_hostile_text_is_neither_markup_nor_script():
    bad = row(HOSTILE, 1, text=HOSTILE, because={ArmName.KEYWORD: HOSTILE}, detail=HOSTILE)
    answer = answered(bad)
    page = document(content(replace(REQUEST, query=HOSTILE, bank=BankRef(HOSTILE)), answer, answer.trace))
    page.encode("utf-8")
    elements, harmless = Elements(page), Elements(document(shown(row("m", 1))))
    assert [tag for tag, _, _ in elements.found] == [tag for tag, _, _ in harmless.found]
    assert elements.named("img") == []
    [(_, data), _] = elements.named("script")
    assert "<" not in data
    assert json.loads(data)["candidates"][0]["text"] == HOSTILE.replace("\x00", "�")


def test_the_policy_lets_nothing_run_but_the_pages_own_script_and_style():
    elements = Elements(document(shown(row("m", 1))))
    [policy] = [a["content"] for a, _ in elements.named("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    [(_, style)] = elements.named("style")
    [_, (_, script)] = elements.named("script")
    assert rules["default-src"] == "'none'"
    assert rules["style-src"] == f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'"
    assert rules["script-src"] == f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
    assert not {"img-src", "connect-src", "font-src", "frame-src"} & rules.keys()


def test_the_page_names_no_other_place():
    page = document(shown(row("m", 1)))
    assert re.findall(r"https?://[^\"'\s]+", page) == ["http://www.w3.org/2000/svg"]
    assert re.findall(r"(?: src=| href=|@import|url\()", page) == []
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", page) == []


def test_no_script_of_the_page_ends_it():
    assert document(shown(row("m", 1))).count("</script>") == 2


def test_a_candidate_has_its_place_at_every_stage():
    first = row(
        "m1", 1, raw=1.0, ranks={ArmName.KEYWORD: 3, ArmName.GRAPH: 1}, arm_scores={ArmName.GRAPH: 2.5}, tokens=9
    )
    second = row("m2", 2, raw=4.0, outcome=Outcome.BUDGET, detail="limit")
    last = row("m3", 3, outcome=Outcome.TAG, final_rank=0, text="", reranked=False)
    made = shown(last, second, first)["candidates"]
    assert [one["id"] for one in made] == ["m1", "m2", "m3"]
    assert [one["final_rank"] for one in made] == [1, 2, None]
    assert [one["fused_rank"] for one in made] == [1, 2, 3]
    assert [one["read_rank"] for one in made] == [2, 1, None]
    assert [one["became"] for one in made] == ["packed", "limit", "tag"]
    assert made[0]["ranks"] == {"keyword": 3, "graph": 1}
    assert made[0]["own"] == {"graph": 2.5}
    assert made[0]["scores"]["reads"] == 0.984123
    assert made[0]["scores"]["context"] == 1.25
    assert made[2]["scores"] == {"RRF": 0.0656}


def test_a_packed_memory_is_whole_and_has_its_time():
    memory = Memory(
        id="m", text="whole " * 90, fact_type=FactType.WORLD, created=NOW, mentioned=NOW, tags=frozenset({"b"})
    )
    packed = RecalledMemory(memory, {ArmName.KEYWORD: 1}, Scores(rrf=0.1, relevance=0.9, final=0.8))
    [made] = shown(row("m", 1, text="whole"), memories=(packed,))["candidates"]
    assert made["text"] == memory.text
    assert made["when"] == "said 6 Oct 2026"
    assert made["tags"] == ["b"]


def test_a_memory_in_an_arms_phrase_is_named_by_what_it_says():
    made = shown(row("m", 1, because={ArmName.GRAPH: f"beside {NEIGHBOUR}"}), row(NEIGHBOUR, 2, text="Leo:\nhello"))
    assert made["candidates"][0]["because"] == {"graph": "beside “Leo: hello”"}


def test_the_head_tells_what_was_asked_and_who_answered():
    made = shown(row("m", 1), omitted=4, tokens=52)
    facts = dict(made["facts"])
    assert facts["bank"] == "diary"
    assert facts["period"] == "6 Oct 2026 07:00 to 7 Oct 2026 07:00, read from “May” by the rule en.month"
    assert facts["answer"] == "0 memories, 52 of 60 tokens; 4 more were considered"
    assert [(part["name"], part["state"], part["detail"]) for part in made["parts"]] == [
        ("graph", "timed_out", "after 2 s"),
        ("reranker", "ok", ""),
    ]
    assert made["phases"] == [{"name": "arms", "start": 1.0, "ms": 20.0}]
    assert made["hops"] == [
        {
            "name": "keyword search",
            "start": 1.0,
            "ms": 4.0,
            "inside": 3.0,
            "where": "wire 1.0 ms",
            "sent": "412 B",
            "received": "25.6 kB",
            "failure": "",
        },
        {
            "name": "ledger read",
            "start": 12.0,
            "ms": 2.0,
            "inside": None,
            "where": "there",
            "sent": "? B",
            "received": "? B",
            "failure": "STORE_UNAVAILABLE",
        },
    ]
    assert made["fusion"] == {
        "kept": 2,
        "by": "RRF of these",
        "dropped": 1,
        "cap": 300,
        "stopped": "no more can enter",
        "boosts": {"graph": "high"},
        "composition": {"keyword": 2},
    }
    assert made["tuning"] == [
        ["reranking", "yes"],
        ["min_scores", "final 0.1"],
        ["recency_alpha", "0.2"],
        ["budget_hits", "low 100"],
    ]


def test_every_outcome_and_every_number_is_explained():
    assert {outcome.value for outcome in Outcome} <= {str(word) for word in OUTCOMES}
    [made] = shown(row("m", 1))["candidates"]
    assert made["scores"].keys() <= ABOUT.keys()


def test_an_answer_without_candidates_has_a_page():
    assert shown()["candidates"] == []


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    for path, why in ((tmp_path, "is a folder"), (tmp_path / "no" / "page.html", "there is no folder")):
        with pytest.raises(InvalidArgument) as refused:
            check_place(path)
        assert why in refused.value.violations[0].description
    (tmp_path / "gone").mkdir()
    with pytest.raises(InvalidArgument, match=r".*"):
        write_page(tmp_path / "gone", REQUEST, answered(row("m", 1)))


def test_an_answer_that_came_without_its_trace_is_told(tmp_path):
    with pytest.raises(InvalidArgument) as refused:
        write_page(tmp_path / "page.html", REQUEST, RecallAnswer((), ()))
    assert "no trace" in refused.value.violations[0].description
