"""What the doctor makes of what it saw."""

from datetime import timedelta

import pytest

from recallmesh.cli.diagnosis import Counted, Lag, age, lags_of, service_row, store_row
from recallmesh.core.store import Inspection

SOUND = Inspection("opensearch", "http://search:9200", "3.9.0", schema="2", wanted="2", memories=40, skew_s=-0.4)
NOTHING_WAITS = Lag(0, timedelta())


def advice_of(seen, **told):
    return store_row("keyword", seen, **told).advice


def test_a_sound_store_is_well_and_told_with_all_that_is_known():
    row = store_row("keyword", SOUND, lag=NOTHING_WAITS, counted=Counted(40, 40))
    assert row.cells == ("keyword", "opensearch 3.9.0", "http://search:9200", "2", "40", "0", "-0.4 s", "well")


def test_a_store_that_was_not_migrated_says_which_schema_it_needs():
    seen = Inspection(
        "neo4j", "bolt://graph:7687", "5.26.30", schema="1", wanted="2", advice=("run: recallmesh migrate",)
    )
    assert store_row("graph", seen).cells[3::4] == ("1 (needs 2)", "run: recallmesh migrate")
    assert store_row("graph", Inspection("neo4j", "bolt://graph:7687", "5.26.30", wanted="2")).schema == "- (needs 2)"


def test_a_store_that_does_not_answer_says_how_to_go_on_and_nothing_of_its_schema():
    row = store_row("graph", Inspection("neo4j", "bolt://graph:7687", wanted="2", advice=("it does not answer.",)))
    assert (row.store, row.schema) == ("neo4j", "")
    assert row.cells[-1].startswith("it does not answer; is it running there, and are its settings right?")


@pytest.mark.parametrize(("skew_s", "which"), [(75.0, "75.0 s ahead of"), (-2.5, "2.5 s behind")])
def test_a_clock_that_is_far_off_is_told(skew_s, which):
    (told,) = advice_of(Inspection("neo4j", "bolt://graph:7687", "5.26.30", memories=1, skew_s=skew_s))
    assert told == f"its clock is {which} this machine's: set both by NTP"


def test_changes_that_wait_long_are_told_and_fresh_ones_are_not():
    (told,) = advice_of(SOUND, lag=Lag(12, timedelta(minutes=7)))
    assert told.startswith("12 changes wait for the keyword arm, the oldest since 7 min")
    assert advice_of(SOUND, lag=Lag(12, timedelta(seconds=3))) == ()


def test_counts_that_differ_are_told_unless_something_is_on_the_way_or_was_retained_meanwhile():
    (told,) = advice_of(SOUND, lag=NOTHING_WAITS, counted=Counted(41, 41))
    assert told.startswith("it holds 40 memories, the ledger shows 41: recallmesh verify")
    assert advice_of(SOUND, lag=Lag(1, timedelta()), counted=Counted(41, 41)) == ()
    assert advice_of(SOUND, lag=NOTHING_WAITS, counted=Counted(39, 41)) == ()
    assert advice_of(SOUND, lag=NOTHING_WAITS, counted=Counted(41, 39)) == ()


def test_a_store_that_another_process_keeps_to_itself_is_well_but_not_counted():
    row = store_row("keyword", Inspection("sqlite", "/data/keyword.db", "3.40.1"), counted=Counted(1, 1))
    assert (row.memories, row.advice) == ("", ())
    assert row.cells[-1] == "well; not counted, since another process has it open"


def test_a_service_that_is_not_ready_is_told_otherwise_than_one_that_is_away():
    assert service_row("graph", "graph:7070", "").cells[-1] == "well"
    assert service_row("graph", "graph:7070", "graph is not ready").advice == ("graph is not ready; its log says why",)
    (told,) = service_row("graph", "graph:7070", "a service of the mesh does not answer").advice
    assert told.endswith("start it: recallmesh serve graph --listen graph:7070; or set its address right")


def test_an_arm_for_which_nothing_waits_has_a_lag_of_nothing():
    found = lags_of((("graph", 2, timedelta(seconds=9)),), ("graph", "keyword"))
    assert found == {"graph": Lag(2, timedelta(seconds=9)), "keyword": NOTHING_WAITS}


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172800, "2 d")]
)
def test_ages_are_said_in_the_unit_that_people_would_use(seconds, said):
    assert age(timedelta(seconds=seconds)) == said
