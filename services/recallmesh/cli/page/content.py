"""What the page shows of an answer and its trace, as JSON's own types."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from recallmesh.cli.answer import when
from recallmesh.cli.columns import ABOUT, BY, FACTORS, OUTCOMES, SIGNS, became, order
from recallmesh.cli.hops import size, where
from recallmesh.cli.screen import one_line, printable
from recallmesh.core.arm import ArmName
from recallmesh.core.hop import Hop
from recallmesh.core.recall import (
    Fusion,
    RecallAnswer,
    RecalledMemory,
    RecallRequest,
    Scores,
    Trace,
    TraceCandidate,
)
from recallmesh.core.tuning import RecallTuning

DIGITS = 6
"""Significant digits of a number: as many as tell any two scores apart that differ."""
LANES = {ArmName.GRAPH: "by names, links"}
"""What stands above a lane, where the arm's own words are too long for one."""
IDS = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
QUOTED = 60
"""As much of a memory as tells which one an arm's phrase means."""
Plain = dict[str, Any]


def content(request: RecallRequest, answer: RecallAnswer, trace: Trace) -> Plain:
    """Return all that the page shows: what was asked, who answered, the phases, the fusion and every candidate."""
    rows = sorted(trace.candidates, key=order)
    arms = [arm for arm in ArmName if any(arm in row.ranks for row in rows)]
    return {
        "question": printable(request.query),
        "facts": [[name, printable(said)] for name, said in _facts(request, answer, trace)],
        "parts": list(_parts(answer)),
        "phases": [
            {"name": printable(one.name), "start": _ms(one.start), "ms": _ms(one.duration)} for one in trace.phases
        ],
        "hops": list(map(_hop, trace.hops)),
        "arms": [{"name": arm.value, "sign": SIGNS[arm], "by": LANES.get(arm, BY[arm])} for arm in arms],
        "about": ABOUT,
        "outcomes": {str(word): why for word, why in OUTCOMES.items()},
        "fusion": _fusion(request, trace),
        "tuning": [[name, printable(value)] for name, value in _tuning(trace.tuning)],
        "candidates": _candidates(rows, answer),
    }


