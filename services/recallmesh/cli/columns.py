"""What each column of a trace means, and each outcome: one set of words for the terminal and the page."""

from recallmesh.core.arm import ArmName
from recallmesh.core.recall import Outcome, TraceCandidate

FACTORS = {
    "says": "reading",
    "place": "fusion_prior",
    "context": "context_prior",
    "names": "naming_prior",
    "words": "keyword_prior",
    "length": "length_prior",
    "around": "surroundings",
    "recent": "recency_boost",
    "time": "temporal_boost",
    "proof": "proof_boost",
    "favour": "strategy_boost",
}
"""The columns of the factors, and the fields of ``Scores`` that they show."""
FORMULA = f"o / (1 + o), o = {' · '.join(FACTORS)}"
"""How ``final`` is made of the columns (docs/adr/0016-what-a-reading-says.md)."""
SIGNS = {ArmName.SEMANTIC: "sem", ArmName.KEYWORD: "key", ArmName.GRAPH: "gra", ArmName.TEMPORAL: "tem"}
BY = {
    ArmName.SEMANTIC: "by meaning",
    ArmName.KEYWORD: "by words",
    ArmName.GRAPH: "by names and links",
    ArmName.TEMPORAL: "by time",
}
ABOUT = {
    "#": "the place in the answer's order; empty: dropped before it was scored",
    **{sign: f"the rank that the {arm} arm gave it ({BY[arm]}); empty: not found by it" for arm, sign in SIGNS.items()},
    "fus": "the rank in the fused list: by RRF, and by the boosts of arms where there are any",
    "RRF": "the sum of 1/(k + rank), k 60 by default, over the arms that found it",
    "raw": "what the cross-encoder said, as it said it; empty: not read",
    "reads": "how well the cross-encoder, reading question and memory together, thinks it answers, 0 to 1;"
    " (1.000) in brackets: not read, so final keeps the order of all its other factors",
    "says": "reads as a factor: (1 + e · √(reads / (1 - reads))) / (1 + e), 1 for one half, never below 0.27",
    "place": "1 for the first of the fused lists, less for each behind it",
    "context": "over 1: with what was said before it, it is nearer to the question than its own words say",
    "names": "0.25 by default: the question names somebody whom it does not mention; else 1",
    "words": "2 by default for what shares most of the question's words, 1 for what shares none",
    "length": "1 for what is as long as is usual here, 2 by default for four times that and more",
    "around": "over 1: what was read around it in its document answers too",
    "recent": "1.1 for what is new, 0.92 after a year, 1 without a time",
    "time": "1.1 in the middle of the asked period, 0.9 at its ends and outside; 1 where none was asked for;"
    " 0.001 outside it where the question is about the period alone",
    "proof": "how well an observation is proven; 1 for all else",
    "favour": "the lift of what a favoured arm found; else 1",
    "final": f"{FORMULA}; it orders, and is no confidence",
    "tok": "its length in tokens",
    "became": "packed: it came; budget: no room left; limit: enough came before it; else why it was dropped",
}
LIMIT = "limit"
"""The detail of a memory that ``limit`` left out, though there was room."""
OUTCOMES = {
    Outcome.PACKED: "it came",
    Outcome.BUDGET: "no room was left in the tokens asked for",
    LIMIT: "as many memories as asked for came before it",
    Outcome.CAP: "too far down the fused list to be looked at",
    Outcome.FLOOR: "below a least score that was asked for",
    Outcome.SUPERSEDED: "an observation that came says it already",
    Outcome.TAG: "the tags asked for do not let it in",
    Outcome.INVALIDATED: "it was invalidated: it holds no longer",
    Outcome.MISSING: "an index proposed it, but the ledger does not have it: deleted, or not there yet",
}


def became(row: TraceCandidate) -> str:
    """Return the one word for what became of a candidate: a key of ``OUTCOMES``."""
    return LIMIT if row.outcome is Outcome.BUDGET and row.detail == LIMIT else row.outcome.value


def order(row: TraceCandidate) -> tuple[bool, int, int]:
    """Sort candidates as the answer has them, then those that were dropped before, in fused order."""
    return (not row.final_rank, row.final_rank, row.fused_rank)
