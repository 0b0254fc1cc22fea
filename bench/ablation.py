"""Where each point comes from: the whole pipeline with one thing off, or set otherwise, on the same questions."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from bench.measure import Quality
from bench.table import print_figures
from recallmesh.core.arm import ArmName
from recallmesh.core.tuning import RecallTuning, RecencyCurve

WHOLE = "whole"
BARE = RecallTuning(
    fusion_weight=0.0,
    context_weight=0.0,
    unnamed_odds=1.0,
    keyword_weight=0.0,
    length_weight=0.0,
    surroundings_weight=0.0,
    recency_curve=RecencyCurve.NONE,
    temporal_alpha=0.0,
)
"""What the cross-encoder says of the first in fused order, and nothing else."""
ABLATION: Mapping[str, RecallTuning] = {
    **{f"no {arm} arm": RecallTuning(arms=frozenset(ArmName) - {arm}) for arm in ArmName},
    "no reranker": RecallTuning(reranking=False),
    "no fusion prior": RecallTuning(fusion_weight=0.0),
    "no context prior": RecallTuning(context_weight=0.0),
    "no naming prior": RecallTuning(unnamed_odds=1.0),
    "no keyword prior": RecallTuning(keyword_weight=0.0),
    "no length prior": RecallTuning(length_weight=0.0),
    "no surroundings": RecallTuning(surroundings_weight=0.0),
    "no recency": RecallTuning(recency_curve=RecencyCurve.NONE),
    "no nearness to the period": RecallTuning(temporal_alpha=0.0),
    "the reading alone": BARE,
}
WAVES: Mapping[str, RecallTuning] = {
    **{f"{limit} at most": RecallTuning(rerank_limit=limit) for limit in (20, 30, 70, 100, 150, 300)},
    **{
        f"waves of {wave}, {places} places, margin {margin:g}": RecallTuning(
            rerank_wave=wave, rerank_stop_places=places, rerank_stop_margin=margin
        )
        for wave, places, margin in ((16, 10, 0.0), (16, 10, 1.0), (16, 10, 2.0), (16, 20, 0.0), (32, 10, 0.0))
    },
    "waves of 16, never sure": RecallTuning(rerank_wave=16, rerank_stop_places=1000, rerank_stop_margin=20.0),
}
COMPARED = ("recall_10", "recall_20", "mrr", "pack_4096")
SAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Trial:
    """One question under one setting: how good the ranking was, and how many candidates were read for it."""

    quality: Quality
    read: int


def compared(trials: Mapping[str, Sequence[Trial]]) -> dict[str, dict[str, float | list[float]]]:
    """Return the means of every setting, and its differences from the whole with their 95 % bootstrap intervals."""
    chance = random.Random(0)
    whole = trials[WHOLE]
    draws = [[chance.randrange(len(whole)) for _ in whole] for _ in range(SAMPLES)]
    table: dict[str, dict[str, float | list[float]]] = {}
    for name, rows in trials.items():
        found: dict[str, float | list[float]] = {"read": round(mean(row.read for row in rows), 1)}
        for figure in COMPARED:
            values = [getattr(row.quality, figure) for row in rows]
            found[figure] = round(mean(values), 4)
            if name != WHOLE:
                pairs = zip(values, whole, strict=True)
                differences = [value - getattr(usual.quality, figure) for value, usual in pairs]
                found[f"{figure}_difference"] = round(mean(differences), 4)
                found[f"{figure}_interval"] = interval(differences, draws)
        table[name] = found
    return table


def interval(differences: Sequence[float], draws: Sequence[Sequence[int]]) -> list[float]:
    """Return the middle 95 % of the means of what was drawn."""
    if not any(differences):
        return [0.0, 0.0]
    means = sorted(sum(map(differences.__getitem__, drawn)) / len(drawn) for drawn in draws)
    return [round(means[int(share * (len(means) - 1))], 4) for share in (0.025, 0.975)]


def print_compared(table: Mapping[str, Mapping[str, float | list[float]]]) -> None:
    """Print the means, and the differences in points."""
    rows = []
    for name, found in table.items():
        cells = [f"{found['read']:.0f}", *(f"{found[figure]:.3f}" for figure in COMPARED)]
        for figure in COMPARED:
            difference, ends = found.get(f"{figure}_difference"), found.get(f"{figure}_interval")
            if isinstance(difference, float) and isinstance(ends, list):
                cells.append(f"{100 * difference:+.1f} [{100 * ends[0]:+.1f}, {100 * ends[1]:+.1f}]")
            else:
                cells.append("")
        rows.append((name, *cells))
    names = ("recall@10", "recall@20", "MRR", "pack 4096")
    print_figures(("setting", "read", *names, *(f"difference {name}" for name in names)), rows)
