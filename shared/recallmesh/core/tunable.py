"""Everything that a bank or a request may set, by its path in a tuning: meaning, range, SPEC's row, each once."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite
from typing import Any, cast

from recallmesh.core import limits
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import ConsolidationTuning, ExtractionMode, ObservationScope, RetainTuning
from recallmesh.core.defense import DefenseAction
from recallmesh.core.errors import FieldViolation
from recallmesh.core.text import name_violations, tag_violations
from recallmesh.core.tuning import (
    GRAPH_STRATEGIES,
    RERANK_LIMIT_MAX,
    BoostLevel,
    Budget,
    BudgetMode,
    MinScores,
    RecallTuning,
    RecencyCurve,
)

HITS_MAX = 2000
"""The most hits of a fact type that an arm may be asked for (SPEC R18)."""


class Kind(StrEnum):
    """What a value is."""

    SWITCH = "true or false"
    WHOLE = "whole number"
    NUMBER = "number"
    CHOICE = "word"
    TEXT = "text"
    NAMES = "names"
    ARMS = "arms"
    BOOSTS = "arms with levels"
    SCOPES = "sets of tags"


@dataclass(frozen=True, slots=True)
class Tunable:
    """One thing that may be set.

    ``path`` is its field in a tuning; after a dot follows one entry of a table, each of which is set by itself. The
    range is closed, but for ``open_least``: then its lower end is left out. ``words`` are what a choice may be, arms be
    named or favoured by; ``row`` is where SPEC tells of it.
    """

    path: str
    kind: Kind
    about: str
    row: str
    least: float | None = None
    most: float | None = None
    open_least: bool = False
    words: tuple[str, ...] = ()
    unit: str = ""

    @property
    def range(self) -> str:
        """The values that are allowed, as people write them."""
        if self.least is None:
            return ", ".join(self.words)
        if self.most is None:
            return f"{self.least:g} or more"
        return f"{'(' if self.open_least else '['}{self.least:g}, {self.most:g}]"

    def fault(self, value: object) -> str:
        """Return what is wrong with a value of the right type; nothing if it is allowed."""
        if self.least is not None and isinstance(value, int | float):
            above = value > self.least if self.open_least else value >= self.least
            if not (isfinite(value) and above and (self.most is None or value <= self.most)):
                return f"must be {'' if self.most is None else 'in '}{self.range}"
        if self.kind is Kind.CHOICE and value and value not in self.words:
            return f"is none of {self.range}"
        return ""


def _whole(path: str, about: str, row: str, least: int, most: int, *, unit: str = "") -> Tunable:
    return Tunable(path, Kind.WHOLE, about, row, least, most, unit=unit)


def _number(path: str, about: str, row: str, least: float, most: float | None) -> Tunable:
    return Tunable(path, Kind.NUMBER, about, row, least, most)


def _open(path: str, about: str, row: str, most: float, *, unit: str = "") -> Tunable:
    return Tunable(path, Kind.NUMBER, about, row, 0, most, open_least=True, unit=unit)


def _switch(path: str, about: str, row: str) -> Tunable:
    return Tunable(path, Kind.SWITCH, about, row, words=("true", "false"))


def _choice(path: str, about: str, row: str, words: tuple[str, ...]) -> Tunable:
    return Tunable(path, Kind.CHOICE, about, row, words=words)


_ARMS = tuple(ArmName)
_LEVELS = tuple(BoostLevel)

TUNABLES: tuple[Tunable, ...] = (
    Tunable("arms", Kind.ARMS, "the arms that are asked", "R1", words=_ARMS),
    _choice("graph_strategy", "how the graph arm expands; empty: the arm's own way", "R6", GRAPH_STRATEGIES),
    _whole("cap_per_arm", "hits of one arm that enter the fusion; 0: all", "R8", 0, 10_000, unit="hits"),
    _whole("rrf_k", "the k of RRF's 1/(k + rank)", "R9", 1, 10_000),
    Tunable("boosts", Kind.BOOSTS, "arms to favour, and how strongly", "R10", words=_LEVELS),
    *(
        _number(f"boost_divisors.{level}", f"what ranks are divided by at level {level}", "R10", 1, 1000)
        for level in BoostLevel
    ),
    _switch("reranking", "whether a cross-encoder reads the best candidates", "R1, R12"),
    _whole(
        "rerank_limit", "candidates that the cross-encoder reads; 0: none", "R11", 0, RERANK_LIMIT_MAX, unit="memories"
    ),
    _whole(
        "rerank_wave",
        "candidates read at a time, until it is sure; 0: two halves",
        "R11",
        0,
        RERANK_LIMIT_MAX,
        unit="memories",
    ),
    _whole(
        "rerank_stop_places",
        "first places that must be sure; 0: all of the pack",
        "R11",
        0,
        RERANK_LIMIT_MAX,
        unit="memories",
    ),
    _number("rerank_stop_margin", "raw score by which a later wave may yet be better", "R11", 0, 20),
    _switch("date_in_passage", "whether the cross-encoder reads a memory's date", "R12"),
    _number("fusion_weight", "what the fused rank counts beside the cross-encoder; 0: nothing", "R14", 0, 4),
    _number("context_weight", "what nearness by context counts beside the cross-encoder; 0: nothing", "R14", 0, 20),
    _open("unnamed_odds", "factor on the odds of what mentions none of the query's names", "R14", 1),
    _number("keyword_weight", "what the keyword score counts beside the cross-encoder; 0: nothing", "R14", 0, 20),
    _number("length_weight", "what a memory's length counts beside the cross-encoder; 0: nothing", "R14", 0, 4),
    _number("surroundings_weight", "what counts that its surroundings answer too; 0: nothing", "R14", 0, 4),
    _choice("recency_curve", "how recency falls with age", "R14", tuple(RecencyCurve)),
    _number("recency_alpha", "the weight of recency; 0: none", "R14", 0, 1),
    _open(
        "recency_half_life_days", "the age at which the exponential curve is at one half", "R14", 36_500, unit="days"
    ),
    _number("temporal_alpha", "the weight of nearness to the asked period; 0: none", "R14", 0, 1),
    _number("proof_alpha", "the weight of an observation's evidence; 0: none", "R14", 0, 1),
    _number("min_scores.semantic", "floor on the cosine; -1: none", "R4, R15", -1, 1),
    _number("min_scores.keyword", "floor on the BM25 score; 0: none", "R5, R15", 0, None),
    _number("min_scores.reranker", "floor on the reranker's score; 0: none", "R15", 0, 1),
    _number("min_scores.final", "floor on the final score; 0: none", "R15", 0, 1),
    _switch("prefer_observations", "whether an observation replaces its facts", "R16"),
    _choice("budget_mode", "a fixed number of hits, or a share of max_tokens", "R18", tuple(BudgetMode)),
    *(
        _whole(f"budget_hits.{budget}", f"hits at budget {budget}, if fixed", "R18", 1, HITS_MAX, unit="hits")
        for budget in Budget
    ),
    *(
        _open(f"budget_shares.{budget}", f"hits at budget {budget} for each of max_tokens, if adaptive", "R18", 1)
        for budget in Budget
    ),
    _whole("budget_min", "the fewest hits of an adaptive budget", "R18", 1, HITS_MAX, unit="hits"),
    _whole("budget_max", "the most hits of an adaptive budget; budget_min wins", "R18", 1, HITS_MAX, unit="hits"),
)
"""In the order of the work: arms, fusion, reranking, final score, floors, budgets."""


RETAIN_TUNABLES: tuple[Tunable, ...] = (
    _choice("mode", "how facts are made of text", "T3", tuple(ExtractionMode)),
    _whole("chunk_tokens", "the longest chunk", "T2", 16, 65_536, unit="tokens"),
    Tunable("agent_names", Kind.NAMES, "the names under which the bank's own agent speaks", "T4"),
    Tunable("mission", Kind.TEXT, "what the bank pays attention to; steers LLM extraction", "T3"),
    Tunable("instructions", Kind.TEXT, "the bank's own instructions, for mode custom", "T3"),
    Tunable("language", Kind.TEXT, "the language of what is told, by ISO 639-1", "T3"),
)
"""What a bank may set about retain; ``mode`` a call may, too."""

CONSOLIDATION_TUNABLES: tuple[Tunable, ...] = (
    _switch("enabled", "whether new facts are consolidated by themselves", "T11"),
    _choice("scope", "which facts may meet in one observation", "T11", tuple(ObservationScope)),
    Tunable("custom_scopes", Kind.SCOPES, "the tags of each scope, for scope custom", "T11"),
)
"""What a bank may set about consolidation."""

_ACTIONS = tuple(DefenseAction)

DEFENSE_TUNABLES: tuple[Tunable, ...] = (
    _choice("secret", "what is done about keys, passwords, tokens; unset: nothing", "T12", _ACTIONS),
    _choice("personal_data", "about mail, phone, card and account numbers, national ids, IPs", "T12", _ACTIONS),
    _choice("prompt_injection", "about text that instructs the model that reads it", "T12", _ACTIONS),
)
"""What a bank may keep out of its memory: redact it, or block what holds it."""

_KEYS: Mapping[str, type[StrEnum]] = {"boost_divisors": BoostLevel, "budget_hits": Budget, "budget_shares": Budget}


def value_at(tuning: object, path: str) -> object:
    """Return what a tuning says at a path; ``None`` where it says nothing."""
    name, _, entry = path.partition(".")
    value: object = getattr(tuning, name)
    if not entry or value is None:
        return value
    # The keys of the tables are StrEnums: their words find them.
    return value.get(entry) if isinstance(value, Mapping) else getattr(value, entry)


def with_value(tuning: RecallTuning, path: str, value: object) -> RecallTuning:
    """Return the tuning with a value, of the right type, at a path; ``None``: it says nothing there any more."""
    name, _, entry = path.partition(".")
    table: object = getattr(tuning, name)
    whole: object = value
    if name in _KEYS:
        entries = {**(table if isinstance(table, Mapping) else {}), _KEYS[name](entry): value}
        whole = {key: one for key, one in entries.items() if one is not None} or None
    elif entry:
        floors = tuning.min_scores or MinScores()
        floors = replace(floors, **{entry: cast("float | None", value)})
        whole = None if floors == MinScores() else floors
    said: dict[str, Any] = {name: whole}
    return replace(tuning, **said)


def tuning_violations(tuning: RecallTuning, where: str) -> list[FieldViolation]:
    """Return what is wrong with a tuning; ``where`` is its path in the request. Bank and request are checked alike."""
    found = _violations(TUNABLES, tuning, where)
    least, most = tuning.budget_min, tuning.budget_max
    if least is not None and most is not None and least > most:
        found.append(FieldViolation(f"{where}.budget_min", "must not be greater than budget_max"))
    return found


def retain_violations(tuning: RetainTuning, where: str) -> list[FieldViolation]:
    """Return what is wrong with how a bank takes in what it is told."""
    found = _violations(RETAIN_TUNABLES, tuning, where)
    for name in ("mission", "instructions"):
        found += name_violations(f"{where}.{name}", getattr(tuning, name), limits.MISSION_BYTES)
    found += name_violations(f"{where}.language", tuning.language, limits.LANGUAGE_BYTES)
    names = tuning.agent_names
    if len(names) > limits.AGENT_NAMES:
        return [*found, FieldViolation(f"{where}.agent_names", f"has {len(names)}; the limit is {limits.AGENT_NAMES}")]
    for place, name in enumerate(names):
        found += name_violations(f"{where}.agent_names[{place}]", name, limits.TAG_BYTES)
    return found


def consolidation_violations(tuning: ConsolidationTuning, where: str) -> list[FieldViolation]:
    """Return what is wrong with how a bank's facts are consolidated."""
    path, scopes = f"{where}.custom_scopes", tuning.custom_scopes
    found = [fault for place, tags in enumerate(scopes) for fault in tag_violations(f"{path}[{place}]", tags)]
    if len(scopes) > limits.SCOPES:
        found.append(FieldViolation(path, f"has {len(scopes)} scopes; the limit is {limits.SCOPES}"))
    return found


def _violations(tunables: Iterable[Tunable], tuning: object, where: str) -> list[FieldViolation]:
    return [FieldViolation(f"{where}.{path}", fault) for path, fault in _faults(tunables, tuning)]


def _faults(tunables: Iterable[Tunable], tuning: object) -> Iterator[tuple[str, str]]:
    for tunable in tunables:
        value = value_at(tuning, tunable.path)
        fault = "" if value is None else tunable.fault(value)
        if fault:
            yield tunable.path, fault
