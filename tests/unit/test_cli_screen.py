"""What a person sees, at several widths and in a pipe."""

import io
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len
from rich.console import Console

from recallmesh.cli.account import print_account
from recallmesh.cli.answer import print_answer, when
from recallmesh.cli.candidates import LEGEND, ON_DEMAND
from recallmesh.cli.screen import print_table, printable
from recallmesh.core.arm import ArmName
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
    Scores,
    Trace,
    TraceCandidate,
    WindowReading,
)
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.tuning import BoostLevel, RecallTuning

NOW = datetime(2026, 10, 6, 7, tzinfo=UTC)
LONG = "Nadia: the oven at the bakery broke down this morning, " * 6
NUMBERS = ["11", "3", "14", "2", "1", "0.984", "0.917", "1.250", "0.250", "1.097", "0.900", "0.977", "39", "packed"]
ALL_NUMBERS = [
    "11",
    "3",
    "14",
    "2",
    "1",
    "0.065600",
    "4.120000",
    "0.984000",
    "5.931000",
    "0.917000",
    "1.250000",
    "0.250000",
    "1.000000",
    "1.000000",
    "1.000000",
    "1.097000",
    "0.900000",
    "1.000000",
    "1.000000",
    "0.977000",
    "39",
    "packed",
]


def terminal(width):
    return Console(width=width, force_terminal=True, color_system=None, file=io.StringIO(), highlight=False)


def pipe():
    return Console(file=io.StringIO(), highlight=False, soft_wrap=True)


def shown(screen):
    return screen.file.getvalue()


def memory(text="Leo: hello", **fields):
    return Memory(id="m", text=text, fact_type=FactType.WORLD, created=NOW, **fields)


def answer(*memories, ranks: Mapping[ArmName, int] | None = None, **fields):
    ranks = ranks or {ArmName.SEMANTIC: 1, ArmName.GRAPH: 2}
    packed = tuple(RecalledMemory(one, ranks, Scores(rrf=0.1, relevance=0.9, final=0.875)) for one in memories)
    return RecallAnswer(packed, arms=fields.pop("arms", ()), **fields)


MS = timedelta(milliseconds=1)
HOPS = (
    Hop("keyword", "search", 1 * MS, 4 * MS, there=True, inside=3 * MS, sent=412, received=25_600),
    Hop("graph", "search", 1 * MS, 9 * MS, inside=9 * MS),
    Hop("temporal", "search", 2 * MS, 3 * MS, there=True, sent=412, received=0, reason="STORE_UNAVAILABLE"),
    Hop("ledger", "read", 12 * MS, 2 * MS, there=True, sent=None, received=None),
)


def traced(**more):
    scores = Scores(
        rrf=0.0656,
        reranker_raw=4.12,
        relevance=0.984,
        final=0.977,
        recency_boost=1.097,
        temporal_boost=0.9,
        fusion_prior=0.917,
        context_prior=1.25,
        naming_prior=0.25,
        reading=5.931,
    )
    ranks = {ArmName.SEMANTIC: 3, ArmName.KEYWORD: 14, ArmName.GRAPH: 2}
    own = {"arm_scores": {ArmName.KEYWORD: 6.5}, "because": {ArmName.KEYWORD: "may"}}
    rows = [
        TraceCandidate("m1", LONG, Outcome.PACKED, 1, 11, ranks, **own, scores=scores, tokens=39, reranked=True),
        TraceCandidate("m3", LONG, Outcome.BUDGET, 3, 12, ranks, scores=replace(scores, **more), detail="limit"),
        TraceCandidate("m2", "", Outcome.MISSING, 2, 0, {ArmName.KEYWORD: 1}, detail="not in the ledger"),
    ]
    window = WindowReading(Window(NOW, NOW + timedelta(days=1)), "en.month", "May")
    phases = (
        Phase("arms", timedelta(), timedelta(milliseconds=20)),
        Phase("pack", timedelta(milliseconds=20), timedelta()),
    )
    trace = Trace(phases, window, Prefilter(1, 0, 300, {}, {}), tuple(rows), RecallTuning(), NOW, 300, HOPS)
    arms = (ArmReport(ArmName.SEMANTIC, PartState.OK, 38, timedelta(milliseconds=3)),)
    models = (PartReport("reranker", PartState.OK, 38, timedelta(milliseconds=300)),)
    return answer(memory(), arms=arms, models=models, trace=trace)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_the_numbers_of_a_candidate_are_whole_at_any_width(width):
    screen = terminal(width)
    print_account(screen, traced())
    [line] = [line for line in shown(screen).splitlines() if line.startswith("11")]
    assert [number for number in line.split() if number != "0.0656"][: len(NUMBERS)] == NUMBERS
    assert ("0.0656" in line) is (width > 80)


