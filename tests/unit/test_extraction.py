import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.core.errors import NotReady
from recallmesh.core.memory import FactType
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.when import TimeReading
from recallmesh.retain.dating import say
from recallmesh.retain.extraction import FoundName, Passage
from recallmesh.retain.local import LocalExtractor

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
BOTH = "Caroline is speaking to Melanie"


def stretch(start, end, precision):
    return Occurrence(Window(datetime(*start, tzinfo=UTC), datetime(*end, 23, 59, tzinfo=UTC)), precision)


class FewTimes:
    """Reads four expressions, as if it were 19 August 2026."""

    MEANT = {  # noqa: RUF012
        "yesterday": stretch((2026, 8, 18), (2026, 8, 18), Precision.DAY),
        "last week": stretch((2026, 8, 10), (2026, 8, 16), Precision.WEEK),
        "last month": stretch((2026, 7, 1), (2026, 7, 31), Precision.MONTH),
        "in 2019": stretch((2019, 1, 1), (2019, 12, 31), Precision.YEAR),
    }

    def read(self, _text, _now):
        return None

    def read_all(self, text, _now):
        found = re.finditer("|".join(self.MEANT), text)
        return tuple(TimeReading(self.MEANT[m.group()], m.start(), m.end(), "few") for m in found)


async def facts(text, context="", mode=ExtractionMode.CONCISE, now=NOW, **tuning):
    extractor = LocalExtractor(FewTimes())
    (found,) = await extractor.extract((Passage(text, context, now),), mode, RetainTuning(**tuning))
    return found


async def texts(text, context="", mode=ExtractionMode.CONCISE, **tuning):
    return [fact.text for fact in await facts(text, context, mode, **tuning)]


async def names(text, context=""):
    return {name.name: name.kind for fact in await facts(text, context) for name in fact.names}


async def test_the_speaker_is_named_from_the_text_or_from_the_context():
    said = ["Caroline: I went to the harbour."]
    assert await texts("Caroline: I went to the harbour.") == said
    assert await texts("Caroline: I went to the harbour.", BOTH) == said
    assert await texts("I went to the harbour.", BOTH) == said
    assert await texts("I went to the harbour.", "speaker: Caroline") == said
    assert await texts("I went to the harbour.", "a diary") == ["I went to the harbour."]


async def test_a_heading_and_an_address_are_no_speakers():
    for text in ("Note: the harbour is closed.", "https://example.org is down.", "The plan: go north."):
        (fact,) = await facts(text)
        assert fact.text == text
        assert fact.names == ()


@pytest.mark.parametrize(
    ("text", "context", "agents", "expected"),
    [
        ("I booked the train.", "Caroline is speaking to Melanie", ("assistant",), FactType.WORLD),
        ("assistant: I booked the train.", "", ("assistant",), FactType.EXPERIENCE),
        ("I booked the train.", "Robin is speaking to Ida", ("Robin",), FactType.EXPERIENCE),
        ("assistant: The train leaves at nine.", "", ("assistant",), FactType.WORLD),
        ("user: I booked the train.", "", ("assistant",), FactType.WORLD),
        ("I booked the train.", "", ("assistant",), FactType.WORLD),
        ("Robin: Ich habe den Zug gebucht.", "", ("robin",), FactType.EXPERIENCE),
    ],
)
async def test_the_first_person_is_experience_only_of_the_banks_own_agent(text, context, agents, expected):
    for mode in (ExtractionMode.CONCISE, ExtractionMode.VERBATIM):
        assert [fact.fact_type for fact in await facts(text, context, mode, agent_names=agents)] == [expected]


async def test_relative_dates_are_written_out_and_full_ones_left_alone():
    (fact,) = await facts("Caroline: I met Ida yesterday, and we planned the regatta of last month.")
    assert fact.text == (
        "Caroline: I met Ida yesterday (18 August 2026), and we planned the regatta of last month (July 2026)."
    )
    assert fact.occurred == FewTimes.MEANT["yesterday"]
    (fact,) = await facts("Caroline: I moved to Bergen in 2019.")
    assert fact.text == "Caroline: I moved to Bergen in 2019."
    assert fact.occurred == FewTimes.MEANT["in 2019"]


