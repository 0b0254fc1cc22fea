"""What may be set, told: the help of ``bank set`` and docs/tuning.md, both made from the code."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from recallmesh.cli.keys import BANK_KEYS, CONSOLIDATION, DEFENSE, NAME, RETAIN, allowed, written
from recallmesh.core.bank import ConsolidationTuning, RetainTuning
from recallmesh.core.tunable import (
    CONSOLIDATION_TUNABLES,
    DEFENSE_TUNABLES,
    RETAIN_TUNABLES,
    TUNABLES,
    Tunable,
    value_at,
)
from recallmesh.recall.plan import RecallDefaults

WIDTH = 78
"""Columns of the help: a terminal of 80 shows it as it is."""
INDENT = " " * 6
HEAD = """\
examples:
  recallmesh bank set diary rerank_limit=100 min_scores.final=0.2
  recallmesh bank set diary arms=semantic,keyword retain.mode=verbatim
  recallmesh bank set diary rerank_limit=     as the service has it, again
  recallmesh bank show diary --effective      what is in force, and by whom

keys, each with its default (the service may have others) and what it may be:
"""
PAGE = """\
# Tuning: what can be set, and where

How a recall ranks is decided anew for each call: what the request says wins over what its bank says, and that over the
service. Each value is looked up by itself; what is not said at one level is left to the next. Not to say anything is
not the same as to say none: `arms=none` asks no arm, an arm list that is absent is the bank's. Where that makes a
difference, the least value says none: `min_scores.semantic` -1, the other floors 0, `cap_per_arm` 0, an alpha of 0.

| level | how |
| --- | --- |
| service | `RECALLMESH_RECALL__…` ([settings.md](settings.md)): `RECALLMESH_RECALL__RERANK_LIMIT=50` |
| bank | `recallmesh bank set BANK key=value …`; `config.recall` of `CreateBank` and `UpdateBank`; `BankConfig.recall` |
| request | `recallmesh recall --set key=value`; `tuning` of `Recall`; `RecallRequest.tuning` |

A value out of its range is refused where it is said, with its whole name: `config.recall.rerank_limit` of a bank,
`tuning.rerank_limit` of a request, the variable of a service. `recallmesh bank show BANK --effective` shows what is in
force and which level said so, as `ResolveTuning` of `RecallService` does for a program.
"""
RECALL = """\
## Recall: service, bank and request

All of these may be set at all three levels. SPEC's rows say more of each; its switches `enable_temporal`,
`enable_text_search` and `enable_graph` are `arms`, and `enable_reranking` is `reranking`. What is switched off is not
called at all.
"""
RETAINED = """\
## Retain: bank

`mode` may also be said by a call of retain. The service has no values of its own: the default is what a new bank has.
"""
DEFENDED = """\
## Memory defense: bank

Off unless a bank sets it. What is redacted is replaced by a mark such as `[redacted: email]` before anything is kept,
embedded or sent; what is blocked is refused ([ADR 23](adr/0023-memory-defense.md)).
"""
SERVICE = """\
## Service alone, and why

- `recall.query_tokens` (R24): it protects the service, and a query is refused before any bank is read.
- `recall.slow_s` and `slow_texts`: they say what the service logs, and change no answer.
- `recall.timeout_s` and the three shares of it (M3): a call's deadline is its caller's; how it is divided is a matter
  of machines, not of memories.
- `recall.head_start_s`: so is which arm's question is at the vectors first.
- `keyword.k1`, `b` and the weights of words (R5): the keyword arm's index is prepared for one setting of them.
  `language` shapes the index itself: a change analyses it anew.
- the reach of the graph arm (R6): its bounds protect the arm; `graph.strategy` is what it does where nobody says
  `graph_strategy`. The links' thresholds (T7) shape the index.
- `temporal.buckets` and `link_hours` (R7): the arm's own way to spread over a period.
- how models are run (R12): equal texts get equal scores, whoever asks ([ADR 9](adr/0009-deterministic-encoders.md)).
- the tokenizer (R17): a memory's tokens are counted once, when it is retained.

What belongs to the question is of the request alone: `max_tokens`, `limit`, `budget`, `query_time`, `window`, tags,
fact types, `max_chunk_tokens`, `max_source_tokens`, entities, the fusion (R23) and the trace.
"""


def keys_help() -> str:
    """Return the help of ``bank set``: every key with its default, what it may be and what it means."""
    return HEAD + "\n".join(_entry(key, one) for key, one in BANK_KEYS.items())


def tuning_page(made: str) -> str:
    """Return the page of what can be set, below a line that says how it was made."""
    recall = [(f"`{one.path}`", one.about, one.unit, allowed(one), _default(one.path), one.row) for one in TUNABLES]
    retain = [
        (f"`{RETAIN}{one.path}`", one.about, one.unit, allowed(one), _default(RETAIN + one.path), one.row)
        for one in RETAIN_TUNABLES
    ]
    consolidation = [
        (f"`{CONSOLIDATION}{one.path}`", one.about, one.unit, allowed(one), _default(CONSOLIDATION + one.path), one.row)
        for one in CONSOLIDATION_TUNABLES
    ]
    defense = [
        (f"`{DEFENSE}{one.path}`", one.about, one.unit, allowed(one), _default(DEFENSE + one.path), one.row)
        for one in DEFENSE_TUNABLES
    ]
    heading = ("key", "meaning", "unit", "range", "default", "SPEC")
    retained, defended = (RETAINED, table((heading, *retain, *consolidation))), (DEFENDED, table((heading, *defense)))
    parts = (made, PAGE, RECALL, table((heading, *recall)), *retained, *defended, SERVICE)
    return "\n".join(parts)


def table(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as a table in Markdown; the first is the heading."""
    return "".join(f"| {line} |\n" for line in _lines(rows))


def _lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    head, *rest = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows)
    yield head
    yield " | ".join("---" for _ in head.split(" | "))
    yield from rest


def _entry(key: str, one: Tunable) -> str:
    first = textwrap.fill(f"  {key}={_said(key)}  {allowed(one)}", WIDTH, subsequent_indent=INDENT)
    return f"{first}\n{INDENT}{one.about}"


def _said(key: str) -> str:
    """Write a key's default."""
    if key == NAME or key.startswith(DEFENSE):
        return ""
    if key.startswith(RETAIN):
        return written(value_at(RetainTuning(), key.removeprefix(RETAIN)))
    if key.startswith(CONSOLIDATION):
        value = value_at(ConsolidationTuning(), key.removeprefix(CONSOLIDATION))
        return written(value) if value else ""
    value = value_at(RecallDefaults(), key)
    return "" if value is None else written(value)


def _default(key: str) -> str:
    said = _said(key)
    return f"`{said}`" if said else ""
