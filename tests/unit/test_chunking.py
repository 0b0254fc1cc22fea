import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.retain_fakes import WordCounter

from recallmesh.retain.chunking import cut
from recallmesh.retain.entity import find_names
from recallmesh.retain.sentence import split_sentences
from recallmesh.retain.speaker import split_turns
from recallmesh.retain.statement import find_statements
from recallmesh.tokens.bpe import BpeTokenCounter

WORDS = WordCounter()


class Letters:
    def count(self, text):
        return len(text)

    def truncate(self, text, limit):
        return text[:limit]


def texts(text, limit, counter=WORDS):
    return [piece.text for piece in cut(text, limit, counter)]


def test_a_short_text_is_one_chunk_word_for_word():
    assert texts("Ida keeps bees.\n\nRune keeps  sheep.", 100) == ["Ida keeps bees.\n\nRune keeps  sheep."]


def test_paragraphs_stay_whole_where_they_fit():
    text = "One two three. Four five.\n\nSix seven eight nine."
    assert texts(text, 6) == ["One two three. Four five.", "Six seven eight nine."]


def test_a_paragraph_beyond_the_limit_is_cut_between_sentences():
    assert texts("One two three. Four five six. Seven.", 4) == ["One two three.", "Four five six.", "Seven."]


def test_speaker_turns_stay_whole_where_they_fit():
    text = "Ida: One two. Three.\nRune: Four five six.\nIda: Seven."
    assert texts(text, 9) == ["Ida: One two. Three.\nRune: Four five six.", "Ida: Seven."]
    assert texts(text, 5) == ["Ida: One two. Three.", "Rune: Four five six.", "Ida: Seven."]


def test_a_heading_is_no_speaker():
    assert texts("Note: one two\nfollows here.\n\nAnother paragraph now.", 5) == [
        "Note: one two\nfollows here.",
        "Another paragraph now.",
    ]


def test_a_sentence_beyond_the_limit_is_cut_between_words_and_a_word_between_letters():
    assert texts("one two three four five", 2) == ["one two", "three four", "five"]
    pieces = texts("x" * 60, 10)
    assert "".join(pieces) == "x" * 60
    assert max(map(WORDS.count, pieces)) <= 10


def test_a_text_without_an_end_is_cut_in_linear_work():
    counted = []

    class Counting(WordCounter):
        def count(self, text):
            counted.append(len(text))
            return super().count(text)

    texts("x" * 40_000 + " kvassberg", 512, Counting())
    # Each piece may be looked at a few dozen times, the whole text only once or twice.
    assert sum(length > 20_000 for length in counted) <= 3


@pytest.mark.parametrize("unit", ["!", ".)", " [", "\n ", "A: ", "a.", "。", "\u2060"])
def test_spam_is_cut_and_read_in_linear_time(unit):
    # Quadratic work would run into the time limit of the test.
    text = "x" + unit * (400_000 // len(unit)) + "x"
    pieces = texts(text, 20_000, Letters())
    assert "".join("".join(pieces).split()) == "".join(text.split())
    for piece in pieces:
        find_statements(piece, split_turns(piece), frozenset({"ida"}), keep_all=False)
        find_names(piece)


def test_sentences_end_where_a_reader_ends_them():
    text = 'Dr. Chen met J. Smith at 9.30 a.m. in Rome. "Well?" she said. 今日は寒い。明日は？ Ok… yes\nNext'
    assert [text[one.begin : one.end] for one in split_sentences(text)] == [
        "Dr. Chen met J. Smith at 9.30 a.m. in Rome.",
        '"Well?"',
        "she said.",
        "今日は寒い。",
        "明日は？",
        "Ok…",
        "yes",
        "Next",
    ]


@given(st.text(alphabet="ab .\n:A!?。", max_size=200), st.integers(1, 20))
def test_nothing_but_space_is_lost_and_no_chunk_is_too_long(text, limit):
    pieces = cut(text, limit, WORDS)
    assert "".join("".join(piece.text for piece in pieces).split()) == "".join(text.split())
    assert all(0 < piece.tokens <= limit and piece.tokens == WORDS.count(piece.text) for piece in pieces)


def test_the_limit_holds_for_a_real_vocabulary():
    counter = BpeTokenCounter()
    sentence = "Ida Kvass, 42, said: «the Überlandstraße is closed» 🚧; 東京駅で会う。"
    text = "".join(sentence + gap for _, gap in zip(range(200), itertools.cycle([" ", "\n", "\n\n", " " * 40])))
    pieces = cut(text, 64, counter)
    assert "".join("".join(piece.text for piece in pieces).split()) == "".join(text.split())
    assert all(piece.tokens == counter.count(piece.text) <= 64 for piece in pieces)