async def test_a_fact_is_dated_as_exactly_as_it_is_known():
    assert (await facts("We met yesterday."))[0].occurred.precision is Precision.DAY
    assert (await facts("We met last week, and it was the first time since in 2019."))[0].occurred.precision is (
        Precision.WEEK
    )
    assert (await facts("Ida keeps bees."))[0].occurred is None


async def test_without_a_time_only_full_dates_are_read():
    (fact,) = await facts("We met yesterday, as in 2019.", now=None)
    assert fact.text == "We met yesterday, as in 2019."
    assert fact.occurred == FewTimes.MEANT["in 2019"]


def test_a_stretch_of_time_in_words():
    assert say(FewTimes.MEANT["last week"]) == "10 August 2026 to 16 August 2026"
    assert say(FewTimes.MEANT["in 2019"]) == "2019"
    assert say(stretch((2010, 1, 1), (2019, 12, 31), Precision.DECADE)) == "2010s"


async def test_sentences_that_need_one_another_stay_together():
    text = (
        "Rune Iversen opened a second bakery in Bergen on the corner of the old fish market. It sells rye bread. "
        "Ida Kvass has run the harbour office since the spring and knows every boat by its name. She swims daily."
    )
    assert await texts(text) == [
        "Rune Iversen opened a second bakery in Bergen on the corner of the old fish market. It sells rye bread.",
        "Ida Kvass has run the harbour office since the spring and knows every boat by its name. She swims daily.",
    ]


async def test_a_short_answer_keeps_its_question():
    text = "Ida: Which town do you like best?\nRune: Bergen.\nIda: Why?\nRune: I was born there, near the harbour."
    assert await texts(text) == [
        "Ida: Which town do you like best?\nRune: Bergen.",
        "Rune: I was born there, near the harbour.",
    ]


async def test_a_stage_direction_stays_with_what_it_goes_with():
    text = "Caroline: I painted the harbour in the morning light for my mother's birthday. [shares image: a harbour]"
    assert await texts(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Hey Mel! Good to see you! How have you been?",
        "Thanks, Melanie! That's really sweet.",
        "Wow!",
        "Sounds great, Mel!",
        "See you later!",
        "Hallo! Wie geht es dir?",
        "¡Hola! ¿Qué tal?",
    ],
)
async def test_greetings_and_applause_are_dropped_in_concise_and_kept_in_verbose(text):
    assert await texts(text, BOTH) == []
    kept = " ".join(await texts(text, BOTH, ExtractionMode.VERBOSE))
    assert re.sub("^Caroline(?: to Melanie)?: ", "", kept) == text


@pytest.mark.parametrize(
    "text",
    [
        "👩‍🚀🎉",
        "<|endoftext|> marker",
        "kvassberg",
        "42",
        "今天玩成语接龙",
        "???",
        "No bees.",
        "Thanks to Ida the roof holds.",
    ],
)
async def test_what_is_not_known_to_be_filler_is_kept(text):
    assert await texts(text) == [text]


async def test_names_are_found_with_their_kinds():
    assert await names("Yesterday Dr. Alice Chen of Acme Labs met Rune in Bergen about ticket A-20391.") == {
        "Dr. Alice Chen": "person",
        "Acme Labs": "organisation",
        "Rune": "person",
        "Bergen": "place",
        "A-20391": "concept",
    }
    assert await names("The University of Bergen and the Bank of England wrote to Ida and Rune.") == {
        "University of Bergen": "organisation",
        "Bank of England": "organisation",
        "Ida": "person",
        "Rune": "person",
    }


async def test_a_quoted_title_is_one_name():
    assert set(await names('We read "The Name of the Wind" and watched The Wheel of Time. "That" was all.')) == {
        "The Name of the Wind",
        "The Wheel of Time",
    }


async def test_dates_interjections_and_sentence_openings_are_no_names():
    assert (
        await names("Wow! The meeting in May 2023 was on a Monday. Maybe I will go. OK. Painting helps. WONDERFUL!")
        == {}
    )


async def test_a_large_word_at_the_start_is_a_name_when_it_is_one_elsewhere():
    assert set(await names("Bergen is wet. Painting helps. We love Bergen.")) == {"Bergen"}
    assert set(await names("Anthony and I went there. Painting and drawing help.")) == {"Anthony"}


