"""``key=value``: what is read, what is refused and how it is told, and what a bank becomes by it."""

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from rich.console import Console
from unit.tuning_values import sayings, tuning_of

from recallmesh.cli.effective import print_effective
from recallmesh.cli.entry import main
from recallmesh.cli.guide import keys_help, tuning_page
from recallmesh.cli.keys import BANK_KEYS, RECALL_KEYS, changed, own, read, tuned, written
from recallmesh.cli.parser import build_parser
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import Bank, BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.tunable import RETAIN_TUNABLES, TUNABLES
from recallmesh.core.tuning import BoostLevel, Budget, MinScores, RecallTuning, RecencyCurve
from recallmesh.recall.effective import effective
from recallmesh.recall.plan import RecallDefaults
from recallmesh.recall.settings import RecallSettings

NOTHING = RecallTuning()


def bank(**fields):
    return Bank(BankRef("diary"), "uid", datetime(2026, 8, 19, tzinfo=UTC), **fields)


def after(before, *pairs):
    return changed(read(pairs, BANK_KEYS), before.name, before.config)


PAIRS = [
    ("arms=semantic, keyword", RecallTuning(arms=frozenset({ArmName.SEMANTIC, ArmName.KEYWORD}))),
    ("arms=none", RecallTuning(arms=frozenset())),
    ("boosts=graph:high,keyword:low", RecallTuning(boosts={ArmName.GRAPH: "high", ArmName.KEYWORD: BoostLevel.LOW})),
    ("boosts=none", RecallTuning(boosts={})),
    ("reranking=off", RecallTuning(reranking=False)),
    ("reranking=True", RecallTuning(reranking=True)),
    ("rerank_limit=0", RecallTuning(rerank_limit=0)),
    ("recency_curve=none", RecallTuning(recency_curve=RecencyCurve.NONE)),
    ("min_scores.final=0.25", RecallTuning(min_scores=MinScores(final=0.25))),
    ("min_scores.semantic=-1", RecallTuning(min_scores=MinScores(semantic=-1.0))),
    ("budget_hits.low=7", RecallTuning(budget_hits={Budget.LOW: 7})),
    ("recency_alpha=", NOTHING),
]


@pytest.mark.parametrize(("pair", "tuning"), PAIRS, ids=[pair for pair, _ in PAIRS])
def test_a_pair_says_one_thing(pair, tuning):
    assert tuned([pair], NOTHING) == tuning


@given(sayings())
def test_what_is_written_is_read_again(said):
    tuning = tuning_of({path: value for path, value in said.items() if value != ""})
    assert tuned(own(BankConfig(tuning)), NOTHING) == tuning


WRONG = [
    ("rerank_limit=2001", "rerank_limit", "must be a whole number in [0, 2000]; is '2001'"),
    ("rerank_limit=1.5", "rerank_limit", "must be a whole number in [0, 2000]; is '1.5'"),
    ("recency_alpha=nan", "recency_alpha", "must be a number in [0, 1]; is 'nan'"),
    ("unnamed_odds=0", "unnamed_odds", "must be a number in (0, 1]; is '0'"),
    ("min_scores.keyword=-1", "min_scores.keyword", "must be a number, 0 or more; is '-1'"),
    ("reranking=maybe", "reranking", "must be true or false; is 'maybe'"),
    ("graph_strategy=walk", "graph_strategy", "must be one of link_expansion, bfs, mpfp; is 'walk'"),
    (
        "arms=graph,smell",
        "arms",
        "must be some of semantic, keyword, graph, temporal, with commas; or none; is 'smell'",
    ),
    ("boosts=graph", "boosts", "must be arm:level, with commas, of levels low, medium, high; or none; is ''"),
    ("bosts=none", "bosts", "is no key; did you mean boosts?"),
    ("budget_hits=7", "budget_hits", "is no key; did you mean budget_hits.mid?"),
    ("xyzzy=1", "xyzzy", "is no key"),
    ("rerank_limit", "rerank_limit", "has no value: rerank_limit=VALUE"),
    ("retain.mode=concise", "retain.mode", "is no key"),
    ("=1", "", "is no key"),
]


@pytest.mark.parametrize(("pair", "field", "told"), WRONG, ids=[pair for pair, _, _ in WRONG])
def test_what_is_wrong_is_told_by_key_and_range(pair, field, told):
    with pytest.raises(InvalidArgument) as caught:
        tuned([pair], NOTHING)
    [violation] = caught.value.violations
    assert violation.field == field
    assert violation.description.startswith(told)