def _facts(request: RecallRequest, answer: RecallAnswer, trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield what stands above everything: bank, time, period, and how much came."""
    yield "bank", request.bank.bank_id
    yield "asked", f"{_minute(trace.query_time)} {trace.query_time:%Z}"
    if trace.window is None:
        yield "period", "none: the question names no time, so the temporal arm was not asked"
    else:
        window = trace.window.window
        read = f"read from “{trace.window.phrase}” " if trace.window.phrase else ""
        yield "period", f"{_minute(window.start)} to {_minute(window.end)}, {read}by the rule {trace.window.rule}"
    yield "budget", f"{request.budget.value}: {trace.budget_hits} hits an arm at most"
    limit = f", at most {request.limit} memories" if request.limit else ""
    count = len(answer.memories)
    came = f"{count} {'memory' if count == 1 else 'memories'}"
    yield (
        "answer",
        f"{came}, {answer.tokens} of {request.max_tokens} tokens{limit}; {answer.omitted} more were considered",
    )


def _parts(answer: RecallAnswer) -> Iterator[Plain]:
    for arm in answer.arms:
        yield {
            "kind": "arm",
            "name": arm.arm.value,
            "state": arm.state.value,
            "count": f"{arm.hits} {'hit' if arm.hits == 1 else 'hits'}",
            "ms": _ms(arm.latency),
            "detail": printable(arm.detail),
        }
    for model in answer.models:
        yield {
            "kind": "model",
            "name": printable(model.part),
            "state": model.state.value,
            "count": f"{model.items} {'text' if model.items == 1 else 'texts'}",
            "ms": _ms(model.latency),
            "detail": printable(model.detail),
        }


def _hop(hop: Hop) -> Plain:
    return {
        "name": printable(f"{hop.part} {hop.method}"),
        "start": _ms(hop.start),
        "ms": _ms(hop.duration),
        "inside": None if hop.inside is None else _ms(hop.inside),
        "where": where(hop),
        "sent": "? B" if hop.sent is None else size(hop.sent),
        "received": "? B" if hop.received is None else size(hop.received),
        "failure": printable(hop.reason),
    }


def _fusion(request: RecallRequest, trace: Trace) -> Plain:
    kept = trace.prefilter
    return {
        "by": "each list's in turn" if request.fusion is Fusion.INTERLEAVE else "RRF of these",
        "kept": kept.kept,
        "dropped": kept.dropped,
        "cap": kept.cap,
        "stopped": printable(kept.stopped),
        "boosts": {arm.value: level.value for arm, level in kept.boosts.items()},
        "composition": {arm.value: count for arm, count in kept.composition.items()},
    }


def _tuning(tuning: RecallTuning) -> Iterator[tuple[str, str]]:
    """Yield what was in force, field by field."""
    for field in fields(tuning):
        value = getattr(tuning, field.name)
        if value is not None:
            yield field.name, _said(value)


def _said(value: object) -> str:
    """Write a value of a tuning in words: a field, a table or a set of them."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, Mapping):
        told = (f"{_said(key)} {_said(each)}" for key, each in value.items() if each is not None)
        return ", ".join(told) or "none"
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(_said, value))) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return str(value.value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _candidates(rows: list[TraceCandidate], answer: RecallAnswer) -> list[Plain]:
    packed = {recalled.memory.id: recalled for recalled in answer.memories}
    read = sorted((row for row in rows if row.reranked and row.scores), key=_as_read)
    places = {row.memory_id: place for place, row in enumerate(read, start=1)}
    texts = {row.memory_id: row.text for row in rows if row.text}
    return [
        _candidate(row, packed.get(row.memory_id), places.get(row.memory_id))
        | {"because": {arm.value: _quoting(phrase, texts) for arm, phrase in row.because.items()}}
        for row in rows
    ]


def _quoting(phrase: str, texts: Mapping[str, str]) -> str:
    """Name the memories of an arm's phrase by what they say; a person knows none by its id."""

    def quoted(found: re.Match[str]) -> str:
        text = one_line(texts.get(found[0], ""))
        return f"“{text if len(text) <= QUOTED else text[: QUOTED - 1].rstrip() + '…'}”" if text else found[0]

    return printable(IDS.sub(quoted, phrase))


def _as_read(row: TraceCandidate) -> tuple[float, int]:
    """Sort as the cross-encoder alone would; equal ones as the fusion has them."""
    scores = row.scores
    if scores is None:
        return 0.0, row.fused_rank
    return -(scores.relevance if scores.reranker_raw is None else scores.reranker_raw), row.fused_rank


def _candidate(row: TraceCandidate, recalled: RecalledMemory | None, read: int | None) -> Plain:
    return {
        "id": printable(row.memory_id),
        "text": printable(recalled.memory.text if recalled else row.text),
        "when": when(recalled.memory) if recalled else "",
        "tags": sorted(printable(tag) for tag in recalled.memory.tags) if recalled else [],
        "became": became(row),
        "detail": printable(row.detail),
        "final_rank": row.final_rank or None,
        "fused_rank": row.fused_rank,
        "read_rank": read,
        "ranks": {arm.value: rank for arm, rank in row.ranks.items()},
        "own": {arm.value: _number(score) for arm, score in row.arm_scores.items()},
        "tokens": row.tokens or None,
        "scores": _scores(row.scores, ranked=bool(row.final_rank)),
        "reranked": row.reranked,
    }


def _scores(scores: Scores | None, *, ranked: bool) -> Plain:
    """Return what was computed; a memory that was dropped before it was scored has its RRF alone."""
    if scores is None:
        return {}
    if not ranked:
        return {"RRF": _number(scores.rrf)}
    return {
        "RRF": _number(scores.rrf),
        "raw": None if scores.reranker_raw is None else _number(scores.reranker_raw),
        "reads": _number(scores.relevance),
        **{name: _number(getattr(scores, field)) for name, field in FACTORS.items()},
        "final": _number(scores.final),
    }


def _number(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def _ms(length: timedelta) -> float:
    return round(length.total_seconds() * 1000, 1)


def _minute(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y %H:%M}"