async def test_speakers_are_people_and_a_nickname_is_whom_it_means():
    assert await names("Caroline: I like your boat, Mel.", BOTH) == {"Caroline": "person", "Melanie": "person"}
    assert await names("user: I like the boat.") == {}


async def test_german_nouns_are_no_names():
    text = "Der Hund und die Katze sind auf dem Dach, und Ida Kvass hat die Leiter mit in das Haus genommen."
    assert set(await names(text)) == {"Ida Kvass"}


async def test_an_effect_is_linked_to_its_cause():
    text = (
        "The main cooling pump of the northern plant failed in the night and flooded the basement. "
        "Therefore the board closed the northern plant for a month and sent everybody home. "
        "Rune Iversen lost his contract with the harbour company because of the flooded basement."
    )
    found = await facts(text)
    assert len(found) == 3
    assert [(cause.index, cause.weight) for cause in found[1].causes] == [(0, 0.9)]
    assert [cause.index for cause in found[2].causes] == [0]
    assert 0 < found[2].causes[0].weight <= 0.6


async def test_verbatim_keeps_the_chunk_and_reads_its_metadata():
    text = "Caroline: Hey Mel! I met Ida in Bergen yesterday.\nMelanie: Great!"
    (fact,) = await facts(text, BOTH, ExtractionMode.VERBATIM)
    assert fact.text == text
    assert fact.occurred == FewTimes.MEANT["yesterday"]
    assert {name.name for name in fact.names} == {"Caroline", "Melanie", "Ida", "Bergen"}


async def test_every_word_of_a_long_passage_is_kept_in_verbose():
    text = "\n\n".join(f"Rune: Marker {n} is here. It is number {n}. Thanks! Why? Because {n}." for n in range(30))
    kept = " ".join(await texts(text, mode=ExtractionMode.VERBOSE))
    assert set(text.replace(":", " ").split()) <= set(kept.replace(":", " ").split())
    assert sum(f"Marker {n} is here." in kept for n in range(30)) == 30


async def test_own_instructions_need_an_llm():
    with pytest.raises(NotReady):
        await facts("Ida keeps bees.", mode=ExtractionMode.CUSTOM)


async def call_facts(*said, mode=ExtractionMode.CONCISE, known=()):
    """Read passages of one call and document, each told after the one before."""
    passages = []
    for text in said:
        before = replace(passages[-1], before=None) if passages else None
        passages.append(Passage(text, now=NOW, before=before, known=known))
    found = await LocalExtractor(FewTimes()).extract(tuple(passages), mode, RetainTuning())
    return [[fact.text for fact in facts] for facts in found], {
        name.name: name.kind for facts in found for fact in facts for name in fact.names
    }


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        (
            "Leo: Oh no. What does a new one cost?",
            "Nadia: About 310,000 kroner.",
            "Leo: What does a new one cost?\nNadia: About 310,000 kroner.",
        ),
        (
            "Leo: Is that because of the class?",
            "Nadia: Because of liver treats, honestly.",
            "Leo: Is that because of the class?\nNadia: Because of liver treats, honestly.",
        ),
        (
            "Leo: Did you ask the cooperative for a loan?",
            "Nadia: No, maybe I should do that.",
            "Leo: Did you ask the cooperative for a loan?\nNadia: No, maybe I should do that.",
        ),
        ("Leo: Who was it yesterday?", "Nadia: Samira.", "Leo: Who was it yesterday (18 August 2026)?\nNadia: Samira."),
    ],
)
async def test_a_fragment_carries_the_question_of_the_turn_before(question, answer, expected):
    assert (await call_facts(question, answer))[0][1] == [expected]


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("Leo: Mine burnt down. What does a new one cost?", "Nadia: The new oven costs about 310,000 kroner."),
        ("Leo: Really? Why?", "Nadia: The new oven costs about 310,000 kroner."),
        ("Leo: A new one is expensive.", "Nadia: About 310,000 kroner."),
        ("Nadia: What does a new one cost?", "Nadia: About 310,000 kroner."),
        ("Leo: How are you?", "Nadia: Tired and cold."),
    ],
)
async def test_a_whole_sentence_or_one_that_answers_nothing_carries_no_question(before, text):
    assert (await call_facts(before, text))[0][1] == [text]