@pytest.mark.parametrize("width", [40, 80, 100, 120, 200])
def test_no_candidate_with_room_for_its_numbers_is_wider_than_the_terminal(width):
    screen = terminal(width)
    print_account(screen, traced())
    memories = [line for line in shown(screen).splitlines() if "Nadia" in line]
    assert memories
    assert all(cell_len(line) <= width and line.endswith("…") for line in memories)


def test_in_a_pipe_the_candidates_are_whole_and_separated_by_tabs():
    screen = pipe()
    print_account(screen, traced())
    [line] = [line for line in shown(screen).splitlines() if line.startswith("11\t")]
    assert line.split("\t") == [*ALL_NUMBERS, "", "", "6.5", "may", "", "", "m1", LONG.strip()]


def test_the_table_of_a_reranked_question_is_no_wider_than_a_terminal_of_80():
    screen = terminal(80)
    print_account(screen, traced())
    lines = shown(screen).splitlines()
    [heading] = [place for place, line in enumerate(lines) if line.lstrip().startswith("#")]
    assert len(lines) > heading + 4
    assert all(cell_len(line) <= 80 for line in lines[heading:])


def test_a_factor_that_few_banks_have_is_shown_where_it_matters():
    for more, words in (
        ({}, set()),
        ({"proof_boost": 1.02}, {"proof"}),
        ({"strategy_boost": 1.05}, {"favour"}),
        ({"surroundings": 2.5}, {"around"}),
    ):
        screen = terminal(200)
        print_account(screen, traced(**more))
        [heading] = [line for line in shown(screen).splitlines() if line.lstrip().startswith("#")]
        assert set(heading.split()) & set(ON_DEMAND) == words


def test_what_was_not_reranked_is_in_brackets_and_what_a_limit_cut_says_so():
    screen = terminal(80)
    print_account(screen, traced())
    [line] = [line for line in shown(screen).splitlines() if line.startswith("12")]
    assert "(0.984)" in line
    assert line.split()[-1] == "limit"


def test_a_terminal_too_narrow_for_all_columns_leaves_out_what_says_nothing():
    neutral = {"recency_boost": 1.0, "temporal_boost": 1.0}
    rows = [
        replace(
            row,
            scores=row.scores and replace(row.scores, **neutral),
            outcome=Outcome.SUPERSEDED,
            ranks={**row.ranks, ArmName.TEMPORAL: 8},
        )
        for row in traced().trace.candidates
    ]
    screen = terminal(80)
    print_account(screen, replace(traced(), trace=replace(traced().trace, candidates=tuple(rows))))
    [heading] = [line for line in shown(screen).splitlines() if line.lstrip().startswith("#")]
    assert {"place", "context", "names", "tok", "became"} <= set(heading.split())
    assert "RRF" not in heading
    assert "time" not in heading
    assert all(cell_len(line) <= 80 for line in shown(screen).splitlines())


def test_the_fusion_tells_what_it_kept_and_how_many_ended_how():
    found = {ArmName.KEYWORD: 2, ArmName.GRAPH: 1}
    kept = Prefilter(2, 1, 300, {ArmName.GRAPH: BoostLevel.HIGH}, found, "no more can enter")
    screen = pipe()
    print_account(screen, replace(traced(), trace=replace(traced().trace, prefilter=kept)))
    told = shown(screen)
    assert "3 candidates, 2 kept for reranking (cap 300), 1 beyond it" in told
    assert "found by keyword 2 · graph 1" in told
    assert "favoured graph high" in told
    assert "reading stopped early: no more can enter" in told
    assert "became      1 packed      it came" in told
    assert "1 limit       as many memories as asked for came before it" in told
    assert "1 missing     an index proposed it" in told


