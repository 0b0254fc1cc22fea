"""What the keyword arm does where nothing is set: numbers alone, so that settings load none of its code."""

from dataclasses import dataclass

RESIDENT_MEMORIES = 250_000
"""Memories whose postings are kept in memory, over all banks: about 0.5 KB each, more in small banks."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The numbers of BM25F: the saturation ``k1``, the text's length norm ``b``, the weight of each field.

    The text weighs 1. The other fields have no length norm (their b is 0): a memory is not verbose for having many
    aliases or tags.
    """

    k1: float = 0.9
    b: float = 0.4
    function_words: float = 0.3
    names: float = 1.0
    labels: float = 1.0
    dates: float = 1.0


RANKING = Ranking()
"""The defaults: measured on short turns of conversation, docs/adr/0005."""