async def test_a_question_that_is_all_that_is_said_goes_with_its_answer_and_is_not_lost():
    asked, answer = "Leo: Wow! What got you into baking?", "Nadia: My grandmother ran the bakery for forty years."
    assert (await call_facts(asked, answer))[0] == [[], [f"Leo: What got you into baking?\n{answer}"]]
    assert await texts(f"{asked}\n{answer}") == [f"Leo: What got you into baking?\n{answer}"]
    assert (await call_facts(asked, answer, mode=ExtractionMode.VERBOSE))[0] == [[asked], [answer]]


async def test_verbatim_carries_no_question():
    said = ("Leo: What does a new one cost?", "Nadia: About 310,000 kroner.")
    assert (await call_facts(*said, mode=ExtractionMode.VERBATIM))[0] == [[said[0]], [said[1]]]


async def test_a_name_that_opens_a_sentence_is_one_if_it_is_one_elsewhere_in_the_call():
    _, found = await call_facts("Leo: Painting helps me a lot.", "Leo: Pixel is a dog.", "Leo: She likes Pixel.")
    assert set(found) == {"Leo", "Pixel"}


async def test_a_name_that_opens_a_sentence_is_one_if_the_bank_knows_it():
    known = (FoundName("Pixel", "person"), FoundName("Art"))
    _, found = await call_facts("Leo: Pixel is tired today.", "Leo: Art is long, and I love art.", known=known)
    assert found == {"Leo": "person", "Pixel": "person"}


async def test_a_name_has_one_kind_in_a_call_and_one_slip_among_many_mentions_does_not_tell_it():
    said = ["Leo: We live in Bergen.", "Leo: We love Bergen.", "Leo: They met in Hamlet."]
    _, found = await call_facts(*said, *(f"Leo: Number {n}: we read Hamlet." for n in range(12)))
    assert (found["Bergen"], found["Hamlet"]) == ("place", "concept")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Caroline: Your hard work paid off at last.", "Caroline to Melanie: Your hard work paid off at last."),
        ("I was there. You paint so well!", "Caroline to Melanie: I was there. You paint so well!"),
        ("Caroline: I paint the harbour, you know.", "Caroline: I paint the harbour, you know."),
        ("Caroline: Did you paint all of the harbour alone by hand?",) * 2,
        ("Caroline: I went there with Ida.", "Caroline: I went there with Ida."),
    ],
)
async def test_who_is_spoken_to_is_named_where_the_words_tell_of_that_one(said, expected):
    assert await texts(said, BOTH) == [expected]


async def test_of_two_who_talk_each_speaks_to_the_other_and_of_three_nobody_knows():
    two = "Leo: Your oven is the best in Bergen by far.\nNadia: I bought it in the spring with my savings."
    assert (await texts(two))[0] == "Leo to Nadia: Your oven is the best in Bergen by far."
    three = f"{two}\nIda: I know nothing about ovens at all."
    assert (await texts(three))[0] == "Leo: Your oven is the best in Bergen by far."
    assert await texts("user: Your answer was wrong again.", "user is speaking to assistant") == [
        "user: Your answer was wrong again."
    ]


async def test_a_person_whom_the_bank_knows_is_found_written_small_but_a_word_is_a_word():
    known = (FoundName("Marcus", "person"), FoundName("Rose", "person"), FoundName("Reading", "place"))
    _, found = await call_facts("lol marcus lost his rose reading a book", known=known)
    assert found == {"Marcus": "person"}


async def test_a_given_name_a_country_or_a_city_is_a_name_at_the_start_of_a_sentence():
    assert await names("Tobias has the keys. Norway is far. Cooking helps. Lisbon was hot. Inflation is high.") == {
        "Tobias": "person",
        "Norway": "place",
        "Lisbon": "place",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ask Priya Nair about it.", {"Priya Nair"}),
        ("Dear Professor Lindqvist, thank you.", {"Professor Lindqvist"}),
        ("Mayor Lena Brandt opened it.", {"Lena Brandt"}),
        ("We met Father Michael there.", {"Father Michael"}),
        ("Shares of Kvassberg fell.", {"Kvassberg"}),
        ("I got an iPhone for it.", {"iPhone"}),
        ("Yoga on Tuesdays and the Q3 numbers.", set()),
    ],
)
async def test_what_opens_a_note_or_a_letter_is_no_part_of_the_name_behind_it(text, expected):
    assert set(await names(text)) == expected
