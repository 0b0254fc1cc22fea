"""The numbers of the graph arm: how strongly a memory is tied to what was asked, and how rare an entity is."""

import math

WEIGHT_FLOOR = 0.7
"""The weight of a semantic link just over the threshold."""
THRESHOLD_SHARE = 1 / 3
"""How far from the highest cosine of unrelated texts to 1 a link begins: 0.873 for bge-small. Measured on six long
conversations, 0.87 and 0.905 rank evidence alike; the lower one links four times as many memories."""


def graph_score(shared: int, semantic: float = 0.0, causal: float = 0.0) -> float:
    """Add up what ties a memory to the seeds: shared entities, its best semantic and its best causal link."""
    return entity_score(shared) + semantic + causal


def entity_score(shared: float) -> float:
    """Saturate the number of shared entities: one says most, and five do not outweigh every link."""
    return math.tanh(0.5 * shared)


def link_threshold(cosine_high: float) -> float:
    """Return the cosine over which two texts are alike, given the 99th percentile of unrelated ones."""
    return cosine_high + THRESHOLD_SHARE * (1 - cosine_high)


def semantic_weight(cosine: float, threshold: float) -> float:
    """Map a cosine in [threshold, 1] linearly to [0.7, 1]."""
    share = 1.0 if threshold >= 1 else (cosine - threshold) / (1 - threshold)
    return WEIGHT_FLOOR + (1 - WEIGHT_FLOOR) * min(max(share, 0.0), 1.0)


def rarity(memories: int, bank_memories: int) -> float:
    """Tell how much naming an entity says: 1 when one memory mentions it, 0 when all do."""
    if bank_memories <= 1 or memories <= 1:
        return 1.0
    return max(0.0, 1 - math.log(memories) / math.log(bank_memories))


def is_hub(memories: int, bank_memories: int, *, share: float, recent: int) -> bool:
    """Tell whether so many memories mention an entity that sharing it says nothing."""
    return memories > max(recent, share * bank_memories)
