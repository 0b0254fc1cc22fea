"""Tense: whether what a sentence tells of lies behind or ahead, which says whose "22 December" is meant."""

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Tense(StrEnum):
    """Where the verb beside a time puts it."""

    PAST = "past"
    FUTURE = "future"
    NONE = "none"


_IRREGULAR_WORDS = """
was were had did went came got took saw met made said told gave found bought brought thought felt left kept began
started ended ran sang swam flew drove wrote ate drank slept won lost sold spent held heard knew grew built broke
chose fell fought forgot hung hid hurt led lent lit paid read rode rang rose sent shook shot shut sat spoke stood
stole stuck swore taught threw understood woke wore became caught bit blew drew fed forgave froze laid
"""
_IRREGULAR = "|".join(_IRREGULAR_WORDS.split())
_ARRANGED_WORDS = """
start begin end run move leave arrive fly go come finish return launch depart resume stay
"""
_ARRANGED = "|".join(_ARRANGED_WORDS.split())
# "Moved to Bergen", "added to the list": a place or a thing, where "planned to meet" has a deed still to come.
_PLACE = r"(?:(?:the|an?|my|your|his|her|its|our|their|this|that)\b|(?-i:[A-Z\u00c0-\u00de]))"
# "I am excited" and "we planned to meet" put nothing behind; "I was excited" does by its "was".
_PAST = rf"""
    \b(?:{_IRREGULAR})(?:n['\u2019]t)?\b
    | (?<!\bam\s)(?<!\bare\s)(?<!\bis\s)(?<!['\u2019][ms]\s)(?<!['\u2019]re\s)(?<!\bso\s)(?<!\bbe\s)(?<!\bto\s)
      (?<!\bthe\s)\b(?!need|feed|seed|speed|hundred|wed\b|indeed)[a-z]{{2,}}ed\b(?!\sto\b(?!\s{_PLACE}))
"""
_FUTURE = r"""
    \b(?:will|won['\u2019]t|shall|gonna|upcoming|due|deadline|scheduled|planning|hoping|plans?|hopes?|about\sto)\b
    | ['\u2019]ll\b | \bgoing\sto\b | \bsee\s(?:you|ya)\b | \blet['\u2019]s\b
    | (?:\b(?:is|are|am)|['\u2019](?:m|re|s))(?:\s(?:not|also|both|all|only|just))?\s\w+ing\b
"""
_PRESENT = rf"""
    \b(?:is|are)\b | (?<!\bto\s)(?<!\bthe\s)\b(?:{_ARRANGED})\b
    | \b(?:(?:{_ARRANGED}|open|close|last|expire|take|land|continue|work)e?s|flies)\b
"""
_CUES: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "en": (_PAST, _FUTURE, _PRESENT),
        "de": (
            r"\b(?:war(?:en|st)?|hat(?:te|ten)?|habe[n]?|wurden?|ging(?:en)?|kam(?:en)?|traf(?:en)?|fuhr(?:en)?|sah(?:en)?)\b",
            r"\b(?:werden?|wird|wirst|will|wollen|soll(?:en)?)\b",
            r"\b(?:ist|sind|treffen|beginnt|endet|fahren|f\u00e4hrt|bleibt|findet)\b",
        ),
        "fr": (
            r"\b(?:\u00e9tai(?:s|t|ent)|avai(?:s|t|ent)|fut|ai|avons|avez|ont)\b",
            r"\b(?:vais|vas|va|allons|allez|vont|sera|seront)\b",
            r"\b(?:est|sont|commence|finit|dure)\b",
        ),
        "es": (
            r"\b(?:fui|fue|fuimos|fueron|era[ns]?|estuv\w+|hab\u00eda\w*|he|hemos|han|\w{3,}(?:\u00e9|\u00f3|aron|ieron))\b",
            r"\b(?:voy|vas|va|vamos|van)\sa\b | \b(?:ser\u00e1n?|\w{3,}(?:remos|r\u00e1n))\b",
            r"\b(?:es|son|empieza|termina|dura)\b",
        ),
        "it": (
            r"\b(?:era|erano|fu|avev\w+|ho|abbiamo|hanno|stat[oaie])\b",
            r"\b(?:sar\u00e0|saranno|andr\u00f2|andremo)\b",
            r"\b(?:inizia|finisce|dura|sono)\b",
        ),
        "pt": (
            r"\b(?:foi|fui|fomos|foram|era|eram|estava|tinha|esteve)\b",
            r"\b(?:vou|vai|vamos|v\u00e3o|ser\u00e1|ser\u00e3o)\b",
            r"\b(?:\u00e9|s\u00e3o|come\u00e7a|termina)\b",
        ),
        "nl": (
            r"\b(?:was|waren|had|hadden|ging(?:en)?|kwam(?:en)?|heb|heeft|hebben|werd(?:en)?)\b",
            r"\b(?:zal|zullen|ga|gaat|gaan|wil|willen)\b",
            r"\b(?:is|zijn|begint|eindigt)\b",
        ),
    }
)
_PATTERNS = {
    language: re.compile(rf"(?P<past>{past})|(?P<future>{future})|(?P<present>{present})", re.IGNORECASE | re.VERBOSE)
    for language, (past, future, present) in _CUES.items()
}
# What comes round every year has no year of its own.
_YEARLY = re.compile(
    r"(?i)\b(?:born|annual(?:ly)?|yearly|geboren|n\u00e9e?|naci[d\u00f3][oa]?)\b"
    r"|\b(?:every|each|jede[ns]|chaque|cada|ogni|elke?)\s(?:year|jahr|an\w*|a\u00f1o|ano|jaar|summer|winter|spring|autumn|fall"
    r"|\d|january|february|march|april|may|june|july|august|september|october|november|december)"
)


def tense_of(sentence: str, begin: int, end: int, language: str) -> Tense:
    """Return the tense that the time at ``sentence[begin:end]`` stands in: that of the verb before it, else after it.

    Read by the cues of the language in which the time was found; another language has none.
    """
    pattern = _PATTERNS.get(language)
    if pattern is None:
        return Tense.NONE
    before = list(pattern.finditer(sentence, 0, begin))
    # What is arranged is told in the present, before its time: "the fair opens in May", "it is on the 5th".
    after = (match for match in pattern.finditer(sentence, end) if match["present"] is None)
    match = before[-1] if before else next(after, None)
    if match is None:
        return Tense.NONE
    return Tense.PAST if match["past"] else Tense.FUTURE


def is_yearly(sentence: str) -> bool:
    """Tell whether a sentence tells of a birth or of what comes round: a day in it is of no certain year."""
    return _YEARLY.search(sentence) is not None
