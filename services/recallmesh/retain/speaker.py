"""Who is speaking: from the context of an item, and from lines that begin with a name and a colon."""

import re
from dataclasses import dataclass, replace

_NAME = r"[^\W\d_][\w.'\u2019-]*(?:[ ][^\W\d_][\w.'\u2019-]*){0,3}"
_TURN = re.compile(
    rf"^[ \t]*(?:\[[^\]\n]{{1,32}}\][ \t]*)?\**(?P<name>{_NAME})\**[ \t]?[:\uff1a](?!//)\**[ \t]*", re.MULTILINE
)
_CONTEXT = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?P<name>{_NAME}) (?:is|was) (?:speaking|talking|writing|telling)\b(?: (?:to|with) (?P<to>{_NAME}))?",
        rf"\b(?i:speaker|said by|spoken by|written by|message from|author)[:= ]+(?P<name>{_NAME})",
        rf"^(?P<name>{_NAME}) (?:says|said|wrote|writes|speaks|tells)\b",
        rf"^(?P<name>{_NAME}) (?:speaking|to (?P<to>{_NAME}))\b",
    )
)
# Words that head a line of notes, not a turn.
_HEADING_WORDS = """
note notes warning update summary subject re fwd from to cc bcc date time question answer q a todo tip tips example
error hint location place title agenda status action actions ps p.s decision result results reason topic where
when who what why how name address phone email e-mail url link http https version step goal problem solution
attention important remember fact facts key value input output description details priority type id
"""
_HEADINGS = frozenset(_HEADING_WORDS.split())
_TWO = 2
_PARTICLES = frozenset({"van", "von", "de", "da", "del", "der", "la"})
_ROLES = frozenset({"user", "assistant", "agent", "human", "system", "ai", "bot", "customer", "support"})
_FIRST_PERSON = re.compile(
    r"(?i)\b(?:i|i'm|i\u2019m|i've|i'd|i'll|me|my|mine|myself|we|our|us|ich|mein\w*|mir|mich|wir|unser\w*|je|j'|mon|ma|mes|"
    r"moi|nous|notre|nos|yo|mi|mis|nosotr[oa]s|io|mio|mia|noi|eu|meu|minha|n\u00f3s|ik|mijn|wij)\b"
    r"|\u6211|\u79c1|\u50d5|\u4ffa|\ub098\ub294|\ub0b4\uac00|\uc800\ub294|\uc81c\uac00"
)
# A sentence that opens with "you" or "your" and asks nothing is about who is spoken to; others only address them.
_OF_HEARER = re.compile(
    r"""(?ix)(?:^|[.!?\n]\s+|,\s)(?:(?:and|but|so|well|yeah|yes|wow|oh|honestly|really\sglad|proud\sof)[,\s]+)*
      (?:you(?!\s(?:know|see|bet|mean|too|should|could|can|might|need|have\sto|gotta|never\sknow)\b)
        |your(?:s|self)?|du|dein\w*|ihr|eure\w*|tu|ton|ta|tes|vous|votre|vos|t\u00fa|usted|voc\u00ea|jij|jouw)
      (?:['\u2019](?:re|ve|ll|d))?\b[^.!?]*(?:[.!\u2026]|$)"""
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker says in a row: ``text[begin:end]`` without the name; no speaker: it is not told.

    ``addressee`` is to whom, where it is told or there is one other who speaks.
    """

    speaker: str
    begin: int
    end: int
    addressee: str = ""


def speaker_of(context: str) -> str:
    """Return who speaks according to an item's context ("Caroline is speaking to Melanie"); empty: it does not say."""
    for pattern in _CONTEXT:
        if (match := pattern.search(context)) and _is_name(match["name"]):
            return match["name"]
    return ""


def addressee_of(context: str) -> str:
    """Return to whom is spoken according to an item's context; empty: it does not say."""
    for pattern in _CONTEXT:
        if (match := pattern.search(context)) and "to" in pattern.groupindex and match["to"]:
            return match["to"]
    return ""


def turn_starts(text: str) -> list[int]:
    """Return where the lines begin that open a speaker's turn."""
    return [match.start() for match in _TURN.finditer(text) if _is_name(match["name"])]


def split_turns(text: str, context: str = "") -> tuple[Turn, ...]:
    """Return the turns of a text in order; words before the first named speaker are the context's speaker's."""
    matches = [match for match in _TURN.finditer(text) if _is_name(match["name"])]
    turns: list[Turn] = []
    first = matches[0].start() if matches else len(text)
    if text[:first].strip():
        turns.append(Turn(speaker_of(context), 0, first))
    for index, match in enumerate(matches):
        end = matches[index + 1].start() if index + 1 < len(matches) else len(text)
        if text[match.end() : end].strip():
            turns.append(Turn(match["name"], match.end(), end))
    return _addressed(turns, context)


def _addressed(turns: list[Turn], context: str) -> tuple[Turn, ...]:
    """Give each turn the one it speaks to: the other of the two that the context or the turns name."""
    pair = [name for name in (speaker_of(context), addressee_of(context)) if name]
    names = list(dict.fromkeys((*(turn.speaker for turn in turns if turn.speaker), *pair)))
    if len(names) != _TWO:
        return tuple(turns)
    other = dict(zip(names, reversed(names), strict=True))
    return tuple(replace(turn, addressee=other.get(turn.speaker, "")) for turn in turns)


def is_agent(speaker: str, agent_names: tuple[str, ...]) -> bool:
    """Tell whether a speaker is the bank's own agent."""
    return speaker.casefold() in {name.casefold() for name in agent_names}


def is_first_person(text: str) -> bool:
    """Tell whether a text speaks of its speaker."""
    return _FIRST_PERSON.search(text) is not None


def is_of_hearer(text: str) -> bool:
    """Tell whether a text tells of the one it is spoken to ("You paint so well."), by the cues of its opening."""
    return _OF_HEARER.search(text) is not None


def is_role(speaker: str) -> bool:
    """Tell whether a speaker is named by a part ("user"), not by a name."""
    return speaker.casefold() in _ROLES


def _is_name(name: str) -> bool:
    words = name.split()
    if name.casefold() in _HEADINGS or words[0].casefold() in {"the", "a", "an", "this", "that", "i", "it", "my"}:
        return False
    # A script without capitals (Han, Hangul) has no lower case either.
    return name.casefold() in _ROLES or all(
        not word[0].islower() or word in {"van", "von", "de", "da", "del"} for word in words
    )