def test_a_memory_whose_text_is_not_told_has_its_id():
    screen = terminal(120)
    print_account(screen, traced())
    assert "(m2)" in shown(screen)


def test_in_a_pipe_the_phases_are_plain_numbers():
    screen = pipe()
    print_account(screen, traced())
    assert "arms\t0.0\t20.0\npack\t20.0\t0.0\n" in shown(screen)
    assert "█" not in shown(screen)


def test_in_a_pipe_the_calls_are_plain_numbers_and_what_nobody_knows_is_empty():
    screen = pipe()
    print_account(screen, traced())
    told = shown(screen)
    assert "keyword\tsearch\tthere\t1.0\t4.0\t3.0\t412\t25600\t\n" in told
    assert "graph\tsearch\there\t1.0\t9.0\t9.0\t0\t0\t\n" in told
    assert "ledger\tread\tthere\t12.0\t2.0\t\t\t\t\n" in told
    assert "temporal\tsearch\tthere\t2.0\t3.0\t\t412\t0\tSTORE_UNAVAILABLE\n" in told


def test_on_a_terminal_each_call_says_where_it_went_its_bytes_and_the_wires_time():
    screen = terminal(100)
    print_account(screen, traced())
    lines = [" ".join(line.split()) for line in shown(screen).splitlines()]
    assert "hops keyword search 4.0 ms wire 1.0 ms 412 B out 25.6 kB in" in lines
    assert "graph search 9.0 ms here 0 B out 0 B in" in lines
    assert "ledger read 2.0 ms there ? ?" in lines
    assert "temporal search 3.0 ms there 412 B out 0 B in STORE_UNAVAILABLE" in lines


def test_on_a_terminal_the_phases_have_bars():
    screen = terminal(80)
    print_account(screen, traced())
    assert "█" in shown(screen)


def test_the_window_is_told_with_its_words_and_its_rule():
    screen = pipe()
    print_account(screen, traced())
    assert "2026-10-06 07:00 to 2026-10-07 07:00 from 'May' (rule: en.month)" in shown(screen)


def test_every_column_of_the_table_is_in_the_legend():
    screen = pipe()
    print_account(screen, traced())
    [heading] = [line for line in shown(screen).splitlines() if line.startswith("#")]
    explained = {word for columns, _ in LEGEND for word in columns.split()}
    assert {"place", "context", "names", "proof", "favour"} <= set(heading.split("\t"))
    own = {f"{sign} {what}" for sign in ("sem", "key", "gra") for what in ("score", "because")}
    assert set(heading.split("\t")) - explained == {"id", "memory"} | own


def test_an_answer_shows_score_ranks_and_time():
    screen = pipe()
    print_answer(screen, answer(memory(mentioned=NOW)))
    assert "  1  0.875  Leo: hello" in shown(screen)
    assert "sem 1 · gra 2   said 6 Oct 2026" in shown(screen)
    assert "1 memory, 0 tokens" in shown(screen)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_long_memory_wraps_beside_its_score(width):
    screen = terminal(width)
    print_answer(screen, answer(memory(LONG)))
    first, second = shown(screen).splitlines()[:2]
    assert first.startswith("  1  0.875  Nadia")
    assert second.startswith(" " * 12)
    assert all(cell_len(line) <= width for line in (first, second))


def test_an_empty_answer_says_why():
    screen = pipe()
    print_answer(screen, answer())
    print_answer(screen, answer(omitted=3))
    assert "bank is empty" in shown(screen)
    assert "--max-tokens" in shown(screen)


