"""What holds of the facts of any text."""

import asyncio
import re
from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.retain.extraction import Passage
from recallmesh.retain.local import LocalExtractor
from recallmesh.when import GrammarTimeReader

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
MODES = st.sampled_from([ExtractionMode.CONCISE, ExtractionMode.VERBOSE])
CONTEXT = st.sampled_from(["", "Caroline is speaking to Melanie", "a diary", "user is speaking to assistant"])
SENTENCES = st.sampled_from(
    [
        "I met Ida yesterday.",
        "Thanks!",
        "Why?",
        "Because of the flood in the basement.",
        "You paint so well, Mel.",
        "Therefore we closed the shop on 5 May.",
        "It was great.",
        "The new oven of the bakery in Bergen costs about 310,000 kroner, and my brother pays half of it.",
        "Det regnet hele natten, og båten lå stille ved kaien.",
        "Vi gick till stranden i går.",
        "Wczoraj poszliśmy do parku z moim bratem.",
        "Dün akşam annemle sinemaya gittik.",
        "Вчера мы ездили в Тулу к бабушке.",
        "Χθες πήγαμε στη θάλασσα με τα παιδιά.",
        "今日は会議室でしりとりをした。",
        "我们昨天去了动物园。",
        "오늘 끝말잇기를 했다.",
        "ذهبنا أمس إلى السوق.",
        "👩‍🚀🎉",
        "[shares image: a photo of a dog]",
        "C++ is 10.7/x.y, ok?",
    ]
)
TURNS = st.lists(
    st.tuples(st.sampled_from(["", "Caroline: ", "Melanie: "]), st.lists(SENTENCES, min_size=1, max_size=5))
)


class NoTimes:
    def read(self, _text, _now):
        return None

    def read_all(self, _text, _now):
        return ()


def extract(text, context="", mode=ExtractionMode.CONCISE, times=None):
    extractor = LocalExtractor(times or GrammarTimeReader())
    passage = Passage(text, context, NOW)
    (facts,) = asyncio.run(extractor.extract((passage,), mode, RetainTuning()))
    return facts


def joined(turns):
    return "\n".join(speaker + " ".join(said) for speaker, said in turns)


@settings(max_examples=60)
@given(text=st.text(max_size=300), context=CONTEXT, mode=MODES)
def test_no_fact_is_blank_and_no_text_is_too_odd(text, context, mode):
    for fact in extract(text, context, mode):
        assert fact.text.strip()
        assert all(name.name.strip() for name in fact.names)


@settings(max_examples=60)
@given(turns=TURNS, context=CONTEXT, mode=MODES)
def test_every_word_of_a_fact_is_the_passages_but_for_speakers_and_dates(turns, context, mode):
    text = joined(turns)
    # Written in are "(18 August 2026)", a year behind its day, and "Caroline to Melanie:".
    held = set(re.findall(r"\w+", f"{text} {context} to Caroline Melanie 2026"))
    for fact in extract(text, context, mode):
        said = re.sub(r" \((?:around )?\d[^)]*2026\)", "", fact.text)
        assert set(re.findall(r"\w+", said)) <= held


@settings(max_examples=60)
@given(turns=TURNS, context=CONTEXT)
def test_a_fact_is_made_of_whole_sentences_in_any_language(turns, context):
    sentences = {one for _, said in turns for one in said}
    for fact in extract(joined(turns), context, times=NoTimes()):
        rest = re.sub(r"(?m)^(?:Caroline|Melanie|user|assistant)(?: to (?:Caroline|Melanie))?: ", "", fact.text)
        for sentence in sorted(sentences, key=len, reverse=True):
            rest = rest.replace(sentence, "")
        assert not rest.strip()


@settings(max_examples=60)
@given(turns=TURNS)
def test_verbose_keeps_every_sentence_in_order(turns):
    kept = "\n".join(fact.text for fact in extract(joined(turns), mode=ExtractionMode.VERBOSE, times=NoTimes()))
    at = 0
    for sentence in (one for _, said in turns for one in said):
        at = kept.find(sentence, at)
        assert at >= 0


@settings(max_examples=60)
@given(turns=TURNS)
def test_a_cause_is_another_fact_told_before_with_a_weight_above_zero_and_at_most_one(turns):
    for place, fact in enumerate(extract(joined(turns))):
        assert all(0 <= cause.index < place and 0 < cause.weight <= 1 for cause in fact.causes)
        assert all(one.index < other.index for one, other in pairwise(fact.causes))


def test_a_long_text_keeps_its_thirty_marker_sentences():
    filling = "The harbour was quiet that morning, and nobody on the quay said much about the weather. Thanks! "
    parts = [f"Marker number {n} says kvass{n:02d}berg. {filling * 32}" for n in range(30)]
    text = "\n\n".join(parts)
    assert len(text) > 90_000
    facts = extract(text)
    for n in range(30):
        assert sum(f"Marker number {n} says kvass{n:02d}berg." in fact.text for fact in facts) == 1
