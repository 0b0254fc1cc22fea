"""How good a ranking is against the known evidence; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

PACKS = (2048, 4096)


@dataclass(frozen=True, slots=True)
class Quality:
    """The figures of one ranking, each in [0, 1]."""

    recall_10: float
    recall_20: float
    recall_50: float
    hit_10: float
    mrr: float
    pack_2048: float
    pack_4096: float


COLUMNS = ("recall@10", "recall@20", "recall@50", "hit@10", "MRR", "pack 2048", "pack 4096")


def judge(ranking: Sequence[str], evidence: frozenset[str], tokens: Mapping[str, int]) -> Quality:
    """Judge one ranking of keys (best first): which share of the evidence is among its first, or in a token pack."""
    first = next((place for place, key in enumerate(ranking, start=1) if key in evidence), None)
    shares = {k: len(evidence.intersection(ranking[:k])) / len(evidence) for k in (10, 20, 50)}
    packs = [len(evidence.intersection(packed(ranking, tokens, limit))) / len(evidence) for limit in PACKS]
    return Quality(
        recall_10=shares[10],
        recall_20=shares[20],
        recall_50=shares[50],
        hit_10=float(first is not None and first <= 10),
        mrr=0.0 if first is None else 1 / first,
        pack_2048=packs[0],
        pack_4096=packs[1],
    )


def packed(ranking: Sequence[str], tokens: Mapping[str, int], limit: int) -> list[str]:
    """Return what fits into a token budget, skipping what does not."""
    kept, left = [], limit
    for key in ranking:
        if tokens[key] <= left:
            kept.append(key)
            left -= tokens[key]
    return kept


def average(judged: Iterable[Quality]) -> Quality:
    """Return the mean of each figure."""
    rows = list(judged)
    return Quality(*(mean(getattr(row, name) for row in rows) for name in Quality.__slots__))


def figures(quality: Quality) -> tuple[float, ...]:
    """Return the figures in the order of ``COLUMNS``."""
    return tuple(getattr(quality, name) for name in Quality.__slots__)