def test_an_arm_that_was_silent_is_told():
    screen = pipe()
    silent = ArmReport(ArmName.GRAPH, PartState.TIMED_OUT, detail="after 2 s")
    print_answer(screen, answer(memory(), arms=(silent,)))
    assert "the graph arm did not answer (timed_out): after 2 s" in shown(screen)


def test_a_memory_cannot_command_the_terminal():
    screen = terminal(80)
    print_answer(screen, answer(memory("\x1b[2Jgone [bold]not markup[/bold]")))
    assert "\x1b" not in shown(screen)
    assert "[bold]" in shown(screen)
    assert printable("a\x1b\x9b\x07\nb") == "a���\nb"


@pytest.mark.parametrize(
    ("start", "end", "precision", "said"),
    [
        ("2026-03-20T00:00:00+01:00", "2026-03-20T23:59:59+01:00", Precision.DAY, "20 Mar 2026"),
        ("2026-03-20T00:00:00-05:00", "2026-03-20T23:59:59-05:00", Precision.DAY, "20 Mar 2026"),
        ("2026-04-27T00:00:00+02:00", "2026-05-03T23:59:59+02:00", Precision.WEEK, "27 Apr 2026 to 3 May 2026"),
        ("2026-06-01T00:00:00+02:00", "2026-06-30T23:59:59+02:00", Precision.MONTH, "Jun 2026"),
        ("2024-01-01T00:00:00+01:00", "2024-12-31T23:59:59+01:00", Precision.YEAR, "2024"),
        ("2026-03-21T00:30:00+01:00", "2026-03-21T00:30:00+01:00", Precision.INSTANT, "21 Mar 2026"),
    ],
)
def test_a_day_is_the_speakers(start, end, precision, said):
    window = Window(datetime.fromisoformat(start), datetime.fromisoformat(end))
    assert when(memory(occurred=Occurrence(window, precision))) == said


def test_a_table_in_a_pipe_has_a_line_a_row_and_a_tab_a_column():
    screen = pipe()
    print_table(screen, ("bank", "name"), [("b1", "two\nlines\tand a tab")])
    assert shown(screen) == "bank\tname\nb1\ttwo lines and a tab\n"


def test_a_table_on_a_terminal_has_columns():
    screen = terminal(80)
    print_table(screen, ("bank", "name"), [("b1", "n")])
    assert shown(screen).splitlines()[0].split() == ["bank", "name"]
    assert "\t" not in shown(screen)


def test_on_a_terminal_too_narrow_for_a_table_every_cell_is_there_whole():
    row = ("Alice Chen", "person", "12", "2026-03-09 09:00", "", "f3852f37-9566-4dc0-add6-125e6a4f9496")
    headings = ("entity", "kind", "memories", "last mentioned", "also called", "id")
    screen = terminal(80)
    print_table(screen, headings, [row], folding=frozenset({0, 4}))
    lines = screen.file.getvalue().splitlines()
    assert [line.rstrip() for line in lines] == [
        "Alice Chen",
        "  kind person · memories 12 · last mentioned 2026-03-09 09:00 · id",
        "  f3852f37-9566-4dc0-add6-125e6a4f9496",
    ]


def test_what_a_row_is_called_by_is_not_wrapped_into_a_column():
    screen = terminal(60)
    name = "file:/home/leo/notes/bergen/oven.md"
    print_table(screen, ("document", "version", "updated"), [(name, "1", "2026-11-30 10:25")], folding=frozenset({0}))
    assert name in screen.file.getvalue()


def test_on_a_terminal_that_is_wide_enough_rows_are_a_table():
    screen = terminal(80)
    print_table(screen, ("tag", "memories"), [("family", "12")])
    assert [line.rstrip() for line in screen.file.getvalue().splitlines()] == ["tag     memories", "family  12"]


def test_an_observation_says_of_how_many_facts_it_is():
    screen = pipe()
    one = replace(memory("Mira moved to Bergen."), fact_type=FactType.OBSERVATION, proof_count=2)
    print_answer(screen, answer(one, memory("Mira bakes.")))
    told = screen.file.getvalue()
    assert told.count("observation of 2 facts") == told.count("observation") == 1
