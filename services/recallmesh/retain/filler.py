"""Fillers: sentences that say nothing worth keeping (greetings, thanks, applause, small questions)."""

import re
import unicodedata

# Words that add nothing by themselves: a sentence made of these alone is dropped.
_EMPTY_WORD_LIST = """
hi hey hello hiya yo dear howdy greetings bye goodbye cheers welcome
oh ah wow woah whoa yay yeah yep yup yes no nope nah ok okay k sure right true exactly absolutely definitely totally
indeed alright well hmm hm uh um haha hahaha lol omg gosh phew aww aw man
thanks thank thx ty you u so very really much a bunch lot again too for all that this it everyone guys there
great good nice cool awesome amazing wonderful fantastic perfect lovely super brilliant congrats congratulations
sorry please same here agreed sweet neat morning afternoon evening night day
hallo guten tag moin danke bitte tschuess tschüss genau super ja nein klar gern gerne toll servus
bonjour salut merci oui non hola gracias sí si vale adiós ciao grazie obrigado obrigada olá tudo bem dank je wel
"""
_EMPTY_WORDS = frozenset(_EMPTY_WORD_LIST.split())
_EMPTY_SENTENCES = re.compile(
    r"""(?ix)^(?:(?:hi|hey|hello|wow|yeah|yes|ok|okay|oh|thanks|sure|well|cool|great)\b[\s,!.-]*)*
    (?:
      (?:it'?s\s)?(?:so\s|really\s|always\s)?(?:good|great|nice|lovely|awesome)\sto\s(?:see|hear|meet|chat|talk|catch)
        (?:\s\w+){0,6}
    | long\stime,?\sno\s(?:see|talk|chat)
    | how(?:'s|\sis|\sare|\shave|'ve|\sdo)\s(?:it|you|u|things|everything|life|ya|you\sbeen)
        (?:\s(?:going|been|doing|all|today|lately|these\sdays|feeling))*
    | what'?s\s(?:up|new|going\son|happening)(?:\swith\s(?:you|u|ya))?(?:\s(?:today|lately))?
    | (?:anything|what\s?else\sis|something)\snew(?:\swith\syou)?
    | (?:that|it|this)(?:'s|\sis|\ssounds|\slooks)?\s(?:so\s|really\s|just\s|pretty\s|super\s)?
        (?:great|good|awesome|amazing|cool|nice|wonderful|lovely|fantastic|incredible|perfect|fun|sweet|neat|true|right)
        (?:\sto\shear)?
    | (?:sounds|looks)\s(?:so\s|really\s)?
        (?:great|good|awesome|amazing|cool|nice|wonderful|lovely|fantastic|fun|like\sfun|perfect|like\sa\splan)
    | thank(?:s|\syou)(?:\sso\smuch|\sa\s(?:lot|bunch|ton))?
        (?:\sfor\s(?:asking|sharing|listening|that|everything|the\s\w+))?
    | (?:you'?re|you\sare)\s(?:so\s)?welcome | no\s(?:problem|worries) | my\spleasure | you\sbet | of\scourse
    | for\ssure
    | (?:i\s)?(?:totally\s|completely\s)?(?:agree|hear\syou|got\sit|see|know)(?:\swith\syou)?
    | (?:take\scare|see\s(?:you|ya)(?:\s(?:soon|later|then|around))?
        |talk\s(?:to\syou\s)?(?:soon|later)|have\sa\s(?:good|great|nice)\s\w+|good\sluck)
    | (?:i\s)?can'?t\swait(?:\sto\s(?:see|hear)(?:\sit|\sthem|\sabout\sit)?)? | keep\s(?:it\sup|me\sposted|going)
    | wie\sgeht'?s?(?:\s(?:es\s)?(?:dir|ihnen))? | ça\sva | comment\sça\sva
    | (?:qué|que)\stal | cómo\sestás | come\sva | como\svai | hoe\sgaat\shet
    )
    [\s!?.,\u2026]*$""",
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_SMALL_QUESTION_WORDS = 8
_NICKNAME = 3


def is_filler(sentence: str, names: frozenset[str]) -> bool:
    """Tell whether a sentence is a greeting, thanks or applause; ``names`` are folded words of people addressed.

    Only what is recognised is filler: an emoji, a number or a single unknown word is kept.
    """
    words = [word.casefold() for word in _WORD.findall(sentence)]
    if not words or any(unicodedata.category(char) == "So" for char in sentence):
        return False
    if all(word in _EMPTY_WORDS or _addresses(word, names) for word in words):
        return True
    bare = sentence.replace("\u2019", "'")
    for word in {word for word in words if _addresses(word, names)}:
        bare = re.sub(rf"(?i)[\s,]*\b{re.escape(word)}\b", "", bare)
    return _EMPTY_SENTENCES.match(bare.strip(" ,")) is not None


def _addresses(word: str, names: frozenset[str]) -> bool:
    # "Mel" for Melanie, "Jo" is too short to tell.
    return any(name == word or (len(word) >= _NICKNAME and name.startswith(word)) for name in names)


def is_small_question(sentence: str) -> bool:
    """Tell whether a sentence is a short question without a number in it: it asks and tells nothing."""
    bare = sentence.rstrip("\"'\u201d\u2019) ")
    words = len(_WORD.findall(bare))
    return bare.endswith("?") and 0 < words <= _SMALL_QUESTION_WORDS and not any(char.isdigit() for char in bare)
