"""The log of slow recalls: what took the time, and the account of it, without a word of what was asked or found."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from time import perf_counter
from typing import Any

import structlog

from recallmesh.core.errors import MeshError
from recallmesh.core.hop import Hop
from recallmesh.core.recall import ArmReport, PartReport, Phase, RecallRequest, Scores, Trace, TraceCandidate
from recallmesh.recall.call import Account, Call
from recallmesh.recall.fanout import Found

PAUSE_S = 5.0
"""Between two lines: when everything is slow, one account in so many seconds says why, and the next how many more."""
CANDIDATES = 100
"""The most candidates in a line, in fused order: more than are packed, and no more than a pipeline of logs takes."""
_log = structlog.get_logger("recallmesh.recall")


def nothing(_phases: tuple[Phase, ...]) -> None:
    """Take note of nothing."""


def nobody() -> None:
    """Tell nobody."""


@dataclass(slots=True)
class SlowLog:
    """Writes a line of a recall that took longer than ``over_s`` seconds (absent: of none), at most one each five.

    With ``texts`` it holds the question and the memories' texts too. ``on_phases`` is told where the time of every
    recall went, ``on_slow`` of each that was slow.
    """

    over_s: float | None = None
    texts: bool = False
    clock: Callable[[], float] = perf_counter
    on_phases: Callable[[tuple[Phase, ...]], None] = nothing
    on_slow: Callable[[], None] = nobody
    _next: float = 0.0
    _untold: int = 0

    @property
    def quotes(self) -> bool:
        """Whether the lines hold what arms say of their hits."""
        return self.over_s is not None and self.texts

    @contextmanager
    def watching(self, request: RecallRequest) -> Iterator[Account]:
        """Take the time of a recall; the account says when its work was done, if that is not at the end."""
        account = Account(over_s=self.over_s, clock=self.clock, since=self.clock())
        reason = "INTERNAL"
        try:
            yield account
            reason = ""
        except MeshError as error:
            reason = error.reason
            raise
        except asyncio.CancelledError:
            reason = "CANCELLED"
            raise
        except GeneratorExit:  # a listener that has heard enough
            reason = ""
            raise
        finally:
            if account.call is not None:
                self.on_phases(account.call.watch.phases())
            seconds = (account.done or self.clock()) - account.since
            if self.over_s is not None and seconds > self.over_s:
                self._tell(request, account, seconds, reason)

    def _tell(self, request: RecallRequest, account: Account, seconds: float, reason: str) -> None:
        self.on_slow()
        now = self.clock()
        if now < self._next:
            self._untold += 1
            return
        self._next, untold = now + PAUSE_S, self._untold
        self._untold = 0
        line: dict[str, Any] = {
            "seconds": round(seconds, 3),
            "over_s": self.over_s,
            "more_since": untold,
            "budget": request.budget.value,
            "max_tokens": request.max_tokens,
        }
        if reason:
            line["reason"] = reason
        if self.texts:
            line["query"] = request.query
        if account.call is not None:
            line |= _of_call(account.call)
        if account.found is not None:
            line |= _of_found(account.found)
        if account.trace is not None:
            line["trace"] = told(account.trace, texts=self.texts)
        _log.warning("slow recall", **line)


def told(trace: Trace, *, texts: bool) -> dict[str, Any]:
    """Return a trace as plain values; without ``texts`` nothing in it quotes a question or a memory."""
    window = trace.window
    written: dict[str, Any] = {
        "query_time": trace.query_time.isoformat(),
        "budget_hits": trace.budget_hits,
        "prefilter": {
            "kept": trace.prefilter.kept,
            "dropped": trace.prefilter.dropped,
            "cap": trace.prefilter.cap,
            "composition": {arm.value: number for arm, number in trace.prefilter.composition.items()},
            "stopped": trace.prefilter.stopped,
        },
        "candidates": [_candidate(one, texts=texts) for one in trace.candidates[:CANDIDATES]],
        "candidates_left_out": max(0, len(trace.candidates) - CANDIDATES),
    }
    if window is not None:
        said = {"start": window.window.start.isoformat(), "end": window.window.end.isoformat(), "rule": window.rule}
        written["window"] = said | ({"phrase": window.phrase} if texts else {})
    return written


def _of_call(call: Call) -> dict[str, Any]:
    return {
        "bank_uid": call.bank.uid,
        "hits": call.hits,
        "phases": [
            {"name": phase.name, "start_ms": _ms(phase.start), "ms": _ms(phase.duration)}
            for phase in call.watch.phases()
        ],
        "hops": [_hop(hop) for hop in call.watch.hops()],
    }


def _of_found(found: Found) -> dict[str, Any]:
    return {
        "arms": {report.arm.value: _report(report) | {"hits": report.hits} for report in found.arms},
        "embedder": _report(found.embedder),
    }


def _hop(hop: Hop) -> dict[str, Any]:
    said: dict[str, Any] = {"part": hop.part, "method": hop.method, "start_ms": _ms(hop.start), "ms": _ms(hop.duration)}
    if hop.there:
        known = {"sent": hop.sent, "received": hop.received, "wire_ms": None if hop.wire is None else _ms(hop.wire)}
        said |= {name: value for name, value in known.items() if value is not None}
    return said | ({"reason": hop.reason} if hop.reason else {})


def _report(report: ArmReport | PartReport) -> dict[str, Any]:
    said = {"state": report.state.value, "ms": _ms(report.latency)}
    return said | ({"detail": report.detail} if report.detail else {})


def _candidate(one: TraceCandidate, *, texts: bool) -> dict[str, Any]:
    said: dict[str, Any] = {
        "memory_id": one.memory_id,
        "outcome": one.outcome.value,
        "fused_rank": one.fused_rank,
        "final_rank": one.final_rank,
        "ranks": {arm.value: rank for arm, rank in one.ranks.items()},
        "arm_scores": {arm.value: round(score, 4) for arm, score in one.arm_scores.items()},
        "tokens": one.tokens,
        "reranked": one.reranked,
    }
    if one.scores is not None:
        said["scores"] = _scores(one.scores)
    if texts:
        said |= {"text": one.text, "because": {arm.value: phrase for arm, phrase in one.because.items()}}
    return said


def _scores(scores: Scores) -> dict[str, float]:
    """Return those that say something: a factor of 1 changes nothing."""
    named = {name: getattr(scores, name) for name in Scores.__dataclass_fields__}
    return {name: round(value, 5) for name, value in named.items() if value is not None and value != 1.0}


def _ms(time: timedelta) -> float:
    return round(time.total_seconds() * 1000, 1)
