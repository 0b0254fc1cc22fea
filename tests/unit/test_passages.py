"""How a long text is cut into passages for the reranker."""

from itertools import pairwise

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from recallmesh.reranker.passage import Pairing

CLS, SEP = 1, 2


@pytest.fixture(scope="module")
def tokenizer():
    words = {"[UNK]": 0, "[CLS]": CLS, "[SEP]": SEP, **{f"w{number}": 100 + number for number in range(1000)}}
    made = Tokenizer(WordLevel(words, unk_token="[UNK]"))  # noqa: S106 no password
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)],
    )
    return made


def words(start, stop):
    return " ".join(f"w{number}" for number in range(start, stop))


def numbers(pair):
    """The words of the passage, as numbers."""
    return [token - 100 for token, kind in zip(pair.ids, pair.type_ids, strict=True) if kind and token != SEP]


def test_a_text_that_fits_is_one_pair(tokenizer):
    (pair,) = Pairing(tokenizer, "w1 w2", window=64, passage=32).pairs(words(10, 42))
    assert pair.ids == [CLS, 101, 102, SEP, *range(110, 142), SEP]
    assert pair.type_ids == [0] * 4 + [1] * 33


def test_the_passages_cover_every_word_and_overlap_by_a_quarter(tokenizer):
    cut = [numbers(pair) for pair in Pairing(tokenizer, "w1", window=64, passage=32).pairs(words(0, 500))]
    assert {number for passage in cut for number in passage} == set(range(500))
    assert max(map(len, cut)) == 32
    for one, following in pairwise(cut):
        assert one[-8:] == following[:8]


def test_every_passage_has_the_whole_query_and_fits_the_window(tokenizer):
    pairs = Pairing(tokenizer, words(0, 20), window=40, passage=32).pairs(words(100, 300))
    assert all(pair.ids[1:21] == list(range(100, 120)) and len(pair.ids) <= 40 for pair in pairs)
    assert max(len(pair.ids) for pair in pairs) == 40


def test_a_long_query_keeps_its_two_ends(tokenizer):
    (pair,) = Pairing(tokenizer, words(0, 300), window=40, passage=32).pairs("w999")
    query = pair.ids[1 : pair.ids.index(SEP)]
    assert len(query) <= 20
    assert query[:8] == list(range(100, 108))
    assert query[-8:] == list(range(392, 400))


def test_an_empty_text_is_one_pair(tokenizer):
    assert [pair.ids for pair in Pairing(tokenizer, "w1", window=64, passage=32).pairs("")] == [[CLS, 101, SEP, SEP]]
