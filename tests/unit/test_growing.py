"""The documents of a bank that grows: of their numbers alone, and spread over the same time however many they are."""

import random

from bench import corpus
from bench.growing import Growing, coined, drawn, time_of

VOCABULARY = corpus.Vocabulary(tuple(f"word{n}" for n in range(12_001)), tuple(float(n + 1) for n in range(12_001)))


def test_a_document_is_the_same_whatever_was_made_before() -> None:
    first, other = Growing(VOCABULARY), Growing(VOCABULARY)
    list(first.items(0, 200))
    assert first.document(7_000) == other.document(7_000)
    assert Growing(VOCABULARY, seed=1).document(7) != first.document(7)


def test_every_prefix_fills_the_two_years_evenly() -> None:
    for count in (50, 500, 5_000):
        shares = [(time_of(n) - corpus.BEGIN) / corpus.YEARS for n in range(count)]
        for quarter in range(4):
            held = sum(quarter / 4 <= share < (quarter + 1) / 4 for share in shares)
            assert abs(held - count / 4) <= 0.05 * count


def test_what_is_met_first_is_met_most_and_more_is_met_in_a_larger_bank() -> None:
    chance = random.Random(1)
    small = [drawn(chance, 100, (24.0, 0.6)) for _ in range(5_000)]
    large = [drawn(chance, 50_000, (24.0, 0.6)) for _ in range(5_000)]
    assert small.count(0) > 4 * small.count(9) > 0
    assert len(set(large)) > 2 * len(set(small))


def test_coined_words_differ() -> None:
    assert len({coined(rank) for rank in range(20_000)}) == 20_000