def test_all_that_is_wrong_is_told_at_once_before_a_mesh_is_opened(tmp_path, capsys):
    place = tmp_path / "data"
    assert main(["bank", "set", "diary", "--data", str(place), "rrf_k=0", "name=Fine", "retain.mode=loud"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "recallmesh: rrf_k: must be a whole number in [1, 10000]; is '0'"
    assert told[1].startswith("recallmesh: retain.mode: must be one of concise, verbose, ")
    assert told[-1] == "  how it is used: recallmesh bank set --help"
    assert main(["recall", "--bank", "b", "q", "--data", str(place), "--set", "rrf_k=0"]) == 2
    assert "rrf_k" in capsys.readouterr().err
    assert not place.exists()


def test_a_bank_keeps_what_is_not_named():
    before = bank(
        name="Old",
        config=BankConfig(
            RecallTuning(rerank_limit=9, budget_hits={Budget.LOW: 5, Budget.MID: 6}), RetainTuning(mission="Boats.")
        ),
    )
    change = after(before, "rrf_k=30", "budget_hits.low=", "retain.mode=verbatim", "retain.agent_names=Ada, Bo")
    assert change.name == "Old"
    assert change.config.recall == RecallTuning(rerank_limit=9, rrf_k=30, budget_hits={Budget.MID: 6})
    assert change.config.retain == RetainTuning(
        mode=ExtractionMode.VERBATIM, mission="Boats.", agent_names=("Ada", "Bo")
    )


def test_a_key_without_a_value_is_the_services_again():
    said = ("rerank_limit=3", "arms=none", "min_scores.final=0.5", "retain.chunk_tokens=64", "name=Mine")
    change = after(bank(), *said)
    back = after(bank(name=change.name, config=change.config), *(f"{pair.partition('=')[0]}=" for pair in said))
    assert (back.name, back.config) == ("", BankConfig())


def test_the_last_of_two_pairs_of_a_key_counts():
    assert tuned(["rrf_k=3", "rrf_k=4"], NOTHING).rrf_k == 4


def test_options_may_stand_before_and_after_the_pairs():
    for given_ in (["--json", "rrf_k=3", "boosts=none"], ["rrf_k=3", "boosts=none", "--json"]):
        words = build_parser().parse_args(["bank", "set", "diary", *given_])
        assert (words.pairs, words.json) == (["rrf_k=3", "boosts=none"], True)


def test_the_help_has_every_key_with_its_default_within_80_columns(capsys):
    with pytest.raises(SystemExit):
        main(["bank", "set", "--help"])
    told = capsys.readouterr().out
    assert keys_help() in told
    assert max(len(line) for line in told.splitlines()) <= 80
    assert [key for key in BANK_KEYS if f"\n  {key}=" not in told] == []
    assert "\n  rerank_limit=50  a whole number in [0, 2000]\n" in told
    assert "\n  retain.mode=concise  one of concise, verbose, " in told


def test_the_page_has_every_key_and_every_setting_of_recall():
    page = tuning_page("made")
    for key in {*RECALL_KEYS, *(f"retain.{one.path}" for one in RETAIN_TUNABLES)}:
        assert f"\n| `{key}` | " in page
    tuned_ = {one.path.partition(".")[0] for one in TUNABLES}
    service = page.partition("## Service alone")[2]
    for name in set(RecallSettings.model_fields) - tuned_ - {"address"}:
        assert name in service or (name.endswith("_share") and "three shares" in service)


def shown(tuning, retain, **screen):
    out = Console(file=io.StringIO(), highlight=False, **screen)
    print_effective(out, effective(NOTHING, tuning, RecallDefaults()), BankConfig(retain=retain))
    return out.file.getvalue()


SAID = RecallTuning(rerank_limit=7, boosts={}, budget_hits={Budget.LOW: 3})
VERBATIM = RetainTuning(mode=ExtractionMode.VERBATIM)


def test_in_a_pipe_what_is_in_force_is_a_line_a_key():
    lines = [line.split("\t") for line in shown(SAID, VERBATIM).splitlines()]
    assert lines[0] == ["key", "value", "from", "meaning"]
    assert {len(line) for line in lines} == {4}
    told = {key: (value, by) for key, value, by, _ in lines[1:]}
    assert told.keys() == BANK_KEYS.keys() - {"name"}
    assert {key for key, (_, by) in told.items() if by == "bank"} == {
        "rerank_limit", "boosts", "budget_hits.low", "retain.mode",
    }  # fmt: skip
    assert told["rerank_limit"] == ("7", "bank")
    assert told["boosts"] == ("none", "bank")
    assert told["budget_hits.mid"] == ("300", "service")
    assert told["min_scores.final"] == ("-", "service")
    assert told["retain.mode"] == ("verbatim", "bank")


@pytest.mark.parametrize("width", [80, 160])
def test_on_a_terminal_what_the_bank_says_stands_out(width):
    told = shown(SAID, VERBATIM, force_terminal=True, width=width, color_system="standard")
    [line] = [line for line in told.splitlines() if "rerank_limit" in line]
    assert "\x1b[1;32m7" in line
    [other] = [line for line in told.splitlines() if "rrf_k" in line]
    assert "\x1b[2m60" in other


def test_numbers_are_written_as_they_are_read():
    assert [written(value) for value in (0.2, 90.0, 1 / 3, 0, True)] == ["0.2", "90", repr(1 / 3), "0", "true"]
