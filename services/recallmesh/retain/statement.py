"""Statements: the sentences of a passage, put together where one needs the other to be understood."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recallmesh.retain.cause import opens_new_fact, opens_with_effect
from recallmesh.retain.filler import is_filler, is_small_question
from recallmesh.retain.sentence import split_sentences
from recallmesh.retain.speaker import Turn, is_of_hearer

# A statement this long takes up no sentence that can stand alone; beyond the other bound it takes up none at all.
_FULL_WORDS = 12
_MOST_WORDS = 60
# Fewer words than this are a fragment: it belongs to the sentence before it, or to the question it answers.
_FRAGMENT_WORDS = 5
# A sentence this short mostly lives on the one before it ("I could chat about them forever!").
_SHORT_WORDS = 8
_CONTINUES = re.compile(
    r"""(?ix)^(?:[\[(\u201c"'-]*\s*)(?:
      it|its|it's|it’s|this|that|that's|that’s|these|those|he|she|they|him|her|his|their|them|he's|she's|they're|one
    | and|but|so|because|then|also|plus|which|who|or|yet|still|however|though|although|anyway|besides|instead
    | otherwise|meanwhile|afterwards?|later|there|both|such|another|since|even|especially|like|'cause|cuz|thus|hence
    | es|er|sie|das|dies\w*|und|aber|denn|deshalb|daher|darum|dann|außerdem|dort|sein\w*|ihr\w*
    | il|elle|ils|elles|cela|ça|c'est|et|mais|donc|ensuite|eso|esto|él|ella|ellos|y|pero|luego|además|por\seso
    | questo|lui|lei|loro|e|ma|poi|quindi|isso|ele|ela|eles|mas|depois|dat|dit|zij|hij|en|maar|dus
    )\b | ^(?:しかし|そして|それ|でも|但是|而且|他|她|它|그리고|하지만|그는|그녀)"""
)
# Small letters and brackets go on with what was begun.
_GOES_ON = re.compile(r"^(?:[\[(]|[a-zß-öø-ÿ])")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


# An answer that is no sentence of its own: a reason alone, or little more than yes or no.
_REASON = re.compile(
    r"(?i)^(?:because|'cause|cuz|due to|thanks to|owing to|weil|wegen|parce que?|porque|omdat)\b[^,]*(?:,\s*\w+)?"
)
_YES_NO = re.compile(r"(?i)^(?:yes|yeah|yep|no|nope|nah|ja|nein|doch|oui|non|si|sí|não|sim|nee)\b")


@dataclass(frozen=True, slots=True)
class Question:
    """What a passage ends by asking, and who asks; ``alone``: it is all that is said there."""

    speaker: str
    text: str
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """Sentences of one speaker that belong together.

    ``addressee`` is to whom they are said, where they tell of that one and it is known. ``asked`` is the question of
    another that they answer. ``is_effect``: they say that they came of the statement before.
    """

    speaker: str
    text: str
    asked: Question | None = None
    is_effect: bool = False
    addressee: str = ""


def find_statements(
    text: str, turns: tuple[Turn, ...], names: frozenset[str], *, asked: Question | None = None, keep_all: bool
) -> tuple[Statement, ...]:
    """Return the statements of the turns in order; fillers are left out unless ``keep_all``.

    ``asked`` is what was asked just before the text, by another.
    """
    found: list[Statement] = []
    for turn in turns:
        sentences = [text[one.begin : one.end] for one in split_sentences(text, turn.begin, turn.end)]
        told = sentences if keep_all else list(_telling(sentences, names))
        for index, group in enumerate(_groups(told)):
            answers = asked if index == 0 and asked is not None and _is_wanted(asked, group[0], names) else None
            said = " ".join(group)
            to = turn.addressee if is_of_hearer(said) else ""
            found.append(Statement(turn.speaker, said, answers, opens_with_effect(group[0]), to))
        asked = _question(turn.speaker, sentences, told)
    return tuple(found)


def closing_question(
    text: str, turns: tuple[Turn, ...], names: frozenset[str], *, keep_all: bool = False
) -> Question | None:
    """Return what the last turn of a text ends by asking; ``names`` are folded words of people addressed."""
    if not turns:
        return None
    last = turns[-1]
    sentences = [text[one.begin : one.end] for one in split_sentences(text, last.begin, last.end)]
    return _question(last.speaker, sentences, sentences if keep_all else list(_telling(sentences, names)))


def _question(speaker: str, sentences: list[str], told: list[str]) -> Question | None:
    return Question(speaker, sentences[-1], not told) if sentences and sentences[-1].endswith("?") else None


def _is_wanted(asked: Question, answer: str, names: frozenset[str]) -> bool:
    """Tell whether an answer needs its question: it is a fragment, or a whole question would be in no memory at all."""
    lost = asked.alone and _words(asked.text) >= _FRAGMENT_WORDS
    return (lost or _is_fragment(answer)) and not is_filler(asked.text, names)


def _is_fragment(sentence: str) -> bool:
    if sentence.endswith("?"):
        return _words(sentence) < _FRAGMENT_WORDS
    return (
        _words(sentence) < _FRAGMENT_WORDS
        or (_words(sentence) < _SHORT_WORDS and _YES_NO.match(sentence) is not None)
        or _REASON.fullmatch(sentence.rstrip(".! ")) is not None
    )


def _telling(sentences: list[str], names: frozenset[str]) -> Iterator[str]:
    told = [sentence for sentence in sentences if not is_filler(sentence, names)]
    # A small question is kept for the sake of what the speaker says after it.
    while told and is_small_question(told[-1]):
        told.pop()
    yield from told


def _groups(sentences: list[str]) -> Iterator[list[str]]:
    group: list[str] = []
    for sentence in sentences:
        if group and not _belongs(group, sentence):
            yield group
            group = []
        group.append(sentence)
    if group:
        yield group


def _belongs(group: list[str], sentence: str) -> bool:
    held = sum(_words(one) for one in group)
    if sentence.startswith("["):
        # A stage direction says nothing without what it goes with.
        return True
    if held + _words(sentence) > _MOST_WORDS:
        return False
    if opens_new_fact(sentence):
        return held < _FRAGMENT_WORDS
    return (
        _CONTINUES.match(sentence) is not None
        or _GOES_ON.match(sentence) is not None
        or _words(sentence) < _SHORT_WORDS
        or sentence.endswith("?")
        or held < _FULL_WORDS
        or group[-1].endswith(("?", ":"))
    )


def _words(text: str) -> int:
    # Two letters of a script without spaces are about a word.
    return len(text.split()) + len(_WIDE.findall(text)) // 2
