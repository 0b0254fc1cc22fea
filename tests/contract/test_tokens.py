"""The contract of a token counter."""

import importlib
import threading
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallmesh.tokens.bpe import BpeTokenCounter

ENCODINGS = ("o200k_base", "cl100k_base")
COUNTER = BpeTokenCounter()
TEXTS = (
    "",
    "Bea moved to Trondheim in May.",
    "<|endoftext|> marker",
    "日本語の𩸽テキスト 👩‍👩‍👧‍👦 e\u0301",
    "   \n\n\t x     y",
    "def f(x):\n        return x  # 10.7/x.y",
    "ab" * 4000,
)

anything = st.text(st.characters() | st.sampled_from(" \n\t'aest日é👩\ud800"), max_size=60)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_counts_are_those_of_the_encoding(encoding):
    with warnings.catch_warnings(action="ignore"):  # the package's own import is outdated; the counter avoids it
        reference = importlib.import_module("bpe_openai").get_encoding(encoding)
    counter = BpeTokenCounter(encoding)
    assert [counter.count(text) for text in TEXTS] == [len(reference.encode_ordinary(text)) for text in TEXTS]


def test_known_counts_of_both_encodings():
    assert BpeTokenCounter("o200k_base").count("こんにちは世界") == 2
    assert BpeTokenCounter("cl100k_base").count("こんにちは世界") == 4


def test_a_special_token_is_ordinary_text():
    """Case 21."""
    assert COUNTER.count("<|endoftext|>") == 7
    assert COUNTER.truncate("<|endoftext|> marker", 2) == "<|"


def test_a_lone_surrogate_counts_as_one_replacement_character():
    assert COUNTER.count("a\ud800b") == COUNTER.count("a\ufffdb")
    assert COUNTER.truncate("a\ud800b", 100) == "a\ud800b"


def test_a_text_within_the_limit_is_kept_whole():
    for text in TEXTS:
        assert COUNTER.truncate(text, COUNTER.count(text)) == text


def test_nothing_is_left_at_limits_of_zero_and_below():
    assert COUNTER.truncate("word", 0) == ""
    assert COUNTER.truncate("word", -1) == ""


def test_a_character_of_several_tokens_is_not_split():
    assert COUNTER.count("𩸽") > 1
    assert COUNTER.truncate("𩸽x", 1) == ""


def test_runs_of_the_longest_tokens_are_not_cut_early():
    text = " " * 5000 + "end"
    assert COUNTER.count(COUNTER.truncate(text, 20)) == 20


@given(anything, st.integers(0, 40))
def test_the_beginning_kept_fits_and_one_character_more_does_not(text, limit):
    kept = COUNTER.truncate(text, limit)
    assert text.startswith(kept)
    assert COUNTER.count(kept) <= limit
    assert kept == text or COUNTER.count(text[: len(kept) + 1]) > limit


def test_a_megabyte_is_counted():
    assert COUNTER.count("word " * 200_000) > 200_000
    assert COUNTER.count(COUNTER.truncate("word " * 200_000, 8192)) == 8192


def test_many_threads_may_come_first():
    counter = BpeTokenCounter("cl100k_base")
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(counter.count("to be or not"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [4] * 8
